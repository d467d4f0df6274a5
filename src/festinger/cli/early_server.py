"""Serves while the rest of the program is still loading.

Loading takes a second or two, and opening the store longer. The proxy waits for neither: it holds an
`EarlyServer`. Requests for models pass, and their text is held in memory and captured once everything is
loaded; requests for our own pages or with a key wait here until then. After that `server` handles them.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from festinger.ids import MAIN_SPACE, SpaceId
from festinger.proxy.auth import AuthorizedRequest
from festinger.proxy.errors import fail_open
from festinger.proxy.headers import MemoryReason, MemoryResult, MemoryStatus, RawHeaders
from festinger.proxy.hooks import FinishedRequest, PipelineResult
from festinger.proxy.transport.streams import Ending, Stored, StreamEndReason, StreamFrame
from festinger.proxy.transport.upstream import UpstreamClient
from festinger.runtime.environment import LocalServer, SystemServices
from festinger.settings.live import LiveSettings
from festinger.settings.tree import ProxySettings
from festinger.store.repositories.auth import ApiKey

if TYPE_CHECKING:
    from festinger.cli.server import LoadedServer

NO_STORE = MemoryStatus(result=MemoryResult.NOT_READY, reason=MemoryReason.STORE)
EARLY_BYTES = 64 * 2**20
"""The most bytes of request bodies held until everything is loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerDeps:
    """What the server is built from."""

    settings: LiveSettings
    tools: SystemServices
    upstream: UpstreamClient
    workers: bool
    local: LocalServer | None
    closing: asyncio.Event
    say: Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlyExchange:
    """A request that passed before memory was loaded, with its response."""

    authorized: AuthorizedRequest
    headers: RawHeaders
    body: bytes
    settings: ProxySettings
    frames: list[StreamFrame]
    ended: StreamEndReason


class EarlyListener:
    """Holds a response until it can be captured."""

    def __init__(
        self,
        early_server: "EarlyServer",
        authorized: AuthorizedRequest,
        headers: RawHeaders,
        body: bytes,
        settings: ProxySettings,
    ) -> None:
        self._early_server = early_server
        self._visit, self._headers, self._body, self._settings = authorized, headers, body, settings
        self._frames: list[StreamFrame] = []

    def hear(self, frame: StreamFrame) -> Ending | None:
        self._frames.append(frame)
        return None

    def ended(self, how: StreamEndReason, *, unreadable: int) -> Stored | None:
        return self._early_server.take_early(
            EarlyExchange(
                authorized=self._visit,
                headers=self._headers,
                body=self._body,
                settings=self._settings,
                frames=self._frames,
                ended=how,
            )
        )


class EarlyServer:
    """Lets callers wait for the loaded server."""

    def __init__(self) -> None:
        self._server: asyncio.Future[LoadedServer] = asyncio.get_running_loop().create_future()
        self._early: list[EarlyExchange] = []
        self._early_bytes = 0

    async def load_server(self, plan: ServerDeps, *, stop: asyncio.Event) -> None:
        """Load the packages beside the running proxy, admit callers, and keep all open until `stop`."""
        # In a thread, so that the loop keeps forwarding.
        module = await asyncio.to_thread(import_module, "festinger.cli.server")
        server: LoadedServer = module.build_server(plan)
        self._server.set_result(server)
        early, self._early = self._early, []
        for exchange in early:
            self.take_early(exchange)
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

    async def process(
        self, authorized: AuthorizedRequest, headers: RawHeaders, body: bytes, *, settings: ProxySettings
    ) -> PipelineResult:
        """Recall for a request.

        Until everything is loaded, and while there is no store, it passes unchanged but is still captured.
        """
        if not self._server.done():
            listener = EarlyListener(self, authorized, headers, body, settings)
            return PipelineResult(body=body, told=NO_STORE, listener=listener)
        server = self._server.result()
        with server.serving():
            processed = await server.pipeline.process(authorized, headers, body, settings=settings)
        if not self.ready() and processed.told and processed.told.result is MemoryResult.NOT_READY:
            return replace(processed, told=NO_STORE)
        return processed

    def take_early(self, exchange: EarlyExchange) -> Stored | None:
        """Capture an exchange that began before everything was loaded, now or once it is."""
        if self._server.done():
            with fail_open("early capture"):
                return self._server.result().pipeline.take_early(
                    exchange.authorized,
                    exchange.headers,
                    exchange.body,
                    frames=exchange.frames,
                    ended=exchange.ended,
                    settings=exchange.settings,
                )
        elif self._early_bytes + len(exchange.body) <= EARLY_BYTES:
            self._early_bytes += len(exchange.body)
            self._early.append(exchange)
        return None

    def passed(self, request: FinishedRequest) -> None:
        """Log a finished request; before the packages are loaded it cannot be logged."""
        if self._server.done():
            server = self._server.result()
            with server.serving():
                server.recorder.passed(request)

    def ready(self) -> bool:
        return self._server.done() and self._server.result().supervisor.is_open()
