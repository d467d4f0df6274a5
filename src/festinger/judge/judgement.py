"""What a judge says of two statements.

Values only: the closed set of relations, which of the two is current, how sure the judge is and why, and which
guards fired. Making one is left to `rules`, `pairs` and `opinion`; keeping one to `records`.
"""

from dataclasses import dataclass
from enum import StrEnum

ACCEPT = 0.8
"""From this confidence on a judge ends the cascade (`judge.accept`)."""


class Relation(StrEnum):
    """How the new statement stands to the old one."""

    SAME = "same"
    UPDATE = "update"
    CONTRADICTS = "contradicts"
    REFINES = "refines"
    UNRELATED = "unrelated"
    UNSURE = "unsure"


class Current(StrEnum):
    """Which of the two holds now."""

    NEW = "new"
    OLD = "old"
    BOTH = "both"


class Guard(StrEnum):
    """Why two statements are not the same, however near their words are."""

    NUMBER = "number"
    UNIT = "unit"
    DATE = "date"
    NEGATION = "negation"
    ANTONYM = "antonym"
    QUANTIFIER = "quantifier"
    NAME = "name"
    ORDER = "order"
    SLOT = "slot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    relation: Relation
    current: Current = Current.BOTH
    confidence: float
    judge: str
    """`rules@1`, `onnx:<model>`, `llm:<provider:model>` or `person:<name>`."""
    reasoning: str
    guards: tuple[Guard, ...] = ()
    prompt_hash: str | None = None
    final: bool = True
    """Whether the cascade has ended; if not, the pair waits and is tried again."""
    tentative: bool = False
    """Whether it goes by what the statements seem to be about, so that a reader of both may find news in them."""

    @property
    def by_person(self) -> bool:
        return self.judge.startswith(PERSON)


PERSON = "person:"


def unsure(judge: str, reasoning: str, *, guards: tuple[Guard, ...] = ()) -> Judgement:
    """No judge was sure: both statements stay and the pair waits."""
    return Judgement(
        relation=Relation.UNSURE,
        confidence=0.5,
        judge=judge,
        reasoning=reasoning,
        guards=guards,
        final=False,
    )


def by_person(name: str, relation: Relation, *, current: Current = Current.BOTH, reasoning: str) -> Judgement:
    """What a person decided; it overrules every judge and is never asked again."""
    return Judgement(
        relation=relation, current=current, confidence=1.0, judge=f"{PERSON}{name}", reasoning=reasoning
    )
