"""Derives an embedder's thresholds from labeled examples and shows their effect on those examples.

Every pair of statements passes the guards first, as in learning, because vectors decide only what the guards
let through. `same` and `check` come from statements, `subject` from names and `censor` from the meanings of
censors. A threshold with too few examples stays as it was and is reported. A person decides whether to keep the
new profile. Examples are bundled, read from JSON
Lines files, or derived from people's decisions.

Measures labeled pairs of texts and proposes the thresholds of a model, with their curve.

Deterministic. `same` is the smallest cosine at which hardly any different pair would be merged, `check` the
largest that still lets nearly every same pair be examined. When no cosine meets the target there is no
threshold, and vectors alone never confirm. The same two methods serve names of subjects and meanings of
censors. Pairs that a guard would stop anyway (another number, a negation) are marked by the caller and do not
count against `same`. Saving a profile is a person's decision.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from festinger.embedding.embedder import Embedder
from festinger.embedding.profiles import EmbedderProfile, EmbeddingPurpose, ThresholdName, ThresholdReading
from festinger.errors import BadInput
from festinger.judge.model import Relation
from festinger.judge.rules.guards import compare_readings
from festinger.judge.rules.parse import parse_statement

LEAST_PAIRS = 50
"""Per class; with fewer, one odd pair moves a threshold by more than the distance between thresholds."""

STEPS = 200
"""Points of the curve, from 0 to 1."""

KEPT_EVERY = 10
"""Every tenth point of the curve is stored with a profile: enough to see its shape."""

GRAIN = 10_000
"""Thresholds are whole ten-thousandths: machines do not agree on vectors any finer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationPair:
    """Two texts, and whether they say the same. `guarded`: something other than vectors keeps them apart."""

    a: str
    b: str
    same: bool
    guarded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPair:
    cosine: float
    same: bool
    guarded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationTargets:
    false_merges: float = 0.005
    """Share of the different pairs that may be at or above `same`."""
    kept: float = 0.95
    """Share of same pairs that must reach `check`, and of names of one subject that must reach `subject`."""
    mistaken: float = 0.05
    """Share of names of two subjects that may be at or above `subject`: what is said of one must not replace
    what was said of the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdQuality:
    """The effect of treating everything at or above `cosine` as the same."""

    cosine: float
    precision: float
    recall: float
    false_merges: float

    @property
    def f1(self) -> float:
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdProposal:
    same: float | None
    check: float
    auc: float
    curve: tuple[ThresholdQuality, ...]
    pairs: int


async def measure_pairs(embedder: Embedder, pairs: Sequence[CalibrationPair]) -> list[MeasuredPair]:
    """Return the cosine of every pair, from vectors made for comparing."""
    left = await embedder.embed([pair.a for pair in pairs], EmbeddingPurpose.COMPARE)
    right = await embedder.embed([pair.b for pair in pairs], EmbeddingPurpose.COMPARE)
    return [
        MeasuredPair(cosine=float(a @ b), same=pair.same, guarded=pair.guarded)
        for pair, a, b in zip(pairs, left, right, strict=True)
    ]


def propose_thresholds(measured: Sequence[MeasuredPair], bars: CalibrationTargets) -> ThresholdProposal:
    same = _cosines(measured, same=True)
    different = _cosines(measured, same=False)
    if min(len(same), len(different)) < LEAST_PAIRS:
        raise BadInput(
            f"{len(same)} same and {len(different)} different pairs are too few to calibrate.",
            hint=f"Give at least {LEAST_PAIRS} of each.",
        )
    unguarded = _cosines([pair for pair in measured if not pair.guarded], same=False)
    if len(unguarded) < LEAST_PAIRS:
        raise BadInput(
            f"Only {len(unguarded)} different pairs are parted by vectors alone; guards part the others.",
            hint=f"Give at least {LEAST_PAIRS} that differ in more than a number, a name or a negation.",
        )
    return ThresholdProposal(
        same=_find_same_threshold(same, unguarded, bars.false_merges),
        check=_find_check_threshold(same, bars.kept),
        auc=_auc(same, different),
        curve=tuple(compute_quality_at(same, different, cosine=step / STEPS) for step in range(STEPS + 1)),
        pairs=len(measured),
    )


def has_enough_pairs(measured: Sequence[MeasuredPair]) -> bool:
    """Whether there are enough pairs of both classes to derive a threshold."""
    same = sum(pair.same for pair in measured)
    return min(same, len(measured) - same) >= LEAST_PAIRS


def propose_subject_threshold(measured: Sequence[MeasuredPair], bars: CalibrationTargets) -> float | None:
    """Return the cosine from which two names are one subject; none if that would confuse too many."""
    same, different = _cosines(measured, same=True), _cosines(measured, same=False)
    found = _find_check_threshold(same, bars.kept)
    return found if compute_quality_at(same, different, cosine=found).false_merges <= bars.mistaken else None


def propose_censor_threshold(measured: Sequence[MeasuredPair], bars: CalibrationTargets) -> float | None:
    """Return the lowest cosine at which a censor spares what it does not mean; none if it matches nothing."""
    same, different = _cosines(measured, same=True), _cosines(measured, same=False)
    return _find_same_threshold(same, different, bars.false_merges)


def measure_guarded_quality(measured: Sequence[MeasuredPair], cosine: float | None) -> ThresholdQuality | None:
    """Return the quality of treating everything at or above `cosine` as the same, with guards applied; none
    without a cosine."""
    if cosine is None:
        return None
    # Whatever a guard separates is below every threshold.
    seen = [replace(pair, cosine=-2.0) if pair.guarded else pair for pair in measured]
    return compute_quality_at(_cosines(seen, same=True), _cosines(seen, same=False), cosine=cosine)


def compute_quality_at(same: NDArray[np.float64], different: NDArray[np.float64], *, cosine: float) -> ThresholdQuality:
    found = int((same >= cosine).sum())
    wrong = int((different >= cosine).sum())
    return ThresholdQuality(
        cosine=cosine,
        precision=found / (found + wrong) if found + wrong else 1.0,
        recall=found / len(same),
        false_merges=wrong / len(different),
    )


def apply_proposed_thresholds(
    profile: EmbedderProfile, proposal: ThresholdProposal, *, data: str, at: date, bars: CalibrationTargets
) -> EmbedderProfile:
    """Return `profile` with the proposed thresholds."""
    merges = f"at most {bars.false_merges:.1%} of the different pairs at or above"
    looked_at = f"at least {bars.kept:.0%} of the same pairs at or above"
    readings = {
        **profile.readings,
        ThresholdName.SAME: ThresholdReading(value=proposal.same, data=data, at=at, how=merges),
        ThresholdName.CHECK: ThresholdReading(value=proposal.check, data=data, at=at, how=looked_at),
    }
    kept = proposal.curve[::KEPT_EVERY]
    curve = tuple((at.cosine, at.precision, at.recall, at.false_merges) for at in kept)
    return replace(profile, readings=readings, curve=curve)


def _cosines(measured: Sequence[MeasuredPair], *, same: bool) -> NDArray[np.float64]:
    return np.sort(np.array([pair.cosine for pair in measured if pair.same is same], dtype=np.float64))


def _find_same_threshold(same: NDArray[np.float64], different: NDArray[np.float64], bar: float) -> float | None:
    """Return the smallest value that meets the target; none if no same pair reaches it."""
    allowed = int(len(different) * bar)
    if allowed >= len(different):
        return _at_or_below(float(same[0]))
    threshold = _just_above(float(different[len(different) - allowed - 1]))
    return threshold if threshold <= 1 and (same >= threshold).any() else None


def _find_check_threshold(same: NDArray[np.float64], bar: float) -> float:
    """Return the largest value that still meets the target."""
    dropped = int(len(same) * (1 - bar) + 1e-9)
    return _at_or_below(float(same[dropped]))


def _just_above(cosine: float) -> float:
    # Counted in whole steps and then compared: rounding the product alone may land on the cosine itself.
    step = math.floor(cosine * GRAIN)
    while step / GRAIN <= cosine:
        step += 1
    return step / GRAIN


def _at_or_below(cosine: float) -> float:
    step = math.ceil(cosine * GRAIN)
    while step / GRAIN > cosine:
        step -= 1
    return step / GRAIN


def _auc(same: NDArray[np.float64], different: NDArray[np.float64]) -> float:
    """Return the probability that a same pair scores above a different one; ties count half."""
    below = np.searchsorted(different, same, side="left")
    ties = np.searchsorted(different, same, side="right") - below
    return float((below + ties / 2).sum() / (len(same) * len(different)))


BUNDLED = "examples.jsonl"

_LINE_END = re.compile(r"\r?\n")
"""Not `splitlines`: JSON strings may contain other line separators unescaped."""


class PairLabel(StrEnum):
    """The known relation between two texts."""

    SAME = "same"
    UPDATE = "update"
    CONTRADICTS = "contradicts"
    REFINES = "refines"
    UNRELATED = "unrelated"
    DIFFERENT = "different"
    """Not the same; nothing else is known."""
    NEGATION = "negation"
    """The second denies the first."""
    SAME_SUBJECT = "same_subject"
    OTHER_SUBJECT = "other_subject"
    CENSORED = "censored"
    """The first text is a censor's meaning, the second a text that it must match."""
    ALLOWED = "allowed"


