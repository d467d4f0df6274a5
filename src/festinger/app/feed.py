"""How does somebody follow what happens, as it happens?

Joins the outbox's feed with a pulse: a notification would tell sooner, but a look every so often is simple,
never misses anything and costs one small query.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from festinger.app.wiring import App
from festinger.events.event import Event
from festinger.events.feed import Gap, follow, place_of
from festinger.ids import EventId, SpaceId

LOOK_SECONDS = 0.5


async def _pulse() -> None:
    await asyncio.sleep(LOOK_SECONDS)


def follow_events(
    app: App, *, space: SpaceId, names: Sequence[str] = (), after: EventId | None = None
) -> AsyncGenerator[Event | Gap, None]:
    """Events from `after`, or from the first look on, for as long as the caller reads."""
    return follow(app.store, space=space, wake=_pulse, names=names, after=after)


async def follow_from_here(
    app: App, *, space: SpaceId, names: Sequence[str] = (), after: EventId | None = None
) -> AsyncGenerator[Event | Gap, None]:
    """As `follow_events`, but the place is taken before this returns: an unknown event is told at once, and
    nothing is missed between the answer to a reader and its first look."""
    place = await place_of(app.store, space, after)
    return follow(app.store, space=space, wake=_pulse, names=names, after=after, place=place)
