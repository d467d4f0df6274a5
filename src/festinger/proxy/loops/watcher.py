"""Ends a response that repeats itself while streaming.

If the detector fails, the response goes on unwatched.
"""

from festinger.clock import Clock
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
    """Watches one response."""

    def __init__(self, request: ChatRequest, ear: ReplyParser, *, settings: LoopSettings, clock: Clock) -> None:
        self._request = request
        self._ear = ear
        self._clock = clock
        self._may_cut = settings.enabled
        self._channels: ChannelDetectors | None = ChannelDetectors(settings.stream, build_allowance(request))
        self._place = _StreamPosition(request.kind)
        self.cut: ChannelFinding | None = None
        """Why the response was cut."""

    def hear(self, frame: StreamFrame, delta: ReplyDelta) -> Ending | None:
        """Read what this frame added; return how to end the response, if it must end here."""
        found = None
        with fail_open(PART) as attempt:
            self._place.pass_by(frame)
            found = self._found(delta)
        if attempt.failed:
            self._channels = None
        return self._ending(found) if found is not None and self._may_cut else None

    def found(self) -> tuple[ChannelFinding, ...]:
        """End of the response: return all findings."""
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
                return b""  # it ended by itself in the same frame
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


class _StreamPosition:
    """Open block or next event number of a stream that counts them."""

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
    """What the request says about repetition in its reply."""
    user = request.newest_user
    return RepetitionAllowance(structured=is_structured(request), query=user.text if user else "")
