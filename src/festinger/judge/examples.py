"""Of which pairs of texts is it known how they stand to each other?

Examples teach `calibration` where the thresholds of an embedder lie. Some come with Festinger, others from a file, one
JSON object a line, and from what people decided. A label is a relation between two statements; two names may be of
one subject or of two; what a censor means may be held against a text that it must strike or let pass.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from festinger.errors import BadInput
from festinger.judge.judgement import Relation

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
