"""Who brings to mind, and who learns?

The small port through which the door asks the rooms below. Bringing to mind reads memory only and never waits;
learning happens beside the request. While the house is not open there is nothing to ask.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import structlog

from festinger.app.wiring import App
from festinger.app.world import warm
from festinger.errors import Unavailable
from festinger.ids import Origin
from festinger.seeing.metrics import DROPPED
from festinger.text.tokens import tokens
from festinger.world.recollection import Recollection
from festinger.world.recollector import Place, Said

log = structlog.get_logger(room="proxy")

UNTRUSTED = (Origin.TOOL, Origin.DOCUMENT)


class Mind(Protocol):
    async def recollect(self, place: Place, texts: Sequence[Said]) -> Recollection | None:
        """What is known of these texts, newest first; none if it cannot be said yet."""

    def learn(self, place: Place, texts: Sequence[Said]) -> None:
        """Take these texts in, after the request."""


class WorldMind:
    """The world of the open house."""

    def __init__(self, app: Callable[[], App | None]) -> None:
        self._app = app

    async def recollect(self, place: Place, texts: Sequence[Said]) -> Recollection | None:
        app = self._app()
        if app is None:
            return None
        found = app.world.recollector.recollect(place, texts)
        if found is None:
            warm(app, place.space)
        return found

    def learn(self, place: Place, texts: Sequence[Said]) -> None:
        app = self._app()
        if app is None:
            DROPPED.labels("exchange").inc()
            return
        app.background.start(_learn(app, place, texts))


async def _learn(app: App, place: Place, texts: Sequence[Said]) -> None:
    try:
        await app.world.need(place.space)
        unvouched = {token.text for said in texts if said.origin in UNTRUSTED for token in tokens(said.text)}
        for said in texts:
            await app.world.recollector.count(place, said)
        async with app.store.transaction() as transaction:
            for said in texts:
                await app.world.recollector.learn(transaction, place, said, unvouched=unvouched)
    except Unavailable as error:
        DROPPED.labels("exchange").inc()
        log.warning("exchange not learnt", session=place.session, error=error.message)
