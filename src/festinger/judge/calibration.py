"""Which thresholds follow from examples, and what would they have done to them?

Every pair of statements is held against the guards first, as in learning, because vectors decide only what these let
pass. `same` and `check` come from statements, `subject` from names, `censor` from what censors mean, `opposition` from
statements and their negations. What there are too few examples of is not measured, stays as it was, and is said.
Keeping the new profile is a person's decision, asked for at the door.

Of which pairs of texts is it known how they stand to each other?

Examples teach `calibration` where the thresholds of an embedder lie. Some come with Festinger, others from a file, one
JSON object a line, and from what people decided. A label is a relation between two statements; two names may be of
one subject or of two; what a censor means may be held against a text that it must strike or let pass.
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
    Bars,
    Measured,
    Pair,
    Point,
    Proposal,
    enough,
    measure,
    profile_with,
    propose,
    propose_censor,
    propose_subject,
    quality,
)
from festinger.embedding.embedder import Embedder
from festinger.embedding.opposition import (
    Direction,
    Opposed,
    learn_direction,
    measure_opposition,
    profile_with_direction,
    teaches_enough,
)
from festinger.embedding.profiles import Profile, Reading, Threshold
from festinger.errors import BadInput
from festinger.judge.model import Guard, Relation
from festinger.judge.rules.guards import compare
from festinger.judge.rules.parse import read

BUNDLED = "examples.jsonl"

_LINE_END = re.compile(r"\r?\n")
"""Not `splitlines`: JSON may hold other ends of lines as they are."""


class Label(StrEnum):
    """What is known of two texts."""

    SAME = "same"
    UPDATE = "update"
    CONTRADICTS = "contradicts"
    REFINES = "refines"
    UNRELATED = "unrelated"
    DIFFERENT = "different"
    """Not the same, whatever else."""
    NEGATION = "negation"
    """The second denies the first."""
    SAME_SUBJECT = "same_subject"
    OTHER_SUBJECT = "other_subject"
    CENSORED = "censored"
    """The first is what a censor means, and the second a text that it must strike."""
    ALLOWED = "allowed"


STATEMENTS = frozenset(Label) - {
    Label.SAME_SUBJECT,
    Label.OTHER_SUBJECT,
    Label.CENSORED,
    Label.ALLOWED,
}
"""Labels of pairs of statements."""

SHAPE = '{"a": "…", "b": "…", "label": "same"}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    a: str
    b: str
    label: Label


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    a: str
    b: str
    label: Label


@cache
def bundled_examples() -> tuple[Example, ...]:
    """Those that come with Festinger."""
    text = files("festinger.judge").joinpath(BUNDLED).read_text(encoding="utf-8")
    return tuple(examples_in(text, source=BUNDLED))


def read_examples(file: Path) -> list[Example]:
    """The examples of a file; raises `BadInput`, which names the first line that is none."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"`{file}` cannot be read: {error}.") from error
    return examples_in(text, source=str(file))


def examples_in(text: str, *, source: str) -> list[Example]:
    lines = enumerate(_LINE_END.split(text), 1)
    return [_example(line, at=f"{source}:{number}") for number, line in lines if line.strip()]


def decided(a: str, b: str, relation: Relation, *, subjects: Sequence[str | None] = ()) -> list[Example]:
    """What a person's word on two statements teaches: how they stand, and that two names are of one subject.

    Of statements that have nothing to do with each other nobody said whether they are about the same.
    """
    found = [Example(a=a, b=b, label=Label(relation.value))]
    one, other = subjects or (None, None)
    if one and other and one != other and relation is not Relation.UNRELATED:
        found.append(Example(a=one, b=other, label=Label.SAME_SUBJECT))
    return found


def _example(line: str, *, at: str) -> Example:
    try:
        read = _Line.model_validate_json(line)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        raise BadInput(f"{at} is no pair: {fault['msg']}.", hint=f"Each line is like {SHAPE}.") from error
    return Example(a=read.a, b=read.b, label=read.label)


AT_ONCE = 200
"""Pairs that are measured between two reports of how far it is."""

SUBJECTS = {Label.SAME_SUBJECT, Label.OTHER_SUBJECT}
CENSORS = {Label.CENSORED, Label.ALLOWED}
TOGETHER = {Label.SAME, Label.SAME_SUBJECT, Label.CENSORED}
"""Labels of pairs that should lie at their threshold or above."""

NO_VALUE = {
    Threshold.SAME: "no value keeps false merges low enough, so vectors alone never confirm",
    Threshold.SUBJECT: "no value tells names apart well enough, so only equal names are one subject",
    Threshold.CENSOR: "no value strikes what is meant and nothing else, so only patterns strike",
}

Report = Callable[[int], None]
"""Told how many more pairs are measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """Examples as the vectors of a model see them."""

    statements: Sequence[Measured]
    subjects: Sequence[Measured]
    censors: Sequence[Measured]
    opposed: Opposed | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One threshold before and after, and what both do to the examples."""

    name: Threshold
    before: float | None
    after: float | None
    did: Point | None
    does: Point | None
    said: str = ""
    """Why there is no value; empty where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What follows from examples."""

    proposal: Proposal
    findings: tuple[Finding, ...]
    direction: Direction | None
    left: tuple[str, ...]
    """What was not measured, and why."""


