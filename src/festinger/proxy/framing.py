"""How is a stream of bytes cut into the objects that it carries?

Readers take bytes in any cutting and give the same frames: lines of JSON, server-sent events, or one JSON
document. A piece that cannot be read is counted and passed over, because the client gets the bytes whatever
we make of them. A reader that would have to hold more than its limit stops reading for good.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

LINE_BYTES = 8 * 2**20
"""The longest line, and the most that a reader holds of a stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One object of a stream. `event` is the name that an SSE stream gave it."""

    data: Any
    event: str = ""
    end: int = field(default=0, compare=False)
    """How many bytes of the stream had come when it was complete."""


DONE = "[DONE]"
"""The one event of OpenAI streams whose data is not JSON."""


class Reader(Protocol):
    unreadable: int

    @property
    def overflowed(self) -> bool:
        """Whether there was too much to hold, so that nothing more is read."""

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames that these bytes complete."""

    def finish(self) -> list[Frame]:
        """The frames that the end of the stream completes."""


class _Lines:
    """Joins chunks and gives whole lines, without their ends."""

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
    """One JSON object a line."""

    def __init__(self, limit: int = LINE_BYTES) -> None:
        self._lines = _Lines(limit)
        self._read = 0
        self.unreadable = 0

    @property
    def overflowed(self) -> bool:
        return self._lines.overflowed

    def feed(self, chunk: bytes) -> list[Frame]:
        return self._frames(self._lines.feed(chunk))

    def finish(self) -> list[Frame]:
        return self._frames([self._lines.rest()])

    def _frames(self, lines: list[bytes]) -> list[Frame]:
        frames = []
        for line in lines:
            self._read += len(line) + 1
            if not line.strip():
                continue
            try:
                frames.append(Frame(data=orjson.loads(line), end=self._read))
            except orjson.JSONDecodeError:
                self.unreadable += 1
        return frames


class SseReader:
    """Server-sent events whose data is JSON, or `[DONE]`."""

    def __init__(self, limit: int = LINE_BYTES) -> None:
        self._lines = _Lines(limit)
        self._limit = limit
        self._event = ""
        self._data: list[bytes] = []
        self._size = 0
        self._read = 0
        self.unreadable = 0

    @property
    def overflowed(self) -> bool:
        return self._lines.overflowed or self._size > self._limit

    def feed(self, chunk: bytes) -> list[Frame]:
        frames: list[Frame] = []
        for line in self._lines.feed(chunk):
            self._read += len(line) + 1
            if self._size <= self._limit:
                self._take(line.removesuffix(b"\r"), frames)
        return frames

    def finish(self) -> list[Frame]:
        # An event counts once an empty line follows it; at the end of a stream that may be missing.
        return self.feed(b"\n\n")

    def _take(self, line: bytes, frames: list[Frame]) -> None:
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

    def _dispatch(self, frames: list[Frame]) -> None:
        data, event = b"\n".join(self._data), self._event
        self._data, self._event, self._size = [], "", 0
        if data.strip() == DONE.encode():
            frames.append(Frame(data=DONE, event=event, end=self._read))
        elif data:
            try:
                frames.append(Frame(data=orjson.loads(data), event=event, end=self._read))
            except orjson.JSONDecodeError:
                self.unreadable += 1


class JsonReader:
    """One JSON document, read when it is complete."""

    def __init__(self, limit: int = LINE_BYTES) -> None:
        self._limit = limit
        self._held: list[bytes] = []
        self._size = 0
        self.unreadable = 0
        self.overflowed = False

    def feed(self, chunk: bytes) -> list[Frame]:
        self._size += len(chunk)
        if self._size > self._limit:
            self.overflowed, self._held = True, []
        elif chunk:
            self._held.append(chunk)
        return []

    def finish(self) -> list[Frame]:
        whole, self._held = b"".join(self._held), []
        if not whole.strip():
            return []
        try:
            return [Frame(data=orjson.loads(whole))]
        except orjson.JSONDecodeError:
            self.unreadable += 1
            return []


def reader_for(content_type: bytes, *, limit: int = LINE_BYTES) -> Reader:
    """The reader that fits what the upstream says of its answer."""
    kind = content_type.split(b";", 1)[0].strip().lower()
    if kind == b"text/event-stream":
        return SseReader(limit)
    if kind == b"application/x-ndjson":
        return NdjsonReader(limit)
    return JsonReader(limit)
