"""Serves while the rest of the program is still loading.

Loading takes a second or two, and opening the store longer. The proxy waits for neither: it holds an
`EarlyServer`. Requests for models pass, and their text is held in memory and captured once everything is
loaded; requests for our own pages or with a key wait here until then. After that `server` handles them.
`run_server` is `festinger serve` without signals, greeting and command line; demos run it with a clock and a model
of their own.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from importlib import import_module
from typing import TYPE_CHECKING, Any

from festinger.ids import MAIN_SPACE, SpaceId
from festinger.proxy.app import Proxy
from festinger.proxy.auth import own_hostnames
from festinger.proxy.errors import fail_open
from festinger.proxy.headers import MemoryReason, MemoryResult, MemoryStatus
from festinger.proxy.request import RequestContext
from festinger.proxy.transport.server import is_exposed, open_server
from festinger.proxy.transport.streams import Ending, Stored, StreamEndReason, StreamFrame
from festinger.proxy.transport.upstream import UpstreamClient, open_upstream
from festinger.runtime.environment import LocalServer, SystemServices
from festinger.settings.live import LiveSettings
from festinger.store.repositories.auth import ApiKey

if TYPE_CHECKING:
    from festinger.cli.server import LoadedServer

NO_STORE = MemoryStatus(result=MemoryResult.NOT_READY, reason=MemoryReason.STORE)
EARLY_BYTES = 64 * 2**20
"""The most bytes of request bodies held until everything is loaded."""


class BackgroundWorkPlace(Enum):
    WORKER = auto()
    """In a process of its own."""
    HERE = auto()
    NOWHERE = auto()
    """Only what was captured is brought to the store; jobs wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    settings: LiveSettings
    tools: SystemServices
    say: Callable[[str], None]
    background: BackgroundWorkPlace
    insecure: bool = False
    """Whether a person accepted that anyone who reaches it may use it."""
    local: LocalServer | None = None
    """How commands on this home find it; `None` does not announce it."""
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server is asked to stop: endless streams end then."""


class EarlyListener:
    """Holds a response until it can be captured."""

    def __init__(self, early_server: "EarlyServer", ctx: RequestContext) -> None:
        self._early_server = early_server
        self.ctx = ctx
        self.frames: list[StreamFrame] = []
        self.how = StreamEndReason.ABRUPT

    def on_frame(self, frame: StreamFrame) -> Ending | None:
        self.frames.append(frame)
        return None

    def on_end(self, how: StreamEndReason, *, unreadable: int) -> Stored | None:
        self.how = how
        return self._early_server.capture_early(self)


class EarlyServer:
    """Lets callers wait for the loaded server."""

    def __init__(self) -> None:
        self._server: asyncio.Future[LoadedServer] = asyncio.get_running_loop().create_future()
        self._early: list[EarlyListener] = []
        self._early_bytes = 0

    async def load_server(self, how: ServerOptions, upstream: UpstreamClient, *, stop: asyncio.Event) -> None:
        """Load the packages beside the running proxy, admit callers, and keep all open until `stop`."""
        # In a thread, so that the loop keeps forwarding.
        module = await asyncio.to_thread(import_module, "festinger.cli.server")
        server: LoadedServer = module.build_server(how, upstream)
        self._server.set_result(server)
        early, self._early = self._early, []
        for listener in early:
            self.capture_early(listener)
        await server.live(stop)

    async def server(self) -> "LoadedServer":
        """The loaded server; its store may still be closed."""
        # A caller who gives up waiting must not cancel it for the others.
        return await asyncio.shield(self._server)

    async def pages(self, scope: Any, receive: Any, send: Any) -> None:
        """Our own pages, as an ASGI app."""
        server = await self.server()
        await server.pages(scope, receive, send)

    async def find_key(self, secret: str) -> ApiKey | None:
        server = await self.server()
        return await server.supervisor.find_key(secret)

    def known_space(self, name: str) -> SpaceId | None:
        if self._server.done():
            return self._server.result().supervisor.known_space(name)
        return MAIN_SPACE if name == MAIN_SPACE else None

    async def process(self, ctx: RequestContext) -> None:
        """Recall for a request.

        Until everything is loaded, and while there is no store, it passes unchanged but is still captured.
        """
        if not self._server.done():
            ctx.memory_status, ctx.listener = NO_STORE, EarlyListener(self, ctx)
            return
        server = self._server.result()
        with server.serving():
            await server.pipeline.process(ctx)
        if not self.ready() and ctx.memory_status and ctx.memory_status.result is MemoryResult.NOT_READY:
            ctx.memory_status = NO_STORE

    def capture_early(self, heard: EarlyListener) -> Stored | None:
        """Capture an exchange that began before everything was loaded, now or once it is."""
        body = heard.ctx.received
        if self._server.done():
            with fail_open("early capture"):
                return self._server.result().pipeline.capture_early(heard.ctx, frames=heard.frames, ended=heard.how)
        elif isinstance(body, bytes) and self._early_bytes + len(body) <= EARLY_BYTES:
            self._early_bytes += len(body)
            self._early.append(heard)
        return None

    def log(self, ctx: RequestContext) -> None:
        """Log a finished request; before the packages are loaded it cannot be logged."""
        if self._server.done():
            server = self._server.result()
            with server.serving():
                server.recorder.log(ctx)

    def ready(self) -> bool:
        return self._server.done() and self._server.result().supervisor.is_open()


@asynccontextmanager
async def run_server(how: ServerOptions, sockets: Sequence[socket.socket]) -> AsyncIterator[EarlyServer]:
    """Serve on the sockets while the block runs; at its end finish running requests and close the app."""
    early_server, stop = EarlyServer(), asyncio.Event()
    async with open_upstream() as upstream, asyncio.TaskGroup() as group:
        proxy = Proxy(
            settings=lambda: how.settings.now,
            own=early_server.pages,
            upstream=upstream,
            find_key=early_server.find_key,
            known_space=early_server.known_space,
            ready=early_server.ready,
            new_id=how.tools.new_id,
            stopwatch=how.tools.stopwatch,
            machine_names=own_hostnames(),
            exposed=is_exposed(how.settings.now.server.host),
            insecure=how.insecure,
            process=early_server.process,
            log_request=early_server.log,
        )
        async with open_server(proxy, sockets, shutdown_seconds=how.settings.now.server.shutdown_seconds):
            group.create_task(early_server.load_server(how, upstream, stop=stop))
            yield early_server
        stop.set()
