"""Runs uvicorn on sockets that are already open, and stops it gracefully.

The first stop signal lets running requests finish for a while; the second ends them. The caller chooses the
signals, so uvicorn's own signal handling is disabled. Binding beyond loopback requires a key, or a person who
accepts having none. Sockets are opened before anything else starts: a taken port is reported first, and
nothing is left running.
"""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import uvicorn

from festinger.clock import Stopwatch, system_stopwatch
from festinger.errors import CannotStart, NeedsKey, PortTaken
from festinger.proxy.transport.connection import ClientConnection, close_overdue
from festinger.text.addresses import is_loopback

KEEP_ALIVE_SECONDS = 120
"""Longer than the 90 s after which common clients drop an idle connection: the client should close first."""

SWEEP_SECONDS = 1.0
LOOK_AGAIN_SECONDS = 0.01


class ProxyServer(uvicorn.Server):
    """A running server. The second call of `stop` no longer waits."""

    def __init__(self, app: Any, *, shutdown_seconds: int, stopwatch: Stopwatch = system_stopwatch) -> None:
        self._stopwatch = stopwatch
        self._shutdown_seconds = shutdown_seconds
        self._stopping = asyncio.Event()
        self.up = asyncio.Event()
        super().__init__(
            uvicorn.Config(
                app,
                http=type("TimedConnection", (ClientConnection,), {"stopwatch": staticmethod(stopwatch)}),
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

    def stop_now(self) -> None:
        """End every request and connection at once."""
        self.force_exit = True
        for task in list(self.server_state.tasks):
            task.cancel()
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept nothing new, let running requests finish for a while, then end the rest."""
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
        while self.server_state.tasks or self.server_state.connections:  # noqa: ASYNC110 - no event to await
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
async def open_server(
    app: Any, sockets: Sequence[socket.socket], *, shutdown_seconds: int, stopwatch: Stopwatch = system_stopwatch
) -> AsyncIterator[ProxyServer]:
    """Serve on these sockets while the block runs, then stop gracefully."""
    server = ProxyServer(app, shutdown_seconds=shutdown_seconds, stopwatch=stopwatch)
    running = asyncio.create_task(server.serve(list(sockets)))
    try:
        await server.up.wait()
        yield server
    finally:
        if not server.should_exit:
            server.stop()
        await running


LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
BACKLOG = 2048


def is_exposed(host: str) -> bool:
    """Whether other machines can reach this address."""
    return not is_loopback(host)


def check_bind(host: str, *, any_key: bool, insecure: bool) -> None:
    """Raise `NeedsKey` if listening on `host` would let everyone in."""
    if is_exposed(host) and not any_key and not insecure:
        raise NeedsKey(f"Listening on `{host}` lets others in, and there is no API key yet.", host=host)


def expand_loopback(host: str) -> tuple[str, ...]:
    """A loopback name stands for both the IPv4 and the IPv6 address."""
    return ("127.0.0.1", "::1") if host in LOOPBACK_NAMES else (host,)


def open_sockets(host: str, port: int) -> list[socket.socket]:
    """Open listening sockets on every address of `host`. Port 0 picks one port for all."""
    opened: list[socket.socket] = []
    try:
        for address in expand_loopback(host):
            if address == "::1" and opened and not _has_ipv6_loopback():
                continue
            opened.append(_listen(address, opened[0].getsockname()[1] if opened else port))
    except CannotStart:
        close_sockets(opened)
        raise
    return opened


def close_sockets(sockets: Sequence[socket.socket]) -> None:
    for opened in sockets:
        opened.close()


def _listen(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # The protocol is named because asyncio disables Nagle's algorithm only then: otherwise every response of
    # more than one write waits some 40 ms for the client's delayed acknowledgment.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # Without this, a restart would have to wait for connections of the previous run to expire.
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family is socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        opened.bind((address, port))
        opened.listen(BACKLOG)
        opened.setblocking(False)
    except OSError as error:
        opened.close()
        raise _build_bind_error(error, address, port) from error
    return opened


def _build_bind_error(error: OSError, address: str, port: int) -> CannotStart:
    if error.errno == errno.EADDRINUSE:
        return PortTaken(
            f"Port {port} on {address} is already in use.",
            hint="Choose another one with `--port`, or stop what listens there.",
            port=port,
        )
    return CannotStart(
        f"Cannot listen on `{address}` port {port}: {error.strerror or error}.",
        hint="Choose an address of this machine with `--host` and a free port above 1023 with `--port`.",
        port=port,
    )


def _has_ipv6_loopback() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True
