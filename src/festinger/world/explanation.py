"""What does a model say that a name stands for, and which of it may be believed?

The model is shown the sentences in which the name stood, as quoted data, and nothing else. Each triple of its answer
is looked at by itself; one that does not fit is dropped and counted, and the others stand. Asking and keeping are
`explain`'s matter.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from festinger.llm.model import Message, Shape
from festinger.llm.prompts import prompt_of
from festinger.observability.metrics import WORLD_REFUSED
from festinger.text.tokens import tokens
from festinger.text.vocabulary import may_be_vocabulary
from festinger.text.words import FUNCTION_WORDS
from festinger.world.corroboration import WRITTEN_BY_MODEL

MOST_TRIPLES = 8
UNSAID = 0.7
LEAST = 0.5
MOST_PARTS = 3
"""Words of a new dimension."""


class Fact(BaseModel):
    """One triple of an answer, as it came."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    concept: str
    parent: str
    dimension: str
    is_isa: bool
    confidence: float | None = None
    is_new_dimension: bool = False


class Explained(Shape):
    """What the model says of a name."""

    facts: list[Fact] = Field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Triple:
    """A triple that may be written."""

    parent: str
    dimension: str
    is_isa: bool
    confidence: float


def question(concept: str, *, sentences: Sequence[Mapping[str, Any]], dimensions: Sequence[str]) -> Message:
    quoted = [f"[{each['origin']}, {each['at'].date().isoformat()}] {each['text']}" for each in sentences]
    return prompt_of("festinger.world", "write").message(
        concept=concept, sentences="\n".join(quoted), dimensions=", ".join(dimensions)
    )


def believable(answer: Explained, concept: str, *, dimensions: Collection[str]) -> Iterator[Triple]:
    """The triples of an answer that may be written; the others are counted by what is wrong with them."""
    for fact in answer.facts[:MOST_TRIPLES]:
        checked = _checked(fact, concept, dimensions=dimensions)
        if isinstance(checked, Triple):
            yield checked
        else:
            WORLD_REFUSED.labels(checked).inc()


def _checked(fact: Fact, concept: str, *, dimensions: Collection[str]) -> Triple | str:
    """The triple, or what is wrong with it."""
    parent, dimension = one_token(fact.parent), one_token(fact.dimension)
    confidence = UNSAID if fact.confidence is None else fact.confidence
    if one_token(fact.concept) != concept:
        return "other_concept"
    if not is_operand(parent) or not is_operand(dimension):
        return "bad_fact"
    if parent == concept:
        return "self_parent"
    if dimension == concept:
        return "root_slot"
    if dimension not in dimensions and not (fact.is_new_dimension and _parts(dimension) <= MOST_PARTS):
        return "unknown_dimension"
    if not LEAST <= confidence <= 1:
        return "bad_confidence"
    return Triple(
        parent=parent,
        dimension=dimension,
        is_isa=fact.is_isa,
        confidence=min(confidence, WRITTEN_BY_MODEL),
    )


def one_token(text: str) -> str:
    """A name as somebody wrote it, as one token; empty if there is nothing in it."""
    return "_".join(token.text for token in tokens(text))


def is_operand(token: str) -> bool:
    return bool(token) and may_be_vocabulary(token) and token not in FUNCTION_WORDS


def _parts(dimension: str) -> int:
    return len(dimension.replace("_", "-").replace(".", "-").split("-"))
