"""How does the server run, and how does it stop?

uvicorn on sockets that are already open, with the connections of `wire`. The first signal to stop lets running
requests finish for a while; the second ends them. Whoever starts the server decides which signals those
are, so uvicorn's own handling of signals is left out.
"""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import uvicorn

from festinger.clock import Stopwatch, system_stopwatch
from festinger.proxy.wire import Wire, close_overdue

KEEP_ALIVE_SECONDS = 120
"""Longer than the 90 s after which common clients let go of an idle connection: the client should close first."""

SWEEP_SECONDS = 1.0
LOOK_AGAIN_SECONDS = 0.01
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Server(uvicorn.Server):
    """A running server. `stop` may be called twice: the second time it no longer waits."""

    def __init__(self, app: Any, *, shutdown_seconds: int, stopwatch: Stopwatch = system_stopwatch) -> None:
        self._stopwatch = stopwatch
        self._shutdown_seconds = shutdown_seconds
        self._stopping = asyncio.Event()
        self.up = asyncio.Event()
        super().__init__(
            uvicorn.Config(
                app,
                http=type("WireOfServer", (Wire,), {"stopwatch": staticmethod(stopwatch)}),
                ws="none",
                loop="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                log_level="error",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
            )
        )

    def stop(self) -> None:
        if self._stopping.is_set():
            self.stop_now()
        self.should_exit = True
        self._stopping.set()

    async def stopped(self) -> None:
        """Waits until a stop is asked for."""
        await self._stopping.wait()

    def stop_now(self) -> None:
        """End every request and connection at once."""
        self.force_exit = True
        for task in list(self.server_state.tasks):
            task.cancel()
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take nothing new, let what runs finish for a while, then end what is left."""
        for listening in (*self.servers, *(sockets or ())):
            listening.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._shutdown_seconds):
                await self._all_finished()
        self.stop_now()
        await self._all_finished()

    async def _all_finished(self) -> None:
        while self.server_state.tasks or self.server_state.connections:  # noqa: ASYNC110 - nobody is told
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    async def main_loop(self) -> None:
        while not self.should_exit:
            close_overdue(self.server_state.connections, self._stopwatch())
            with suppress(TimeoutError):
                async with asyncio.timeout(SWEEP_SECONDS):
                    await self._stopping.wait()


@asynccontextmanager
async def serving(
    app: Any,
    sockets: Sequence[socket.socket],
    *,
    shutdown_seconds: int,
    stopwatch: Stopwatch = system_stopwatch,
) -> AsyncIterator[Server]:
    """A server that answers on these sockets while the block runs, and then stops gracefully."""
    server = Server(app, shutdown_seconds=shutdown_seconds, stopwatch=stopwatch)
    running = asyncio.create_task(server.serve(list(sockets)))
    try:
        await server.up.wait()
        yield server
    finally:
        if not server.should_exit:
            server.stop()
        await running


async def serve_until_stopped(app: Any, sockets: Sequence[socket.socket], *, shutdown_seconds: int) -> None:
    """Serve until a signal to stop comes; a second one ends what is still running."""
    loop = asyncio.get_running_loop()
    async with serving(app, sockets, shutdown_seconds=shutdown_seconds) as server:
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, server.stop)
        try:
            await server.stopped()
        finally:
            for number in STOP_SIGNALS:
                loop.remove_signal_handler(number)
