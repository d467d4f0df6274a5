"""Derives an embedder's thresholds from labeled examples and shows their effect on those examples.

Every pair of statements passes the guards first, as in learning, because vectors decide only what the guards
let through. `same` and `check` come from statements, `subject` from names and `censor` from the meanings of
censors. A threshold with too few examples stays as it was and is reported. A person decides whether to keep the
new profile. Examples are bundled, read from JSON
Lines files, or derived from people's decisions.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from festinger.embedding.calibration import (
    LEAST_PAIRS,
    CalibrationPair,
    CalibrationTargets,
    MeasuredPair,
    Point,
    ThresholdProposal,
    apply_proposed_thresholds,
    has_enough_pairs,
    measure_pairs,
    measure_quality,
    propose_censor,
    propose_subject,
    propose_thresholds,
)
from festinger.embedding.embedder import Embedder
from festinger.embedding.profiles import EmbedderProfile, Threshold, ThresholdReading
from festinger.errors import BadInput
from festinger.judge.model import Relation
from festinger.judge.rules.guards import compare_readings
from festinger.judge.rules.parse import parse_statement

BUNDLED = "examples.jsonl"

_LINE_END = re.compile(r"\r?\n")
"""Not `splitlines`: JSON strings may contain other line separators unescaped."""


class Label(StrEnum):
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


STATEMENTS = frozenset(Label) - {Label.SAME_SUBJECT, Label.OTHER_SUBJECT, Label.CENSORED, Label.ALLOWED}
"""Labels for pairs of statements."""

SHAPE = '{"a": "…", "b": "…", "label": "same"}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    a: str
    b: str
    label: Label


class _ExampleLine(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    a: str
    b: str
    label: Label


@cache
def bundled_examples() -> tuple[Example, ...]:
    """Return the examples that ship with Festinger."""
    text = files("festinger.judge").joinpath(BUNDLED).read_text(encoding="utf-8")
    return tuple(parse_examples(text, source=BUNDLED))


def read_examples(file: Path) -> list[Example]:
    """Read the examples of a file; raises `BadInput` naming the first invalid line."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"`{file}` cannot be read: {error}.") from error
    return parse_examples(text, source=str(file))


def parse_examples(text: str, *, source: str) -> list[Example]:
    lines = enumerate(_LINE_END.split(text), 1)
    return [_example(line, at=f"{source}:{number}") for number, line in lines if line.strip()]


def examples_from_decision(a: str, b: str, relation: Relation, *, subjects: Sequence[str | None] = ()) -> list[Example]:
    """Turn a person's decision into examples: how the statements relate, and that two names mean one subject.

    For unrelated statements nobody said whether they share a subject.
    """
    found = [Example(a=a, b=b, label=Label(relation.value))]
    one, other = subjects or (None, None)
    if one and other and one != other and relation is not Relation.UNRELATED:
        found.append(Example(a=one, b=other, label=Label.SAME_SUBJECT))
    return found


def _example(line: str, *, at: str) -> Example:
    try:
        read = _ExampleLine.model_validate_json(line)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        raise BadInput(f"{at} is no pair: {fault['msg']}.", hint=f"Each line is like {SHAPE}.") from error
    return Example(a=read.a, b=read.b, label=read.label)


AT_ONCE = 200
"""Pairs measured between two progress reports."""

SUBJECTS = {Label.SAME_SUBJECT, Label.OTHER_SUBJECT}
CENSORS = {Label.CENSORED, Label.ALLOWED}
TOGETHER = {Label.SAME, Label.SAME_SUBJECT, Label.CENSORED}
"""Labels of pairs that should reach their threshold."""

