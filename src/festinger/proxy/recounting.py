"""How do others hear of what happened on the way of a request that is not captured?

Written beside the requests, as rows of the outbox. Where no store is open it is lost, and counted.
"""

from collections.abc import Callable, Sequence

import structlog

from festinger.app.wiring import App
from festinger.errors import Unavailable
from festinger.events.event import Happening
from festinger.ids import SpaceId
from festinger.seeing.metrics import DROPPED

log = structlog.get_logger(room="proxy")

Recount = Callable[[SpaceId, Sequence[Happening]], None]
"""Has these told; must not wait."""


def untold(_space: SpaceId, _happenings: Sequence[Happening]) -> None:
    """Nobody is there to be told."""


def recounting(app: Callable[[], App | None]) -> Recount:
    """Tells by the outbox of the open house."""

    def recount(space: SpaceId, happenings: Sequence[Happening]) -> None:
        house = app()
        if not happenings:
            return
        if house is None:
            DROPPED.labels("event").inc(len(happenings))
            return
        house.background.start(_written(house, space, happenings))

    return recount


async def _written(app: App, space: SpaceId, happenings: Sequence[Happening]) -> None:
    try:
        async with app.store.transaction() as transaction:
            await app.outbox.emit_all(transaction, happenings, space=space)
    except Unavailable as error:
        DROPPED.labels("event").inc(len(happenings))
        log.warning("loops not told", error=error.message)
