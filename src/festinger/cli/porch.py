"""What does the door do while the rooms behind it are still being loaded?

Loading every room takes a second or two, and opening the store longer. The door waits for neither: it holds a
`Porch`. Requests for models pass; whoever asks for our own pages or shows a key waits here until the rooms are
loaded. What they then meet is `house`.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from festinger.app.local_server import LocalServer
from festinger.app.tools import Tools
from festinger.ids import MAIN_SPACE, SpaceId
from festinger.proxy.attending import Attended
from festinger.proxy.guard import Visit
from festinger.proxy.headers import RawHeaders
from festinger.proxy.passed import Passed
from festinger.proxy.telling import MemoryResult, MemoryTold, Reason
from festinger.proxy.upstream import Upstream
from festinger.settings.live import LiveSettings
from festinger.settings.tree import ProxySettings
from festinger.store.keys import ApiKey

if TYPE_CHECKING:
    from festinger.cli.house import House

NO_STORE = MemoryTold(result=MemoryResult.NOT_READY, reason=Reason.STORE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the house is built from."""

    settings: LiveSettings
    tools: Tools
    upstream: Upstream
    workers: bool
    local: LocalServer | None
    closing: asyncio.Event
    say: Callable[[str], None]


class Porch:
    """Where callers wait for the house."""

    def __init__(self) -> None:
        self._house: asyncio.Future[House] = asyncio.get_running_loop().create_future()

    async def open_house(self, plan: Plan, *, stop: asyncio.Event) -> None:
        """Load the rooms beside the running server, let callers in, and hold everything open until `stop`."""
        # In a thread, so that the loop forwards meanwhile.
        rooms = await asyncio.to_thread(import_module, "festinger.cli.house")
        house: House = rooms.built(plan)
        self._house.set_result(house)
        await house.live(stop)

    async def house(self) -> "House":
        """The house, once its rooms are loaded; its store may still be closed."""
        # Whoever gives up waiting does not take it from the others.
        return await asyncio.shield(self._house)

    async def pages(self, scope: Any, receive: Any, send: Any) -> None:
        """Our own pages, as an ASGI app."""
        house = await self.house()
        await house.pages(scope, receive, send)

    async def find_key(self, secret: str) -> ApiKey | None:
        house = await self.house()
        return await house.keeper.find_key(secret)

    def known_space(self, name: str) -> SpaceId | None:
        if self._house.done():
            return self._house.result().keeper.known_space(name)
        return MAIN_SPACE if name == MAIN_SPACE else None

    async def attend(
        self, visit: Visit, headers: RawHeaders, body: bytes, *, settings: ProxySettings
    ) -> Attended:
        """What a request brings to mind. Until the rooms are loaded it passes as it came; while they are loaded
        and have no store, it is listened to all the same, and what was said waits for the store."""
        if not self._house.done():
            return Attended(body=body, told=NO_STORE)
        house = self._house.result()
        with house.serving():
            attended = await house.attendant.attend(visit, headers, body, settings=settings)
        if not self.ready() and attended.told and attended.told.result is MemoryResult.NOT_READY:
            return replace(attended, told=NO_STORE)
        return attended

    def passed(self, request: Passed) -> None:
        """A request is over; before the rooms are loaded nobody can write it down."""
        if self._house.done():
            house = self._house.result()
            with house.serving():
                house.chronicle.passed(request)

    def ready(self) -> bool:
        return self._house.done() and self._house.result().keeper.is_open()
