"""What does a listener get to hear of an answer while it streams past?

The tap reads a copy of the bytes and hands frames to one listener, then says how the answer ended. It never
holds a byte back, and a listener that fails is left behind while the stream goes on. Nobody listening
means no tap at all.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, Self

from festinger.proxy.edge import going_on
from festinger.proxy.ending import Ended, mark_in
from festinger.proxy.framing import Frame, JsonReader, Reader, reader_for
from festinger.proxy.guard import Visit
from festinger.proxy.upstream import UpstreamFailed

PART = "proxy tap"


class Listener(Protocol):
    def hear(self, frame: Frame) -> None:
        """One object of the answer."""

    def ended(self, how: Ended, *, unreadable: int) -> None:
        """The answer is over; so many pieces of it could not be read."""


Listen = Callable[[Visit], Listener | None]
"""Who listens to the answer of this visit, if anybody."""


def nobody(visit: Visit) -> None:
    return None


class Tap:
    def __init__(self, listener: Listener, reader: Reader) -> None:
        self._listener = listener
        self._reader = reader
        self._streamed = not isinstance(reader, JsonReader)
        self._mark: Ended | None = None
        self._failed = False

    def feed(self, chunk: bytes) -> None:
        if not self._failed:
            with going_on(PART) as attempt:
                self._hear(self._reader.feed(chunk))
            self._failed = attempt.failed != ""

    def end(self, how: Ended | None = None) -> None:
        """`how` if it is known from outside; else what the answer itself said, and without a word, abrupt."""
        if not self._failed:
            with going_on(PART):
                self._hear(self._reader.finish())
                self._listener.ended(how or self._mark or Ended.ABRUPT, unreadable=self._reader.unreadable)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            self.end()
        else:
            self.end(Ended.ABRUPT if issubclass(kind, UpstreamFailed) else Ended.CLIENT)

    def _hear(self, frames: list[Frame]) -> None:
        for frame in frames:
            self._mark = mark_in(frame, streamed=self._streamed) or self._mark
            self._listener.hear(frame)


_NO_TAP = nullcontext(None)


def tapped(
    listener: Listener | None, headers: Iterable[tuple[bytes, bytes]]
) -> AbstractContextManager[Tap | None]:
    """A tap on an answer with these headers while it streams, if somebody listens and it can be read."""
    if listener is None:
        return _NO_TAP
    named = {name.lower(): value for name, value in headers}
    if named.get(b"content-encoding", b"identity") != b"identity":
        return _NO_TAP
    return Tap(listener, reader_for(named.get(b"content-type", b"")))
