"""Runs uvicorn on sockets that are already open, and stops it gracefully.

The first stop signal lets running requests finish for a while; the second ends them. The caller chooses the
signals, so uvicorn's own signal handling is disabled. Binding beyond loopback requires a key, or a person who
accepts having none. Sockets are opened before anything else starts: a taken port is reported first, and
nothing is left running.

Client connection on top of uvicorn's HTTP protocol.

Bounds the request head in size and time, closes stalled bodies, notifies a running request as soon as its
client leaves, and lets a response keep its own status line, end without a length, or be cut off.
"""

import asyncio
import errno
import re
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from enum import Enum, auto
from typing import Any, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from festinger.clock import Stopwatch, system_stopwatch
from festinger.errors import CannotStart, NeedsKey, PortTaken
from festinger.text.addresses import is_loopback

HEAD_BYTES = 64 * 1024
HEAD_SECONDS = 30.0
STALL_SECONDS = 60.0
ENDLESS = 2**62
TCP_ESTABLISHED = 1
"""The first byte of Linux `tcp_info` while both sides are connected."""

EXTENSION = "festinger.wire"

BAD_REQUEST = STATUS_LINE[400]
TOO_LARGE = STATUS_LINE[431]

_REASON = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")


class _HeadBuffer:
    """Transport that holds back the response head until the first chunk or the end of this loop iteration.

    Both then leave in one packet, and the client wakes up once. It can also replace the status line.
    """

    def __init__(self, cycle: RequestResponseCycle, line: bytes | None) -> None:
        self._cycle = cycle
        self._transport = cycle.transport
        self._line = line
        self._held: bytes | None = None

    def write(self, data: bytes) -> None:
        if self._held is not None:
            data, self._held = self._held + data, None
            self._cycle.transport = self._transport
            self._transport.write(data)
            return
        self._held = data if self._line is None else self._line + data[data.index(b"\r\n") :]
        asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        if self._held is not None and not self._transport.is_closing():
            self.write(b"")

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class ResponseControl:
    """Connection controls available to a request."""

    __slots__ = ("_connection", "_notify", "cycle", "gone", "target")

    def __init__(self, connection: "ClientConnection", target: bytes) -> None:
        self._connection = connection
        self.cycle: RequestResponseCycle = cast("Any", None)  # set as soon as uvicorn has created it
        self._notify: Callable[[], object] | None = None
        self.target = target
        self.gone = False

    def set_disconnect_callback(self, notify: Callable[[], object] | None) -> None:
        """Call `notify` as soon as the client leaves; `None` unregisters it."""
        self._notify = notify
        if notify is None:
            self._connection.replies.discard(self)
        elif self.gone:
            notify()

    def left(self) -> None:
        self.gone = True
        self.cycle.disconnected = True
        if self._notify is not None:
            self._notify()

    def resume_reading_after_body(self) -> None:
        """Notice a disconnect after the whole body has arrived."""
        self._connection.flow.resume_reading()

    def set_status_line(self, status: int, reason: bytes) -> int:
        """Use this status line; return the status to pass to uvicorn."""
        line: bytes | None = b"HTTP/1.1 %d %s" % (status, reason)
        if STATUS_LINE.get(status, b"")[:-2] == line or _REASON.fullmatch(reason) is None:
            line = None
        self.cycle.transport = cast("Any", _HeadBuffer(self.cycle, line))
        return status if status in STATUS_LINE else 599

    def end_by_closing(self) -> None:
        """End the body by closing the connection, for clients without chunked encoding."""
        self.cycle.chunked_encoding = False
        self.cycle.expected_content_length = ENDLESS
        self.cycle.keep_alive = False

    def allow_missing_body(self) -> None:
        """Allow a Content-Length without a body."""
        self.cycle.expected_content_length = 0

    def cut(self) -> None:
        """Close the connection after what was sent so far."""
        # Reported to uvicorn as a disconnect, so that it expects nothing more from the application.
        self.cycle.disconnected = True
        self.cycle.transport.close()


class _Phase(Enum):
    IDLE = auto()
    HEAD = auto()
    BODY = auto()


class _UnreadableRequestError(Exception):
    """Stops the parser."""


