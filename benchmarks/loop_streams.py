"""Counts looping texts that are detected as they stream, and false alarms on ordinary ones.

Texts are fed to the detector as shipped, sixteen characters at a time. The plain baselines see the same
texts.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from benchmarks.loop_baselines import exact_period, zlib_ratio
from benchmarks.suite import PRODUCT
from benchmarks.tally import MetricTally, TallyItem, counted
from festinger.proxy.loops.stream import RepetitionAllowance, RepetitionDetector, StreamFinding, StreamSeverity
from festinger.settings.tree import StreamLoopSettings

CHUNK = 16
SHOWS = 3
"""A loop shows at the third repetition."""

EXACT_PERIOD, ZLIB_TAIL = "exact_period", "zlib_tail"

NOTICES, CUTS = "loops.false_alarms.notice", "loops.false_alarms.cut"

_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, kw_only=True)
class LoopStreamText:
    """A text; `source` says who made it loop, and is empty for one that does not."""

    id: str
    text: str
    source: str = ""
    phrase: str = ""
    """What it repeats, where known."""

    @cached_property
    def shows_at(self) -> int | None:
        """After how many characters the phrase was said three times, numbers aside; `None` if never."""
        if not self.phrase:
            return None
        pattern = _DIGITS.sub(lambda _: "\0", re.escape(self.phrase)).replace("\0", r"\d+")
        ends = [found.end() for found in re.finditer(pattern, self.text)]
        return ends[SHOWS - 1] if len(ends) >= SHOWS else None


def phrase_of(repetition: Mapping[str, Any] | None) -> str:
    """The repeated phrase, joined from a tokenizer's pieces."""
    pieces = (repetition or {}).get("repeated_phrase", ())
    return "".join(pieces).replace("▁", " ").replace("<0x0A>", "\n")


Found = Mapping[str, tuple[StreamFinding, ...]]


def found_in(texts: Sequence[LoopStreamText], settings: StreamLoopSettings) -> Found:
    """What the product finds in each text, by its id."""
    return {text.id: shipped(text.text, settings) for text in texts}


def shipped(text: str, settings: StreamLoopSettings) -> tuple[StreamFinding, ...]:
    """What the product finds in a streaming text."""
    detector = RepetitionDetector(settings, RepetitionAllowance())
    for piece in cut(text, CHUNK):
        detector.feed(piece)
        if detector.cut:
            return detector.findings
    detector.finish()
    return detector.findings


def cut(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


def of_the_product(
    looping: Sequence[LoopStreamText], ordinary: Sequence[LoopStreamText], found: Found
) -> list[MetricTally]:
    """Recall by source and false alarms, of notices and of cuts."""
    return [
        *_recalls(PRODUCT, looping, lambda text: bool(found[text.id]), _reasons(found)),
        noticed(NOTICES, ordinary, found),
        _alarms(PRODUCT, CUTS, ordinary, lambda text: _has_cut(found[text.id]), _reasons(found)),
    ]


def noticed(metric: str, ordinary: Sequence[LoopStreamText], found: Found) -> MetricTally:
    """False alarms of the product on texts of any kind."""
    return _alarms(PRODUCT, metric, ordinary, lambda text: bool(found[text.id]), _reasons(found))


def _reasons(found: Found) -> dict[str, str]:
    return {
        name: "; ".join(f"{one.rule} {one.severity} at {one.at}" for one in findings)
        for name, findings in found.items()
    }


def of_exact_period(looping: Sequence[LoopStreamText], ordinary: Sequence[LoopStreamText]) -> list[MetricTally]:
    def finds(text: LoopStreamText) -> bool:
        return exact_period(text.text) is not None

    return [*_recalls(EXACT_PERIOD, looping, finds, {}), _alarms(EXACT_PERIOD, NOTICES, ordinary, finds, {})]


def of_zlib_tail(
    looping: Sequence[LoopStreamText], ordinary: Sequence[LoopStreamText], limit: float
) -> list[MetricTally]:
    def finds(text: LoopStreamText) -> bool:
        return zlib_ratio(text.text) < limit

    return [*_recalls(ZLIB_TAIL, looping, finds, {}), _alarms(ZLIB_TAIL, NOTICES, ordinary, finds, {})]


def _recalls(
    system: str, looping: Sequence[LoopStreamText], finds: Callable[[LoopStreamText], bool], told: Mapping[str, str]
) -> list[MetricTally]:
    """The share found, of all texts and of those that repeat their phrase three times at all."""
    items = {text.id: counted(text.id, finds(text), told=_told(text, told)) for text in looping}
    sources = dict.fromkeys(text.source for text in looping)
    tallies = [
        MetricTally(
            metric=f"loops.{source}.recall",
            system=system,
            items=[items[text.id] for text in looping if text.source == source],
        )
        for source in sources
    ]
    shown = [items[text.id] for text in looping if text.shows_at is not None]
    return [*tallies, MetricTally(metric="loops.synthetic.recall_shown", system=system, items=shown)]


def _alarms(
    system: str,
    metric: str,
    ordinary: Sequence[LoopStreamText],
    finds: Callable[[LoopStreamText], bool],
    told: Mapping[str, str],
) -> MetricTally:
    """The share of ordinary texts taken for a loop; an item counts if it is wrong."""
    items = [alarm(text.id, finds(text), _told(text, told)) for text in ordinary]
    return MetricTally(metric=metric, system=system, items=items)


def alarm(id: str, raised: bool, told: Mapping[str, str]) -> TallyItem:  # noqa: A002
    return TallyItem(id=id, part=float(raised), right=not raised, told=told)


def _told(text: LoopStreamText, told: Mapping[str, str]) -> dict[str, str]:
    return {"text": text.text, "found": told.get(text.id, "")}


def _has_cut(findings: Sequence[StreamFinding]) -> bool:
    return any(found.severity is StreamSeverity.CUT for found in findings)
