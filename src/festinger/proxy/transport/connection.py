"""Client connection on top of uvicorn's HTTP protocol.

Bounds the request head in size and time, closes stalled bodies, notifies a running request as soon as its
client leaves, and lets a response keep its own status line, end without a length, or be cut off.
"""

import asyncio
import re
import socket
import sys
from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from festinger.clock import Stopwatch, system_stopwatch

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

    def when_gone(self, notify: Callable[[], object] | None) -> None:
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

    def keep_reading(self) -> None:
        """Notice a disconnect after the whole body has arrived."""
        self._connection.flow.resume_reading()

    def start_response(self, status: int, reason: bytes) -> int:
        """Use this status line; return the status to pass to uvicorn."""
        line: bytes | None = b"HTTP/1.1 %d %s" % (status, reason)
        if STATUS_LINE.get(status, b"")[:-2] == line or _REASON.fullmatch(reason) is None:
            line = None
        self.cycle.transport = cast("Any", _HeadBuffer(self.cycle, line))
        return status if status in STATUS_LINE else 599

    def without_length(self) -> None:
        """End the body by closing the connection, for clients without chunked encoding."""
        self.cycle.chunked_encoding = False
        self.cycle.expected_content_length = ENDLESS
        self.cycle.keep_alive = False

    def without_body(self) -> None:
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
    """One client connection."""

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
        self._all_left()

    def data_received(self, data: bytes) -> None:
        phase, heads = self._phase, self._heads
        self._read_at = self.stopwatch()
        if self._skipped:
            self._take_skipped(data)
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
            self._pass_over_upgrade()

    def on_message_complete(self) -> None:
        if not self._skipped:
            self._phase = _Phase.IDLE
            super().on_message_complete()

    # Some clients offer HTTP/2 with every POST. The parser takes what follows for the other protocol and
    # skips it, but we never upgrade: it is the body of a plain request.

    def _pass_over_upgrade(self) -> None:
        self.cycle.keep_alive = False
        if any(name == b"transfer-encoding" for name, _ in self.headers):
            raise _UnreadableRequestError
        self._skipped = int(dict(self.headers).get(b"content-length", b"0"))

    def _unsupported_upgrade_warning(self) -> None:
        error = sys.exception()  # the parser's exception, which says where it stopped
        if self._skipped and error is not None:
            self._take_skipped(self._incoming[error.args[0] :])

    def _take_skipped(self, data: bytes) -> None:
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
        self._all_left()
        self.transport.close()

    def _all_left(self) -> None:
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
