"""Ends an answer that repeats itself while it streams.

Hears what each frame adds, apart for text and thinking. If the detector breaks, the answer goes on
unwatched. What follows from a loop for the requests after it is not decided here.
"""

from typing import Protocol

from festinger.clock import Clock
from festinger.events.event import NewEvent
from festinger.proxy.errors import fail_open
from festinger.proxy.loops.mitigation import is_structured
from festinger.proxy.loops.stream import ChannelDetectors, ChannelFinding, RepetitionAllowance, ReplyChannel
from festinger.proxy.protocols.messages import ChatRequest, RequestKind
from festinger.proxy.protocols.replies import ReplyDelta, ReplyParser, int_or_none
from festinger.proxy.protocols.synthetic import build_cut_ending
from festinger.proxy.transport.streams import Ending, StreamFrame
from festinger.settings.tree import LoopSettings

PART = "loop guard"


class ReplyMonitor:
    """Watches one answer."""

    def __init__(self, request: ChatRequest, ear: ReplyParser, *, settings: LoopSettings, clock: Clock) -> None:
        self._request = request
        self._ear = ear
        self._clock = clock
        self._may_cut = settings.enabled
        self._channels: ChannelDetectors | None = ChannelDetectors(settings.stream, build_allowance(request))
        self._place = _StreamPosition(request.kind)
        self.cut: ChannelFinding | None = None
        """What the answer was cut for."""

    def hear(self, frame: StreamFrame, delta: ReplyDelta) -> Ending | None:
        """What this frame added; says how to end the answer, if it must end here."""
        found = None
        with fail_open(PART) as attempt:
            self._place.pass_by(frame)
            found = self._found(delta)
        if attempt.failed:
            self._channels = None
        return self._ending(found) if found is not None and self._may_cut else None

    def found(self) -> tuple[ChannelFinding, ...]:
        """The answer is over: everything that was found in it."""
        channels, self._channels = self._channels, None
        with fail_open(PART):
            return channels.finish() if channels else ()
        return ()

    def _found(self, delta: ReplyDelta) -> ChannelFinding | None:
        if self._channels is None:
            return None
        pieces = ((ReplyChannel.TEXT, delta.text), (ReplyChannel.THINKING, delta.thinking))
        heard = [self._channels.hear(channel, text) for channel, text in pieces if text]
        return next((found for found in heard if found is not None), None)

    def _ending(self, found: ChannelFinding) -> Ending:
        def ending() -> bytes:
            heard = self._ear.heard()
            if heard.finish:
                return b""  # it came to its own end in the same breath
            self.cut = found
            return b"".join(
                build_cut_ending(
                    self._request.kind,
                    heard,
                    at=self._clock(),
                    open_block=self._place.open,
                    with_usage=self._request.wants_usage,
                )
            )

        return ending


class ReplyWatcher(Protocol):
    """Wants an answer to be watched."""

    def overhear(self, ear: ReplyParser) -> ReplyMonitor:
        """Somebody who watches the answer that this ear hears."""

    def over(self, overheard: ReplyMonitor, text: str) -> tuple[NewEvent, ...]:
        """The answer is over, and this is what it said. What there is to tell of it."""


class _StreamPosition:
    """Where an answer stands that counts its blocks or its events."""

    def __init__(self, kind: RequestKind) -> None:
        self._kind = kind
        self.open: int | None = 0 if kind is RequestKind.RESPONSES else None

    def pass_by(self, frame: StreamFrame) -> None:
        data = frame.data
        if not isinstance(data, dict):
            return
        if self._kind is RequestKind.RESPONSES:
            number = int_or_none(data.get("sequence_number"))
            self.open = self.open if number is None else number + 1
        elif data.get("type") == "content_block_start":
            self.open = int_or_none(data.get("index"))
        elif data.get("type") == "content_block_stop":
            self.open = None


def build_allowance(request: ChatRequest) -> RepetitionAllowance:
    """What the request itself says about repetition in its reply."""
    user = request.newest_user
    return RepetitionAllowance(structured=is_structured(request), wish=user.text if user else "")