async def examine(embedder: Embedder, examples: Sequence[Example], *, report: Report) -> Examined:
    """Measure examples with vectors that are made for comparing."""
    return Examined(
        statements=await _measured(embedder, _of(examples, STATEMENTS), report),
        subjects=await _measured(embedder, _of(examples, SUBJECTS), report),
        censors=await _measured(embedder, _of(examples, CENSORS), report),
        opposed=await _opposed(embedder, examples),
    )


def calibrated(examined: Examined, before: Profile, *, bars: Bars) -> Calibration:
    """The thresholds that follow, held against those of `before`. Raises `BadInput` for too few statements."""
    proposal = propose(examined.statements, bars)
    looked_at = [replace(pair, guarded=False) for pair in examined.statements]
    findings = [
        _finding(Threshold.SAME, before, proposal.same, seen=examined.statements),
        _finding(Threshold.CHECK, before, proposal.check, seen=looked_at),
    ]
    if enough(examined.subjects):
        found = propose_subject(examined.subjects, bars)
        findings.append(_finding(Threshold.SUBJECT, before, found, seen=examined.subjects))
    if enough(examined.censors):
        found = propose_censor(examined.censors, bars)
        findings.append(_finding(Threshold.CENSOR, before, found, seen=examined.censors))
    opposed = examined.opposed
    direction = learn_direction(opposed) if opposed is not None and teaches_enough(opposed) else None
    return Calibration(
        proposal=proposal,
        findings=tuple(findings),
        direction=direction,
        left=tuple(_left(examined, direction)),
    )


def profile_of_calibration(
    profile: Profile, found: Calibration, *, data: str, at: date, bars: Bars
) -> Profile:
    """`profile` with what was measured in place of what it had; the rest stays."""
    new = profile_with(profile, found.proposal, data=data, at=at, bars=bars)
    how = {
        Threshold.SUBJECT: f"at least {bars.kept:.0%} of the names of one subject at or above, and at most "
        f"{bars.mistaken:.0%} of those of two",
        Threshold.CENSOR: f"at most {bars.false_merges:.1%} of what is not meant at or above",
    }
    more = {
        each.name: Reading(value=each.after, data=data, at=at, how=how[each.name])
        for each in found.findings
        if each.name in how
    }
    new = replace(new, readings={**new.readings, **more})
    return new if found.direction is None else profile_with_direction(new, found.direction, data=data, at=at)


def _finding(name: Threshold, before: Profile, after: float | None, *, seen: Sequence[Measured]) -> Finding:
    old = before.threshold(name)
    return Finding(
        name=name,
        before=old,
        after=after,
        did=quality(seen, old),
        does=quality(seen, after),
        said=NO_VALUE[name] if after is None else "",
    )


def _left(examined: Examined, direction: Direction | None) -> Iterator[str]:
    needed = f"{LEAST_PAIRS} of each are needed"
    if not enough(examined.subjects):
        yield f"{Threshold.SUBJECT}: too few names of one subject and of two; {needed}."
    if not enough(examined.censors):
        yield f"{Threshold.CENSOR}: too few texts that a censor means and does not mean; {needed}."
    if direction is None:
        yield f"{Threshold.OPPOSITION}: too few negations and other pairs that are near; {needed}."


def _of(examples: Sequence[Example], labels: set[Label] | frozenset[Label]) -> list[Example]:
    return [each for each in examples if each.label in labels]


async def _measured(embedder: Embedder, examples: Sequence[Example], report: Report) -> list[Measured]:
    found: list[Measured] = []
    for start in range(0, len(examples), AT_ONCE):
        pairs = [_pair(each) for each in examples[start : start + AT_ONCE]]
        found += await measure(embedder, pairs)
        report(len(pairs))
    return found


async def _opposed(embedder: Embedder, examples: Sequence[Example]) -> Opposed | None:
    """Negations, and what is surely none: a contradiction in other words is neither."""
    pairs = [_pair(each) for each in _of(examples, STATEMENTS)]
    labels = [each.label for each in _of(examples, STATEMENTS)]
    telling = [
        pair
        for pair, label in zip(pairs, labels, strict=True)
        if pair.negation or label is not Label.CONTRADICTS
    ]
    return await measure_opposition(embedder, telling) if any(pair.negation for pair in telling) else None


def _pair(example: Example) -> Pair:
    guards = _guards(example) if example.label in STATEMENTS else ()
    denies = example.label is Label.NEGATION
    return Pair(
        a=example.a,
        b=example.b,
        same=example.label in TOGETHER,
        guarded=denies or bool(guards),
        negation=denies or (example.label is Label.CONTRADICTS and Guard.NEGATION in guards),
    )


def _guards(example: Example) -> tuple[Guard, ...]:
    return compare(read(example.a), read(example.b)).guards
