"""What does a listener get to hear of an answer while it streams past?

The tap reads a copy of the bytes and hands frames to one listener, then says how the answer ended. It never
holds a byte back, and a listener that fails is left behind while the stream goes on. A listener may ask for the
answer to end, which it then does after the frame that was heard last. Nobody listening means no tap at all.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol, Self

import structlog

from festinger.observability.metrics import DEGRADED
from festinger.proxy.edge import going_on
from festinger.proxy.ending import Ended, mark_in
from festinger.proxy.framing import Frame, JsonReader, Reader, reader_for
from festinger.proxy.guard import Visit
from festinger.proxy.upstream import UpstreamFailed

log = structlog.get_logger(room="proxy")

PART = "proxy tap"
STORED_SECONDS = 2.0
"""How long the last byte of a response waits for its capture to be on disk; a disk that hangs breaks no response."""

Stored = asyncio.Future[None]
"""Done once a capture is on disk."""

Ending = Callable[[], bytes]
"""The bytes that end an answer legally after all that was heard of it; none if it has ended by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The answer ends within a chunk: so many bytes of it still go out, and then these."""

    whole: int
    ending: bytes


class Listener(Protocol):
    def hear(self, frame: Frame) -> Ending | None:
        """One object of the answer; says how to end it here, if it must."""

    def ended(self, how: Ended, *, unreadable: int) -> Stored | None:
        """The answer is over; so many pieces of it could not be read. When it is stored, if it is."""


Listen = Callable[[Visit], Listener | None]
"""Who listens to the answer of this visit, if anybody."""


def nobody(visit: Visit) -> None:
    return None


class Tap:
    def __init__(self, listener: Listener, reader: Reader, *, endless: bool = True) -> None:
        self._listener = listener
        self._reader = reader
        self._streamed = not isinstance(reader, JsonReader)
        self._endless = endless
        self._fed = 0
        self._mark: Ended | None = None
        self._deaf = False
        self._stored: Stored | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the end mark of a stream was heard: a client may take the answer for whole from here on."""
        return self._streamed and self._mark is Ended.WHOLE

    async def settle(self) -> None:
        """Hand the answer on and wait until it is stored. Call it before the last byte goes out."""
        self.end()
        if self._stored is None or self._stored.done():
            return
        with going_on(PART):
            await asyncio.wait({self._stored}, timeout=STORED_SECONDS)
            if not self._stored.done():
                DEGRADED.labels("spool").inc()
                log.warning("a response did not wait for its capture to be on disk")

    def feed(self, chunk: bytes) -> Cut | None:
        """Hear a chunk before it goes out. Where the listener cuts the answer, what is to go out in its place."""
        cut = None
        if not self._deaf:
            with going_on(PART) as attempt:
                cut = self._hear(self._reader.feed(chunk))
            self._deaf = attempt.failed != ""
            self._fed += len(chunk)
        return cut

    def end(self, how: Ended | None = None) -> None:
        """`how` if it is known from outside; else what the answer itself said, and without a word, abrupt."""
        if self._deaf:
            return
        self._deaf = True  # nothing is heard after the end
        with going_on(PART):
            self._endless = False
            if self._mark is not Ended.CUT:
                self._hear(self._reader.finish())
            self._stored = self._listener.ended(
                how or self._mark or Ended.ABRUPT, unreadable=self._reader.unreadable
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            self.end()
        else:
            self.end(Ended.ABRUPT if issubclass(kind, UpstreamFailed) else Ended.CLIENT)

    def _hear(self, frames: list[Frame]) -> Cut | None:
        for frame in frames:
            self._mark = mark_in(frame, streamed=self._streamed) or self._mark
            ending = self._listener.hear(frame)
            if ending is not None and self._mark is None and self._endless and (last := ending()):
                self._mark = Ended.CUT
                return Cut(whole=frame.end - self._fed, ending=last)
        return None


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
    # An answer that has said how long it is cannot be given another end.
    endless = b"content-length" not in named
    return Tap(listener, reader_for(named.get(b"content-type", b"")), endless=endless)
