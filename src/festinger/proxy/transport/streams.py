"""Splits response streams into frames, and taps them for a listener.

Readers accept bytes in any chunking and yield the same frames: JSON lines, server-sent events, or one JSON
document. Unreadable pieces are counted and skipped; a reader that exceeds its limit stops for good. A
response is whole once its end mark came (`done`, `[DONE]`, `message_stop`, or the end of the document),
otherwise abrupt; agents often disconnect as soon as a tool call is readable. The tap reads a copy and never
holds bytes back; a failing listener is dropped while the stream continues. A listener may cut the response
after the last frame it heard.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, Self

import orjson
import structlog

from festinger.observability.metrics import DEGRADED
from festinger.proxy.errors import fail_open
from festinger.proxy.transport.upstream import UpstreamUnreachableError

LINE_BYTES = 8 * 2**20
"""The longest line, and the most that a reader buffers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFrame:
    """One object of a stream. `event` is its SSE event name."""

    data: Any
    event: str = ""
    end: int = field(default=0, compare=False)
    """Bytes of the stream read when the frame was complete."""


DONE = "[DONE]"
"""The one event of OpenAI streams whose data is not JSON."""


class _LineBuffer:
    """Joins chunks and yields whole lines without line ends."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: list[bytes] = []
        self._size = 0
        self.overflowed = False

    def feed(self, chunk: bytes) -> list[bytes]:
        if self.overflowed:
            return []
        head, newline, tail = chunk.rpartition(b"\n")
        if not newline:
            self._hold(chunk)
            return []
        lines = b"".join((*self._held, head)).split(b"\n")
        self._held, self._size = [], 0
        self._hold(tail)
        return lines

    def rest(self) -> bytes:
        held, self._held, self._size = b"".join(self._held), [], 0
        return held

    def _hold(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._limit:
            self.overflowed, self._held = True, []
        elif piece:
            self._held.append(piece)


class NdjsonReader:
    """One JSON object per line. Like the other readers, it stops for good once it has `overflowed` its limit."""

    def __init__(self, limit: int = LINE_BYTES) -> None:
        self._lines = _LineBuffer(limit)
        self._read = 0
        self.unreadable = 0

    @property
    def overflowed(self) -> bool:
        return self._lines.overflowed

    def feed(self, chunk: bytes) -> list[StreamFrame]:
        return self._frames(self._lines.feed(chunk))

    def finish(self) -> list[StreamFrame]:
        return self._frames([self._lines.rest()])

    def _frames(self, lines: list[bytes]) -> list[StreamFrame]:
        frames = []
        for line in lines:
            self._read += len(line) + 1
            if not line.strip():
                continue
            try:
                frames.append(StreamFrame(data=orjson.loads(line), end=self._read))
            except orjson.JSONDecodeError:
                self.unreadable += 1
        return frames


class SseReader:
    """Server-sent events whose data is JSON or `[DONE]`."""

    def __init__(self, limit: int = LINE_BYTES) -> None:
        self._lines = _LineBuffer(limit)
        self._limit = limit
        self._event = ""
        self._data: list[bytes] = []
        self._size = 0
        self._read = 0
        self.unreadable = 0

    @property
    def overflowed(self) -> bool:
        return self._lines.overflowed or self._size > self._limit

    def feed(self, chunk: bytes) -> list[StreamFrame]:
        frames: list[StreamFrame] = []
        for line in self._lines.feed(chunk):
            self._read += len(line) + 1
            if self._size <= self._limit:
                self._take(line.removesuffix(b"\r"), frames)
        return frames

    def finish(self) -> list[StreamFrame]:
        # An event counts once an empty line follows; at the end of a stream it may be missing.
        return self.feed(b"\n\n")

    def _take(self, line: bytes, frames: list[StreamFrame]) -> None:
        if not line:
            self._dispatch(frames)
            return
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._size += len(value)
            if self._size <= self._limit:
                self._data.append(value)
            else:
                self._data = []
        elif field == b"event":
            self._event = value.decode("utf-8", "replace")

    def _dispatch(self, frames: list[StreamFrame]) -> None:
        data, event = b"\n".join(self._data), self._event
        self._data, self._event, self._size = [], "", 0
        if data.strip() == DONE.encode():
            frames.append(StreamFrame(data=DONE, event=event, end=self._read))
        elif data:
            try:
                frames.append(StreamFrame(data=orjson.loads(data), event=event, end=self._read))
            except orjson.JSONDecodeError:
                self.unreadable += 1


class WholeJsonReader:
    """One JSON document, read when complete."""

    def __init__(self, limit: int = LINE_BYTES) -> None:
        self._limit = limit
        self._held: list[bytes] = []
        self._size = 0
        self.unreadable = 0
        self.overflowed = False

    def feed(self, chunk: bytes) -> list[StreamFrame]:
        self._size += len(chunk)
        if self._size > self._limit:
            self.overflowed, self._held = True, []
        elif chunk:
            self._held.append(chunk)
        return []

    def finish(self) -> list[StreamFrame]:
        whole, self._held = b"".join(self._held), []
        if not whole.strip():
            return []
        try:
            return [StreamFrame(data=orjson.loads(whole))]
        except orjson.JSONDecodeError:
            self.unreadable += 1
            return []


FrameReader = NdjsonReader | SseReader | WholeJsonReader


def reader_for(content_type: bytes, *, limit: int = LINE_BYTES) -> FrameReader:
    kind = content_type.split(b";", 1)[0].strip().lower()
    if kind == b"text/event-stream":
        return SseReader(limit)
    if kind == b"application/x-ndjson":
        return NdjsonReader(limit)
    return WholeJsonReader(limit)


class StreamEndReason(StrEnum):
    WHOLE = "whole"
    ABRUPT = "abrupt"
    ERROR = "error"
    CLIENT = "client"
    CUT = "cut"


WHOLE_EVENTS = frozenset({"message_stop", "response.completed", "response.incomplete"})
ERROR_EVENTS = frozenset({"error", "response.failed"})


def find_end_reason(frame: StreamFrame, *, streamed: bool) -> StreamEndReason | None:
    """How this frame ends the response, if it does. A document that is not streamed ends with itself."""
    data = frame.data
    if data == DONE:
        return StreamEndReason.WHOLE
    if not isinstance(data, dict):
        return None if streamed else StreamEndReason.WHOLE
    event = frame.event or data.get("type")
    if data.get("error") or (isinstance(event, str) and event in ERROR_EVENTS):
        return StreamEndReason.ERROR
    if not streamed or data.get("done") is True or (isinstance(event, str) and event in WHOLE_EVENTS):
        return StreamEndReason.WHOLE
    return None


log = structlog.get_logger(room="proxy")

PART = "proxy tap"
STORED_SECONDS = 2.0
"""How long a response's last byte waits for its capture to be on disk; a hanging disk breaks nothing."""