class ClientConnection(HttpToolsProtocol):
    stopwatch: Stopwatch = staticmethod(system_stopwatch)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.replies: set[ResponseControl] = set()
        self._phase = _Phase.IDLE
        self._heads = 0
        self._head_bytes = 0
        self._head_since = self._read_at = self.stopwatch()
        self._refusal = BAD_REQUEST
        self._incoming = b""
        self._skipped = 0

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._mark_all_gone()

    def data_received(self, data: bytes) -> None:
        phase, heads = self._phase, self._heads
        self._read_at = self.stopwatch()
        if self._skipped:
            self._feed_ignored_upgrade_body(data)
            return
        self._incoming = data
        super().data_received(data)
        self._incoming = b""
        if self._phase is _Phase.HEAD:
            self._count_head(len(data), whole=heads == self._heads and phase is not _Phase.BODY, new=phase)

    def _count_head(self, size: int, *, whole: bool, new: _Phase) -> None:
        """Count the bytes of an incomplete head; `whole` if all of them belong to it."""
        if new is not _Phase.HEAD or not whole:
            self._head_bytes, self._head_since = 0, self._read_at
        self._head_bytes += size if whole else 0
        if self._head_bytes > HEAD_BYTES:
            self._refuse(TOO_LARGE)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._phase = _Phase.HEAD
        self._fields_bytes = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._phase is not _Phase.HEAD:
            return  # a trailer: it would join the headers of a request that was authorized without it
        self._fields_bytes += len(name) + len(value) + 4
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._phase = _Phase.BODY
        self._heads += 1
        if self._fields_bytes + len(self.url) > HEAD_BYTES:
            self._refusal = TOO_LARGE
            raise _UnreadableRequestError
        if not self.url.startswith(b"/"):
            raise _UnreadableRequestError
        reply = ResponseControl(self, self.url)
        self.scope["extensions"] = {EXTENSION: cast("Any", reply)}
        super().on_headers_complete()
        reply.cycle = self.cycle
        self.replies.add(reply)
        if self.parser.should_upgrade():
            self._ignore_upgrade()

    def on_message_complete(self) -> None:
        if not self._skipped:
            self._phase = _Phase.IDLE
            super().on_message_complete()

    # Some clients offer HTTP/2 with every POST. The parser takes what follows for the other protocol and
    # skips it, but we never upgrade: it is the body of a plain request.

    def _ignore_upgrade(self) -> None:
        self.cycle.keep_alive = False
        if any(name == b"transfer-encoding" for name, _ in self.headers):
            raise _UnreadableRequestError
        self._skipped = int(dict(self.headers).get(b"content-length", b"0"))

    def _unsupported_upgrade_warning(self) -> None:
        error = sys.exception()  # the parser's exception, which says where it stopped
        if self._skipped and error is not None:
            self._feed_ignored_upgrade_body(self._incoming[error.args[0] :])

    def _feed_ignored_upgrade_body(self, data: bytes) -> None:
        piece = data[: self._skipped]
        self._skipped -= len(piece)
        self.on_body(piece)
        self.on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(self._refusal)

    def _refuse(self, status_line: bytes) -> None:
        """Answer an unreadable request, unless the response to an earlier one is under way."""
        if self.transport.is_closing():
            return
        if not any(reply.cycle.response_started for reply in self.replies):
            self.transport.write(status_line + b"content-length: 0\r\nconnection: close\r\n\r\n")
        self._mark_all_gone()
        self.transport.close()

    def _mark_all_gone(self) -> None:
        for reply in list(self.replies):
            reply.left()
        self.replies.clear()

    def is_overdue(self, now: float) -> bool:
        """Whether this client has kept us waiting too long."""
        if self.flow.read_paused:
            # We, or the upstream, keep the client waiting. Nobody reads, so nobody would notice it leave.
            self._read_at = now
            return self._has_left()
        if self._phase is _Phase.BODY:
            return now - self._read_at > STALL_SECONDS
        never_asked = self._phase is _Phase.IDLE and self.cycle is None
        return (never_asked or self._phase is _Phase.HEAD) and now - self._head_since > HEAD_SECONDS

    def _has_left(self) -> bool:
        """Whether the peer has closed, from kernel state without reading; not available on every system."""
        if not hasattr(socket, "TCP_INFO"):
            return False
        state = self.transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)
        return bool(state[0] != TCP_ESTABLISHED)


def close_overdue(connections: Iterable[object], now: float) -> int:
    """Close connections of clients that never finish what they began; return how many."""
    overdue = [wire for wire in connections if isinstance(wire, ClientConnection) and wire.is_overdue(now)]
    for wire in overdue:
        wire.transport.abort()
    return len(overdue)


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
                await self._wait_until_finished()
        self.stop_now()
        await self._wait_until_finished()

    async def _wait_until_finished(self) -> None:
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


def require_key_if_exposed(host: str, *, any_key: bool, insecure: bool) -> None:
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
