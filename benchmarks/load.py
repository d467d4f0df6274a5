"""Measures response times and throughput of a server.

A small HTTP client over raw sockets with keep-alive, so that its own cost is low and equal for every server.
The loop is closed: a connection sends its next request after the complete answer to the last one. It knows
the answers of `stub`, with a length or in chunks, and no others; anything else counts as an error. It
connects only to this machine.
"""

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import cast

from festinger.clock import Stopwatch

HOST = "127.0.0.1"

PATIENCE_S = 30.0
"""The longest that one answer may take."""

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
_LAST_CHUNK = b"\r\n0\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds from sending a request to the first and the last byte of its answer."""

    first: float
    whole: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
    """The result of a series of requests to one server."""

    timings: Sequence[Timing]
    errors: int
    seconds: float

    @property
    def rate(self) -> float:
        """Answers per second."""
        return len(self.timings) / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResponse:
    status: int
    head: bytes
    body: bytes
    timing: Timing


def request(port: int, path: str, body: bytes, *, headers: Sequence[str] = ()) -> bytes:
    """A POST of JSON as raw bytes, or a GET if there is no body."""
    head = [
        f"{'POST' if body else 'GET'} {path} HTTP/1.1",
        f"Host: {HOST}:{port}",
        "Accept: */*",
        "Authorization: Bearer sk-bench",
        "Content-Type: application/json",
        *headers,
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


class Connection(asyncio.Protocol):
    """One keep-alive connection. Call `ask` one at a time."""

    def __init__(self, stopwatch: Stopwatch) -> None:
        self._stopwatch = stopwatch
        self._received = bytearray()
        self._began = self._first = 0.0
        self._whole: asyncio.Future[LoadResponse] | None = None
        self._transport: asyncio.Transport | None = None

    async def ask(self, wire: bytes) -> LoadResponse:
        """Send a request and wait for the whole answer; else `ConnectionError` or `TimeoutError`."""
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError("the server has closed the connection")
        self._received.clear()
        self._whole = asyncio.get_running_loop().create_future()
        self._first, self._began = 0.0, self._stopwatch()
        self._transport.write(wire)
        async with asyncio.timeout(PATIENCE_S):
            return await self._whole

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._first = self._first or self._stopwatch()
        self._received += data
        if self._whole is None or self._whole.done() or not is_whole(self._received):
            return
        timing = Timing(first=self._first - self._began, whole=self._stopwatch() - self._began)
        head, _, body = bytes(self._received).partition(b"\r\n\r\n")
        self._whole.set_result(LoadResponse(status=int(head.split(b" ", 2)[1]), head=head, body=body, timing=timing))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._whole is not None and not self._whole.done():
            self._whole.set_exception(exc or ConnectionResetError("the server has gone"))


def is_whole(received: bytes | bytearray) -> bool:
    """Whether these bytes are a complete answer."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return False
    head = bytes(received[:end])
    if _CHUNKED.search(head):
        return received.endswith(_LAST_CHUNK)
    length = _LENGTH.search(head)
    return length is not None and len(received) - end - 4 >= int(length[1])


async def connect(port: int, stopwatch: Stopwatch) -> Connection:
    _, connection = await asyncio.get_running_loop().create_connection(lambda: Connection(stopwatch), HOST, port)
    return connection


async def ask_once(port: int, path: str, body: bytes = b"", *, stopwatch: Stopwatch) -> LoadResponse | None:
    """One request on a new connection; `None` if nobody answers."""
    try:
        connection = await connect(port, stopwatch)
    except OSError:
        return None
    try:
        return await connection.ask(request(port, path, body))
    except (OSError, TimeoutError):
        return None
    finally:
        connection.close()


async def in_turn(port: int, wires: Sequence[bytes], *, stopwatch: Stopwatch) -> LoadResult:
    """Requests one after the other on one connection."""
    began = stopwatch()
    timings, errors = await _ask_on(port, wires, until=None, stopwatch=stopwatch)
    return LoadResult(timings=timings, errors=errors, seconds=stopwatch() - began)


async def at_once(
    port: int, clients: Sequence[Sequence[bytes]], *, count: int, seconds: float, stopwatch: Stopwatch
) -> LoadResult:
    """As many requests as are answered in some seconds: each client sends at most `count`, in turn."""
    began = stopwatch()
    asked = [
        _ask_on(port, islice(cycle(wires), count), until=began + seconds, stopwatch=stopwatch) for wires in clients
    ]
    given = await asyncio.gather(*asked)
    return LoadResult(
        timings=[timing for timings, _ in given for timing in timings],
        errors=sum(errors for _, errors in given),
        seconds=stopwatch() - began,
    )


async def _ask_on(
    port: int, wires: Iterable[bytes], *, until: float | None, stopwatch: Stopwatch
) -> tuple[list[Timing], int]:
    """Requests on one connection, reopened when it breaks."""
    timings: list[Timing] = []
    errors = 0
    connection: Connection | None = None
    for wire in wires:
        if until is not None and stopwatch() >= until:
            break
        try:
            connection = connection or await connect(port, stopwatch)
            answer = await connection.ask(wire)
        except (OSError, TimeoutError):
            _close(connection)
            connection, errors = None, errors + 1
            continue
        if answer.status == 200:
            timings.append(answer.timing)
        else:
            errors += 1
    _close(connection)
    return timings, errors


def _close(connection: Connection | None) -> None:
    if connection is not None:
        connection.close()
