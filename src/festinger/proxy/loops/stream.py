"""Finds a reply that repeats itself while it is still streaming.

A reply is cut when it has said nothing new for long and has gone round several times in what it said. Repetition that goes
on to other numbers, names or rows is never cut: whether that was wanted is weighed once, at the end of the reply, and
noticed. One detector reads one channel.
"""

from festinger.proxy.loops.density import is_dense, weight
from festinger.proxy.loops.finding import Finding, Severity, StreamRule
from festinger.proxy.loops.novelty import Novelty
from festinger.proxy.loops.restraint import Allowance
from festinger.settings.tree import StreamLoopSettings

LOOK_EVERY = 64
KEPT = 8_000
GOES_ROUND = 0.1
"""Compressed share of several rounds. A passage that is said a second time costs over .2 of its length."""
END_RATIO = 0.35
OPENINGS = ("{", "[", "```json")
"""A reply that begins like this is read by a program, which cannot read half of it."""


class Detector:
    """Reads one channel of one reply."""

    def __init__(self, settings: StreamLoopSettings, allowance: Allowance) -> None:
        self._settings = settings
        self._allowance = allowance
        self._opening = ""
        self._pending = ""
        self._tail = ""
        self._blank = self._run = 0
        self._novelty = Novelty()
        self.chars = 0
        self.findings: tuple[Finding, ...] = ()

    @property
    def cut(self) -> Finding | None:
        return next((found for found in self.findings if found.severity is Severity.CUT), None)

    def feed(self, chunk: str) -> tuple[Finding, ...]:
        """What is found by this chunk, mostly nothing."""
        self._pending += chunk
        while len(self._pending) >= LOOK_EVERY and not self.findings:
            piece, self._pending = self._pending[:LOOK_EVERY], self._pending[LOOK_EVERY:]
            self._grow(piece)
        return self.findings

    def finish(self) -> tuple[Finding, ...]:
        """What the end of the reply adds."""
        if self.findings:
            return ()
        if self._pending:
            self._grow(self._pending)
        self._novelty.grow(" ")
        self._look()
        if not self.findings and is_dense(self._tail, ratio=self._settings.dense_ratio, end_ratio=END_RATIO):
            self._find(StreamRule.DENSE, Severity.NOTICE, 0)
        return self.findings

    def _grow(self, piece: str) -> None:
        self.chars += len(piece)
        self._opening = self._opening or piece.lstrip()
        last = piece[-1]
        goes_on = self._tail.endswith(last)
        self._blank = _at_end(piece, piece.rstrip(), self._blank)
        self._run = _at_end(piece, piece.rstrip(last), self._run if goes_on else 0)
        self._tail = (self._tail + piece)[-KEPT:]
        self._novelty.grow(piece)
        self._look()

    def _look(self) -> None:
        known = self._settings
        if self._blank >= known.blank_cut:
            self._find(StreamRule.BLANK, Severity.CUT, self._blank)
        elif self._run >= known.run_cut:
            self._find(StreamRule.RUN, Severity.CUT, self._run)
        elif self._novelty.stale >= known.stale_cut and self._goes_round():
            self._find(StreamRule.STALE, Severity.CUT, self._novelty.stale)

    def _goes_round(self) -> bool:
        """Whether what was said since the last news goes round in itself: a long passage may honestly be said twice."""
        return weight(self._tail[-(self.chars - self._novelty.new_until) :]) < GOES_ROUND

    def _find(self, rule: StreamRule, severity: Severity, count: int) -> None:
        if rule is StreamRule.BLANK or not self._is_meant(severity):
            self.findings = (
                *self.findings,
                Finding(rule=rule, severity=severity, count=count, at=self.chars),
            )

    def _is_meant(self, severity: Severity) -> bool:
        if severity is Severity.CUT and self._opening.startswith(OPENINGS):
            return True
        return self._allowance.structured or self._allowance.is_asked


def _at_end(piece: str, bare: str, before: int) -> int:
    """How many characters at the end of a text are of a kind, when so many were before this piece."""
    return len(piece) - len(bare) + (0 if bare else before)


def findings_in(
    text: str, settings: StreamLoopSettings, allowance: Allowance | None = None
) -> tuple[Finding, ...]:
    """What a detector finds in a whole text."""
    detector = Detector(settings, allowance or Allowance())
    detector.feed(text)
    detector.finish()
    return detector.findings