STATEMENTS = frozenset(PairLabel) - {
    PairLabel.SAME_SUBJECT,
    PairLabel.OTHER_SUBJECT,
    PairLabel.CENSORED,
    PairLabel.ALLOWED,
}
"""Labels for pairs of statements."""

SHAPE = '{"a": "…", "b": "…", "label": "same"}'


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationExample:
    a: str
    b: str
    label: PairLabel


class _ExampleLine(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    a: str
    b: str
    label: PairLabel


@cache
def load_bundled_examples() -> tuple[CalibrationExample, ...]:
    """Return the examples that ship with Festinger."""
    text = files("festinger.judge").joinpath(BUNDLED).read_text(encoding="utf-8")
    return tuple(parse_examples(text, source=BUNDLED))


def read_examples(file: Path) -> list[CalibrationExample]:
    """Read the examples of a file; raises `BadInput` naming the first invalid line."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"`{file}` cannot be read: {error}.") from error
    return parse_examples(text, source=str(file))


def parse_examples(text: str, *, source: str) -> list[CalibrationExample]:
    lines = enumerate(_LINE_END.split(text), 1)
    return [_parse_example(line, at=f"{source}:{number}") for number, line in lines if line.strip()]


def examples_from_decision(
    a: str, b: str, relation: Relation, *, subjects: Sequence[str | None] = ()
) -> list[CalibrationExample]:
    """Turn a person's decision into examples: how the statements relate, and that two names mean one subject.

    For unrelated statements nobody said whether they share a subject.
    """
    found = [CalibrationExample(a=a, b=b, label=PairLabel(relation.value))]
    one, other = subjects or (None, None)
    if one and other and one != other and relation is not Relation.UNRELATED:
        found.append(CalibrationExample(a=one, b=other, label=PairLabel.SAME_SUBJECT))
    return found


def _parse_example(line: str, *, at: str) -> CalibrationExample:
    try:
        read = _ExampleLine.model_validate_json(line)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        raise BadInput(f"{at} is no pair: {fault['msg']}.", hint=f"Each line is like {SHAPE}.") from error
    return CalibrationExample(a=read.a, b=read.b, label=read.label)


AT_ONCE = 200
"""Pairs measured between two progress reports."""

SUBJECTS = {PairLabel.SAME_SUBJECT, PairLabel.OTHER_SUBJECT}
CENSORS = {PairLabel.CENSORED, PairLabel.ALLOWED}
TOGETHER = {PairLabel.SAME, PairLabel.SAME_SUBJECT, PairLabel.CENSORED}
"""Labels of pairs that should reach their threshold."""

NO_VALUE = {
    ThresholdName.SAME: "no value keeps false merges low enough, so vectors alone never confirm",
    ThresholdName.SUBJECT: "no value tells names apart well enough, so only equal names are one subject",
    ThresholdName.CENSOR: "no value strikes what is meant and nothing else, so only patterns strike",
}

Report = Callable[[int], None]
"""Receives how many more pairs have been measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredExamples:
    """Examples with the similarities that a model's vectors give them."""

    statements: Sequence[MeasuredPair]
    subjects: Sequence[MeasuredPair]
    censors: Sequence[MeasuredPair]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdChange:
    """One threshold before and after, and the effect of both on the examples."""

    name: ThresholdName
    before: float | None
    after: float | None
    did: ThresholdQuality | None
    does: ThresholdQuality | None
    said: str = ""
    """Why there is no value; empty if there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationResult:
    """The thresholds derived from examples."""

    proposal: ThresholdProposal
    findings: tuple[ThresholdChange, ...]
    left: tuple[str, ...]
    """What was not measured, and why."""


async def measure_examples(
    embedder: Embedder, examples: Sequence[CalibrationExample], *, report: Report
) -> MeasuredExamples:
    """Measure examples with `compare` vectors."""
    return MeasuredExamples(
        statements=await _measure_pairs(embedder, _with_labels(examples, STATEMENTS), report),
        subjects=await _measure_pairs(embedder, _with_labels(examples, SUBJECTS), report),
        censors=await _measure_pairs(embedder, _with_labels(examples, CENSORS), report),
    )


def calibrate_thresholds(
    examined: MeasuredExamples, before: EmbedderProfile, *, bars: CalibrationTargets
) -> CalibrationResult:
    """Derive thresholds and compare them with those of `before`. Raises `BadInput` for too few statements."""
    proposal = propose_thresholds(examined.statements, bars)
    looked_at = [replace(pair, guarded=False) for pair in examined.statements]
    findings = [
        _threshold_change(ThresholdName.SAME, before, proposal.same, seen=examined.statements),
        _threshold_change(ThresholdName.CHECK, before, proposal.check, seen=looked_at),
    ]
    if has_enough_pairs(examined.subjects):
        found = propose_subject_threshold(examined.subjects, bars)
        findings.append(_threshold_change(ThresholdName.SUBJECT, before, found, seen=examined.subjects))
    if has_enough_pairs(examined.censors):
        found = propose_censor_threshold(examined.censors, bars)
        findings.append(_threshold_change(ThresholdName.CENSOR, before, found, seen=examined.censors))
    return CalibrationResult(proposal=proposal, findings=tuple(findings), left=tuple(_unmeasured_reasons(examined)))


def apply_calibration(
    profile: EmbedderProfile, found: CalibrationResult, *, data: str, at: date, bars: CalibrationTargets
) -> EmbedderProfile:
    """Return `profile` with the measured values replaced; the rest stays."""
    new = apply_proposed_thresholds(profile, found.proposal, data=data, at=at, bars=bars)
    how = {
        ThresholdName.SUBJECT: f"at least {bars.kept:.0%} of the names of one subject at or above, and at most "
        f"{bars.mistaken:.0%} of those of two",
        ThresholdName.CENSOR: f"at most {bars.false_merges:.1%} of what is not meant at or above",
    }
    more = {
        each.name: ThresholdReading(value=each.after, data=data, at=at, how=how[each.name])
        for each in found.findings
        if each.name in how
    }
    return replace(new, readings={**new.readings, **more})


def _threshold_change(
    name: ThresholdName, before: EmbedderProfile, after: float | None, *, seen: Sequence[MeasuredPair]
) -> ThresholdChange:
    old = before.threshold(name)
    return ThresholdChange(
        name=name,
        before=old,
        after=after,
        did=measure_guarded_quality(seen, old),
        does=measure_guarded_quality(seen, after),
        said=NO_VALUE[name] if after is None else "",
    )


def _unmeasured_reasons(examined: MeasuredExamples) -> Iterator[str]:
    needed = f"{LEAST_PAIRS} of each are needed"
    if not has_enough_pairs(examined.subjects):
        yield f"{ThresholdName.SUBJECT}: too few names of one subject and of two; {needed}."
    if not has_enough_pairs(examined.censors):
        yield f"{ThresholdName.CENSOR}: too few texts that a censor means and does not mean; {needed}."


def _with_labels(
    examples: Sequence[CalibrationExample], labels: set[PairLabel] | frozenset[PairLabel]
) -> list[CalibrationExample]:
    return [each for each in examples if each.label in labels]


async def _measure_pairs(
    embedder: Embedder, examples: Sequence[CalibrationExample], report: Report
) -> list[MeasuredPair]:
    found: list[MeasuredPair] = []
    for start in range(0, len(examples), AT_ONCE):
        pairs = [_pair(each) for each in examples[start : start + AT_ONCE]]
        found += await measure_pairs(embedder, pairs)
        report(len(pairs))
    return found


def _pair(example: CalibrationExample) -> CalibrationPair:
    is_statement = example.label in STATEMENTS
    guards = compare_readings(parse_statement(example.a), parse_statement(example.b)).guards if is_statement else ()
    return CalibrationPair(
        a=example.a,
        b=example.b,
        same=example.label in TOGETHER,
        guarded=example.label is PairLabel.NEGATION or bool(guards),
    )