NO_VALUE = {
    Threshold.SAME: "no value keeps false merges low enough, so vectors alone never confirm",
    Threshold.SUBJECT: "no value tells names apart well enough, so only equal names are one subject",
    Threshold.CENSOR: "no value strikes what is meant and nothing else, so only patterns strike",
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

    name: Threshold
    before: float | None
    after: float | None
    did: Point | None
    does: Point | None
    said: str = ""
    """Why there is no value; empty if there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The thresholds derived from examples."""

    proposal: ThresholdProposal
    findings: tuple[ThresholdChange, ...]
    left: tuple[str, ...]
    """What was not measured, and why."""


async def measure_examples(embedder: Embedder, examples: Sequence[Example], *, report: Report) -> MeasuredExamples:
    """Measure examples with `compare` vectors."""
    return MeasuredExamples(
        statements=await _measure_pairs(embedder, _with_labels(examples, STATEMENTS), report),
        subjects=await _measure_pairs(embedder, _with_labels(examples, SUBJECTS), report),
        censors=await _measure_pairs(embedder, _with_labels(examples, CENSORS), report),
    )


def calibrate_thresholds(
    examined: MeasuredExamples, before: EmbedderProfile, *, bars: CalibrationTargets
) -> Calibration:
    """Derive thresholds and compare them with those of `before`. Raises `BadInput` for too few statements."""
    proposal = propose_thresholds(examined.statements, bars)
    looked_at = [replace(pair, guarded=False) for pair in examined.statements]
    findings = [
        _threshold_change(Threshold.SAME, before, proposal.same, seen=examined.statements),
        _threshold_change(Threshold.CHECK, before, proposal.check, seen=looked_at),
    ]
    if has_enough_pairs(examined.subjects):
        found = propose_subject(examined.subjects, bars)
        findings.append(_threshold_change(Threshold.SUBJECT, before, found, seen=examined.subjects))
    if has_enough_pairs(examined.censors):
        found = propose_censor(examined.censors, bars)
        findings.append(_threshold_change(Threshold.CENSOR, before, found, seen=examined.censors))
    return Calibration(proposal=proposal, findings=tuple(findings), left=tuple(_unmeasured_reasons(examined)))


def apply_calibration(
    profile: EmbedderProfile, found: Calibration, *, data: str, at: date, bars: CalibrationTargets
) -> EmbedderProfile:
    """Return `profile` with the measured values replaced; the rest stays."""
    new = apply_proposed_thresholds(profile, found.proposal, data=data, at=at, bars=bars)
    how = {
        Threshold.SUBJECT: f"at least {bars.kept:.0%} of the names of one subject at or above, and at most "
        f"{bars.mistaken:.0%} of those of two",
        Threshold.CENSOR: f"at most {bars.false_merges:.1%} of what is not meant at or above",
    }
    more = {
        each.name: ThresholdReading(value=each.after, data=data, at=at, how=how[each.name])
        for each in found.findings
        if each.name in how
    }
    return replace(new, readings={**new.readings, **more})


def _threshold_change(
    name: Threshold, before: EmbedderProfile, after: float | None, *, seen: Sequence[MeasuredPair]
) -> ThresholdChange:
    old = before.threshold(name)
    return ThresholdChange(
        name=name,
        before=old,
        after=after,
        did=measure_quality(seen, old),
        does=measure_quality(seen, after),
        said=NO_VALUE[name] if after is None else "",
    )


def _unmeasured_reasons(examined: MeasuredExamples) -> Iterator[str]:
    needed = f"{LEAST_PAIRS} of each are needed"
    if not has_enough_pairs(examined.subjects):
        yield f"{Threshold.SUBJECT}: too few names of one subject and of two; {needed}."
    if not has_enough_pairs(examined.censors):
        yield f"{Threshold.CENSOR}: too few texts that a censor means and does not mean; {needed}."


def _with_labels(examples: Sequence[Example], labels: set[Label] | frozenset[Label]) -> list[Example]:
    return [each for each in examples if each.label in labels]


async def _measure_pairs(embedder: Embedder, examples: Sequence[Example], report: Report) -> list[MeasuredPair]:
    found: list[MeasuredPair] = []
    for start in range(0, len(examples), AT_ONCE):
        pairs = [_pair(each) for each in examples[start : start + AT_ONCE]]
        found += await measure_pairs(embedder, pairs)
        report(len(pairs))
    return found


def _pair(example: Example) -> CalibrationPair:
    is_statement = example.label in STATEMENTS
    guards = compare_readings(parse_statement(example.a), parse_statement(example.b)).guards if is_statement else ()
    return CalibrationPair(
        a=example.a,
        b=example.b,
        same=example.label in TOGETHER,
        guarded=example.label is Label.NEGATION or bool(guards),
    )
