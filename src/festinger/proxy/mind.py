"""Who says what the world knows?

The small port through which the door asks the world. That reads what this process keeps and never waits. While the
house is not open there is nothing to ask. Memories are asked for beside it, in `memories`; what is learnt from requests
is `writing`'s matter.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from festinger.runtime.app import App
from festinger.runtime.world import warm
from festinger.world.recall import Place, Said
from festinger.world.recollection import Recollection


class Mind(Protocol):
    async def recollect(self, place: Place, texts: Sequence[Said]) -> Recollection | None:
        """What is known of these texts, newest first; none if it cannot be said yet."""


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
