"""Does a reply repeat itself while it is still streaming?

The text comes in chunks of any size and is looked at after every 64 characters of it, so what is found does not
depend on how it was cut. Cheap rules run at each look; weighing the text by compression runs at every fourth,
and counting word sequences only where the weight gives a reason. One detector reads one channel: text,
thinking and tool arguments repeat apart from each other.
"""

from collections.abc import Iterable, Iterator

from festinger.proxy.loops.counting import Blotter, counts_on
from festinger.proxy.loops.density import WEIGHED, Scales, adds_little, often_said, ratio
from festinger.proxy.loops.finding import Finding, Severity, StreamRule
from festinger.proxy.loops.period import Repetition, Tail
from festinger.proxy.loops.restraint import DATA_MARKS, FENCES, Allowance, is_encoded, permitted
from festinger.proxy.loops.sentences import Latest, Sentences
from festinger.proxy.loops.shape import LONGEST_LINE, TABLE_MARKS, Shapes
from festinger.settings.tree import StreamLoopSettings

LOOK_EVERY = 64
WEIGH_EVERY = 4
SUSPICIOUS = 0.33
"""Text that compresses worse than this has no 60 % of its word sequences three times: measured on ordinary replies."""

Suspicion = tuple[StreamRule, Severity, int, int]
"""A rule that is met, how severely, how often something repeats, and how many characters that fills."""


