"""Detects replies that repeat themselves while streaming.

A reply is cut if it has said nothing new for long and repeats several rounds of what it said. A text is new
as long as it brings words that did not follow each other in it yet: the next number, name or row is enough.
Numbers, signs and single letters never count as stale, since matrices, drawings and progress dots repeat by
nature. Repetition that varies is never cut: it is weighed once at the end, by compression, and noticed. The
initial cost of compression is deducted, since it would hide a loop in a short text, and the very end must add
little, since a passage may honestly come twice. Text and thinking each have a detector; tool arguments are
not read, as half an object is useless.
"""

import re
import zlib
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial

from festinger.clock import Clock
from festinger.proxy.errors import fail_open
from festinger.proxy.protocols.messages import ChatRequest, RequestKind
from festinger.proxy.protocols.replies import ReplyDelta, ReplyParser, int_or_none
from festinger.proxy.protocols.synthetic import build_cut_ending
from festinger.proxy.transport.streams import Ending, StreamFrame
from festinger.settings.tree import LoopSettings, StreamLoopSettings

WEIGHED = 2_000
LEAST = 250
FIRST_TIME = 80
"""Compressed bytes that are free before the length counts."""
END = 200

_LEVEL, _WINDOW_BITS = 6, -15


def is_highly_repetitive(text: str, *, ratio: float, end_ratio: float) -> bool:
    """Whether the end of a text compresses below these ratios, as a whole and at its very end."""
    data = _bytes(text[-WEIGHED:])
    if len(data) < LEAST:
        return False
    size = min(END, len(data) // 2)
    before, end = data[:-size], data[-size:]
    squeeze = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW_BITS, zdict=before)
    added = (len(squeeze.compress(end)) + len(squeeze.flush())) / size
    return compression_ratio(text[-WEIGHED:], free=FIRST_TIME) < ratio and added < end_ratio


def compression_ratio(text: str, *, free: int = 0) -> float:
    """Compressed size as a share of the length."""
    data = _bytes(text)
    return (len(zlib.compress(data, _LEVEL)) - free) / len(data)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


class StreamRule(StrEnum):
    STALE = "stale"
    """Nothing new for long."""
    RUN = "run"
    """One character repeated."""
    BLANK = "blank"
    DENSE = "dense"
    """The end compresses to almost nothing."""


class StreamSeverity(StrEnum):
    NOTICE = "notice"
    """Recorded, reported at the end, and counted toward the next turn's level."""
    CUT = "cut"
    """The reply ends here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFinding:
    rule: StreamRule
    severity: StreamSeverity
    count: int
    """Characters that said nothing new, if the rule counts them; otherwise 0."""
    at: int
    """Characters of the reply read by then."""


SEQUENCE = 12
"""Length of a word sequence: enough that rows of yes and no hardly ever repeat."""
KEPT_SEQUENCES = 8_192
"""Sequences after which the older half is forgotten."""
LEAST_STALE = 100
"""Minimum stale characters at the end of a cut text that are worth removing."""
LONGEST_WORD = 64
"""Longer runs of letters are encoded bytes."""

_WORD = re.compile(r"\w+")
_LETTER = re.compile(r"[^\W\d_]")


class NoveltyTracker:
    """Tracks how long one growing text has said nothing new."""

    def __init__(self) -> None:
        self._rest = ""
        self._latest: tuple[str, ...] = ()
        self._seen: set[int] = set()
        self._older: set[int] = set()
        self._read = 0
        self.stale = 0
        """Characters of words since the last news."""
        self.new_until = 0
        """Offset where the latest news ends."""

    def grow(self, piece: str) -> None:
        """Read on. The last word waits until it is complete."""
        text = self._rest + piece
        end = len(text)
        for found in _WORD.finditer(text):
            if found.end() == len(text) and len(found.group()) <= LONGEST_WORD:
                end = found.start()
                break
            self._add(found.group().casefold(), self._read + found.end())
        self._rest = text[end:]
        self._read += end

    def _add(self, word: str, end: int) -> None:
        self._latest = (*self._latest, word)[-SEQUENCE:]
        sequence = hash(self._latest)
        if sequence not in self._seen:
            self._seen.add(sequence)
            if sequence not in self._older:
                self.stale, self.new_until = 0, end
                self._forget()
                return
            self._forget()
        if 1 < len(word) <= LONGEST_WORD and _LETTER.search(word):
            self.stale += len(word) + 1

    def _forget(self) -> None:
        if len(self._seen) > KEPT_SEQUENCES:
            self._older, self._seen = self._seen, set()


def remove_repeated_end(text: str) -> str:
    """Remove the stale end of a cut text. Deterministic."""
    novelty = NoveltyTracker()
    # The last word may have been cut and then looks new.
    novelty.grow(text)
    if novelty.stale >= LEAST_STALE:
        return text[: novelty.new_until]
    bare = text.rstrip()
    return bare.rstrip(bare[-1]) + bare[-1] if bare else bare


READ = 4_000
"""Characters at both ends of a person's message that are searched for a request to repeat."""