Stored = asyncio.Future[None]
"""Done once a capture is on disk."""

Ending = Callable[[], bytes]
"""Returns the bytes that legally end the response after what was heard; empty if it has ended by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCut:
    """Cuts the response within a chunk: send its first `whole` bytes, then `ending`."""

    whole: int
    ending: bytes


class ReplyListener(Protocol):
    def on_frame(self, frame: StreamFrame) -> Ending | None:
        """Receive one frame; return how to end the response here, if it must end."""

    def on_end(self, how: StreamEndReason, *, unreadable: int) -> Stored | None:
        """The response is over, with this many unreadable pieces. Return the storage future, if any."""


class StreamTap:
    def __init__(self, listener: ReplyListener, reader: FrameReader, *, endless: bool = True) -> None:
        self._listener = listener
        self._reader = reader
        self._streamed = not isinstance(reader, WholeJsonReader)
        self._endless = endless
        self._fed = 0
        self._mark: StreamEndReason | None = None
        self._closed = False
        self._stored: Stored | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the end mark was heard: the client may treat the response as whole from here on."""
        return self._streamed and self._mark is StreamEndReason.WHOLE

    async def settle(self) -> None:
        """Finish the capture and wait until it is stored. Call before the last byte is sent."""
        self.end()
        if self._stored is None or self._stored.done():
            return
        with fail_open(PART):
            await asyncio.wait({self._stored}, timeout=STORED_SECONDS)
            if not self._stored.done():
                DEGRADED.labels("spool").inc()
                log.warning("a response did not wait for its capture to be on disk")

    def feed(self, chunk: bytes) -> StreamCut | None:
        """Read a chunk before it is sent. Returns the cut if the listener ends the response here."""
        cut = None
        if not self._closed:
            with fail_open(PART) as attempt:
                cut = self._read_frames(self._reader.feed(chunk))
            self._closed = attempt.failed != ""
            self._fed += len(chunk)
        return cut

    def end(self, how: StreamEndReason | None = None) -> None:
        """End the tap with `how` if given, else with what the response itself said, else as abrupt."""
        if self._closed:
            return
        self._closed = True  # nothing is heard after the end
        with fail_open(PART):
            self._endless = False
            if self._mark is not StreamEndReason.CUT:
                self._read_frames(self._reader.finish())
            self._stored = self._listener.on_end(
                how or self._mark or StreamEndReason.ABRUPT, unreadable=self._reader.unreadable
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            self.end()
        else:
            self.end(StreamEndReason.ABRUPT if issubclass(kind, UpstreamUnreachableError) else StreamEndReason.CLIENT)

    def _read_frames(self, frames: list[StreamFrame]) -> StreamCut | None:
        for frame in frames:
            self._mark = find_end_reason(frame, streamed=self._streamed) or self._mark
            ending = self._listener.on_frame(frame)
            if ending is not None and self._mark is None and self._endless and (last := ending()):
                self._mark = StreamEndReason.CUT
                return StreamCut(whole=frame.end - self._fed, ending=last)
        return None


_NO_TAP = nullcontext(None)


def open_tap(
    listener: ReplyListener | None, headers: Iterable[tuple[bytes, bytes]]
) -> AbstractContextManager[StreamTap | None]:
    """Tap a response with these headers, if there is a listener and the response is readable."""
    if listener is None:
        return _NO_TAP
    named = {name.lower(): value for name, value in headers}
    if named.get(b"content-encoding", b"identity") != b"identity":
        return _NO_TAP
    # A response that declared its length cannot be given another end.
    endless = b"content-length" not in named
    return StreamTap(listener, reader_for(named.get(b"content-type", b"")), endless=endless)