class Detector:
    """Reads one channel of one reply."""

    def __init__(self, settings: StreamLoopSettings, allowance: Allowance) -> None:
        self._settings = settings
        self._allowance = allowance
        self._pending = ""
        self._looks = 0
        self._is_due = False
        self._blank = 0
        self._line = ""
        self._fenced = False
        self._in_data = False
        self._in_table = False
        self._raw = Tail(least_count=settings.period_notice, least_chars=settings.period_notice_chars)
        self._blotted = Tail(least_count=settings.counter_notice, least_chars=settings.counter_notice_chars)
        self._blotter = Blotter()
        self._scales = Scales()
        self._shapes = Shapes()
        self._sentences = Sentences()
        self._few = Latest(settings.sentences_notice)
        self._many = Latest(settings.sentences_cut)
        self.chars = 0
        self.findings: tuple[Finding, ...] = ()

    @property
    def cut(self) -> Finding | None:
        return next((found for found in self.findings if found.severity is Severity.CUT), None)

    def feed(self, chunk: str) -> tuple[Finding, ...]:
        """What is found by this chunk, mostly nothing."""
        if self.cut:
            return ()
        before = len(self.findings)
        self._weigh_what_is_due()
        text = self._pending + chunk
        read = 0
        while len(text) - read >= LOOK_EVERY and not self.cut:
            self._weigh_what_is_due()
            self._grow(text[read : read + LOOK_EVERY])
            self._look()
            read += LOOK_EVERY
        self._pending = text[read:]
        return self.findings[before:]

    def finish(self) -> tuple[Finding, ...]:
        """What the end of the reply adds."""
        if self.cut:
            return ()
        before = len(self.findings)
        self._weigh_what_is_due()
        self._grow(self._pending)
        self._pending = ""
        self._look()
        self._weigh()
        return self.findings[before:]

    def _weigh_what_is_due(self) -> None:
        """Weighing waits for the next chunk: no chunk pays for a look and the scales at once."""
        if self._is_due:
            self._weigh()

    def _weigh(self) -> None:
        self._is_due = False
        if not self.findings:
            self._judge(self._dense())

    def _grow(self, piece: str) -> None:
        self._looks += 1
        self.chars += len(piece)
        bare = piece.rstrip()
        self._blank = len(piece) - len(bare) + (0 if bare else self._blank)
        self._raw.grow(piece)
        self._blotted.grow(self._blotter.grow(piece))
        self._scales.grow(piece)
        self._grow_lines(piece)
        for sentence in self._sentences.grow(piece):
            self._few.add(sentence)
            self._many.add(sentence)

    def _grow_lines(self, piece: str) -> None:
        *ended, rest = (self._line + piece).split("\n")
        for line in ended:
            if line.lstrip().startswith(FENCES):
                self._fenced = not self._fenced
            self._shapes.add(line)
        self._line = rest[:LONGEST_LINE]
        latest = rest.lstrip() or (ended[-1].lstrip() if ended else "")
        if latest:
            self._in_data = latest.startswith(DATA_MARKS)
            self._in_table = latest.startswith(TABLE_MARKS)

    def _look(self) -> None:
        self._judge(self._suspicions())
        self._is_due = self._looks % WEIGH_EVERY == 0

    def _judge(self, suspicions: Iterable[Suspicion]) -> None:
        for rule, severity, count, chars in suspicions:
            allowed = permitted(
                rule,
                severity,
                count=count,
                in_data=self._fenced or self._in_data,
                allowance=self._allowance,
            )
            if allowed and not is_encoded(self._raw.text, chars):
                self._record(rule, allowed, count)

    def _record(self, rule: StreamRule, severity: Severity, count: int) -> None:
        """Once a rule has noticed, only a cut says more."""
        if severity is Severity.CUT or all(found.rule is not rule for found in self.findings):
            found = Finding(rule=rule, severity=severity, count=count, at=self.chars)
            self.findings = (*self.findings, found)

    def _suspicions(self) -> Iterator[Suspicion]:
        if self._blank >= self._settings.blank_notice:
            is_cut = self._blank >= self._settings.blank_cut
            yield StreamRule.BLANK, _severity(cut=is_cut), self._blank, self._blank
            return
        yield from self._periodic()
        yield from self._counting()
        yield from self._few_sentences()
        yield from self._same_shapes()

    def _periodic(self) -> Iterator[Suspicion]:
        found = self._raw.repetition
        if found.chars and not self._raw.block.isspace():
            is_cut = _reaches(found, self._settings.period_cut, self._settings.period_cut_chars)
            yield StreamRule.PERIOD, _severity(cut=is_cut), found.count, found.chars

    def _counting(self) -> Iterator[Suspicion]:
        found = self._blotted.repetition
        if not found.chars or self._raw.repetition.chars or self._in_table:
            return
        block = self._blotted.block
        if not block.isspace():
            is_cut = _reaches(found, self._settings.counter_cut, self._settings.counter_cut_chars)
            steady = is_cut and counts_on(self._raw.text, block)
            yield StreamRule.COUNTER, _severity(cut=steady), found.count, found.chars

    def _few_sentences(self) -> Iterator[Suspicion]:
        few, many = self._few.distinct, self._many.distinct
        most = self._settings.sentences_distinct
        if many is not None and many <= most:
            yield StreamRule.SENTENCES, Severity.CUT, self._settings.sentences_cut // many, 0
        elif few is not None and few <= most:
            yield StreamRule.SENTENCES, Severity.NOTICE, self._settings.sentences_notice // few, 0

    def _same_shapes(self) -> Iterator[Suspicion]:
        known = self._settings
        for run in self._shapes.runs:
            lines, chars = run.all_lines, run.all_chars
            if run.count < known.shape_notice or lines < known.shape_notice_lines:
                continue
            if chars >= known.shape_notice_chars:
                is_long = lines >= known.shape_cut_lines and chars >= known.shape_cut_chars
                yield (
                    StreamRule.SHAPE,
                    _severity(cut=is_long and run.count >= known.shape_cut),
                    run.count,
                    chars,
                )

    def _dense(self) -> Iterator[Suspicion]:
        data = self._scales.data
        weight = ratio(data)
        if weight < self._settings.dense_ratio and adds_little(data):
            yield StreamRule.DENSE, Severity.NOTICE, 0, 0
        elif weight < SUSPICIOUS and often_said(self._raw.text[-WEIGHED:]) >= self._settings.ngram_share:
            yield StreamRule.NGRAM, Severity.NOTICE, 0, 0


def _severity(*, cut: bool) -> Severity:
    return Severity.CUT if cut else Severity.NOTICE


def _reaches(found: Repetition, count: int, chars: int) -> bool:
    return found.count >= count and found.chars >= chars


def findings_in(
    text: str, settings: StreamLoopSettings, allowance: Allowance | None = None
) -> tuple[Finding, ...]:
    """What a detector finds in a whole text."""
    detector = Detector(settings, allowance or Allowance())
    detector.feed(text)
    detector.finish()
    return detector.findings