_ASKED = re.compile(
    r"\b\d{1,6}\b[^.\n]{0,30}?\b(?:times|copies|rows|lines|repetitions|repeats)\b"
    r"|\brepeat\w*\b[^.\n]{0,60}?\b\d{1,6}\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class RepetitionAllowance:
    """What the request says about repetition in its reply."""

    structured: bool = False
    """A schema or a format is enforced."""
    query: str = ""
    """The person's message, examined only once a reply repeats itself, which is rare."""

    @cached_property
    def is_asked(self) -> bool:
        return asks_to_repeat(self.query)


def asks_to_repeat(message: str) -> bool:
    """Whether a message asks for something a number of times."""
    ends = message if len(message) <= 2 * READ else f"{message[:READ]}\n{message[-READ:]}"
    return _ASKED.search(ends) is not None


LOOK_EVERY = 64
KEPT_CHARS = 8_000
GOES_ROUND = 0.1
"""Compression ratio of several rounds. A passage that comes a second time costs over .2 of its length."""
END_RATIO = 0.35
OPENINGS = ("{", "[", "```json")
"""A reply that begins like this is read by a program, which cannot use half of it."""


class RepetitionDetector:
    """Reads one channel of one reply."""

    def __init__(self, settings: StreamLoopSettings, allowance: RepetitionAllowance) -> None:
        self._settings = settings
        self._allowance = allowance
        self._opening = ""
        self._pending = ""
        self._tail = ""
        self._blank = self._run = 0
        self._novelty = NoveltyTracker()
        self.chars = 0
        self.findings: tuple[StreamFinding, ...] = ()

    @property
    def cut(self) -> StreamFinding | None:
        return next((found for found in self.findings if found.severity is StreamSeverity.CUT), None)

    def feed(self, chunk: str) -> tuple[StreamFinding, ...]:
        """Read a chunk; return the findings so far, usually none."""
        self._pending += chunk
        while len(self._pending) >= LOOK_EVERY and not self.findings:
            piece, self._pending = self._pending[:LOOK_EVERY], self._pending[LOOK_EVERY:]
            self._grow(piece)
        return self.findings

    def finish(self) -> tuple[StreamFinding, ...]:
        """Findings at the end of the reply."""
        if self.findings:
            return ()
        if self._pending:
            self._grow(self._pending)
        self._novelty.grow(" ")
        self._look()
        if not self.findings and is_highly_repetitive(
            self._tail, ratio=self._settings.dense_ratio, end_ratio=END_RATIO
        ):
            self._find(StreamRule.DENSE, StreamSeverity.NOTICE, 0)
        return self.findings

    def _grow(self, piece: str) -> None:
        self.chars += len(piece)
        self._opening = self._opening or piece.lstrip()
        last = piece[-1]
        goes_on = self._tail.endswith(last)
        self._blank = _count_trailing(piece, piece.rstrip(), self._blank)
        self._run = _count_trailing(piece, piece.rstrip(last), self._run if goes_on else 0)
        self._tail = (self._tail + piece)[-KEPT_CHARS:]
        self._novelty.grow(piece)
        self._look()

    def _look(self) -> None:
        known = self._settings
        if self._blank >= known.blank_cut:
            self._find(StreamRule.BLANK, StreamSeverity.CUT, self._blank)
        elif self._run >= known.run_cut:
            self._find(StreamRule.RUN, StreamSeverity.CUT, self._run)
        elif self._novelty.stale >= known.stale_cut and self._repeats_itself():
            self._find(StreamRule.STALE, StreamSeverity.CUT, self._novelty.stale)

    def _repeats_itself(self) -> bool:
        """Whether the text since the last news repeats itself: a long passage may honestly come twice."""
        return compression_ratio(self._tail[-(self.chars - self._novelty.new_until) :]) < GOES_ROUND

    def _find(self, rule: StreamRule, severity: StreamSeverity, count: int) -> None:
        if rule is StreamRule.BLANK or not self._is_repetition_allowed(severity):
            self.findings = (*self.findings, StreamFinding(rule=rule, severity=severity, count=count, at=self.chars))

    def _is_repetition_allowed(self, severity: StreamSeverity) -> bool:
        if severity is StreamSeverity.CUT and self._opening.startswith(OPENINGS):
            return True
        return self._allowance.structured or self._allowance.is_asked


def _count_trailing(piece: str, bare: str, before: int) -> int:
    """Length of the trailing run of a text, when it was `before` ahead of this piece."""
    return len(piece) - len(bare) + (0 if bare else before)


class ReplyChannel(StrEnum):
    TEXT = "text"
    THINKING = "thinking"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelFinding:
    channel: ReplyChannel
    finding: StreamFinding


PART = "loop guard"


class ReplyMonitor:
    """Watches one response and ends it if it repeats itself; if that fails, the response goes on unwatched."""

    def __init__(self, request: ChatRequest, parser: ReplyParser, *, settings: LoopSettings, clock: Clock) -> None:
        self._request = request
        self._parser = parser
        self._clock = clock
        self._may_cut = settings.enabled
        user = request.newest_user_turn
        allowance = RepetitionAllowance(structured=request.is_structured, query=user.text if user else "")
        self._detectors = defaultdict[ReplyChannel, RepetitionDetector](
            partial(RepetitionDetector, settings.stream, allowance)
        )
        self._failed = False
        self._open_block: int | None = 0 if request.kind is RequestKind.RESPONSES else None
        """Open block, or next event number, of a stream that counts them."""
        self.cut: ChannelFinding | None = None
        """Why the response was cut."""

    def feed(self, frame: StreamFrame, delta: ReplyDelta) -> Ending | None:
        """Read what this frame added; return how to end the response, if it must end here."""
        found = None
        with fail_open(PART) as attempt:
            self._track_block(frame)
            found = self._find_cut(delta)
        self._failed = self._failed or bool(attempt.failed)
        return partial(self._end, found) if found is not None and self._may_cut else None

    def finish(self) -> tuple[ChannelFinding, ...]:
        """End of the response: return all findings."""
        if self._failed:
            return ()
        with fail_open(PART):
            for detector in self._detectors.values():
                detector.finish()
            return tuple(
                ChannelFinding(channel=channel, finding=finding)
                for channel, detector in self._detectors.items()
                for finding in detector.findings
            )
        return ()

    def _find_cut(self, delta: ReplyDelta) -> ChannelFinding | None:
        found = None
        for channel, text in ((ReplyChannel.TEXT, delta.text), (ReplyChannel.THINKING, delta.thinking)):
            if text and not self._failed and self._detectors[channel].feed(text):
                cut = self._detectors[channel].cut
                found = found or (ChannelFinding(channel=channel, finding=cut) if cut is not None else None)
        return found

    def _end(self, found: ChannelFinding) -> bytes:
        reply = self._parser.content()
        if reply.finish:
            return b""  # it ended by itself in the same frame
        self.cut = found
        return b"".join(
            build_cut_ending(
                self._request.kind,
                reply,
                at=self._clock(),
                open_block=self._open_block,
                with_usage=self._request.wants_usage,
            )
        )

    def _track_block(self, frame: StreamFrame) -> None:
        data = frame.data
        if not isinstance(data, dict):
            return
        if self._request.kind is RequestKind.RESPONSES:
            number = int_or_none(data.get("sequence_number"))
            self._open_block = self._open_block if number is None else number + 1
        elif data.get("type") == "content_block_start":
            self._open_block = int_or_none(data.get("index"))
        elif data.get("type") == "content_block_stop":
            self._open_block = None
