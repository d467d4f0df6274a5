"""What does a model say that an episode was about, and what it teaches?

The model sees the turns numbered and quoted as data, and gives title, summary, outcome, topics and the few facts that
are worth keeping, each with the turns that say it. An answer out of range is mended once, which names the fault; a
second bad one is an error. Writing it down is left to `summing`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from festinger.llm.model import Message, Model, Shape
from festinger.llm.prompts import prompt_of
from festinger.memory.episodes.episode import BY_EXTRACT, BY_TRANSCRIPT, Lesson, Turn
from festinger.memory.episodes.extract import (
    FEWEST_WORDS,
    LONGEST_SUMMARY,
    LONGEST_TITLE,
    MOST_WORDS,
    TITLE_FEWEST,
    TITLE_MOST,
    extract,
    is_its_own_summary,
)
from festinger.memory.episodes.transcript import shown
from festinger.memory.extract.statements import kind_of

MOST_FACTS = 100
MOST_TOPICS = 10


def _title(text: str) -> str:
    return _of_words(text, TITLE_FEWEST, TITLE_MOST)


def _summary(text: str) -> str:
    return _of_words(text, FEWEST_WORDS, MOST_WORDS)


def _of_words(text: str, fewest: int, most: int) -> str:
    plain = " ".join(text.split())
    count = len(plain.split())
    if not fewest <= count <= most:
        raise ValueError(f"must have {fewest} to {most} words; it has {count}")
    return plain


class Fact(BaseModel):
    """A statement that is worth keeping."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    subject: str = Field(max_length=200)
    content: str = Field(min_length=1, max_length=500)
    turns: list[int] = Field(max_length=50)
    is_decision: bool
    confidence: float = Field(ge=0, le=1)


class Answered(Shape):
    """What an episode was about."""

    title: Annotated[str, Field(max_length=LONGEST_TITLE), AfterValidator(_title)]
    summary: Annotated[str, Field(max_length=LONGEST_SUMMARY), AfterValidator(_summary)]
    outcome: Literal["resolved", "partial", "unresolved", "informational", "ongoing"]
    topics: list[Annotated[str, Field(max_length=100)]] = Field(max_length=MOST_TOPICS)
    facts: list[Fact] = Field(max_length=MOST_FACTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What is said of an episode, by whom, and what is to be learnt from it."""

    title: str
    summary: str
    by: str
    outcome: str | None = None
    topics: tuple[str, ...] = ()
    prompt_hash: str | None = None
    lessons: tuple[Lesson, ...] = ()


def in_its_own_words(turns: Sequence[Turn]) -> Summary:
    """What can be said without a model. What persons stated was learned when they said it."""
    taken = extract(turns)
    return Summary(
        title=taken.title,
        summary=taken.summary,
        by=BY_TRANSCRIPT if is_its_own_summary(turns) else BY_EXTRACT,
    )


async def in_the_words_of(model: Model, turns: Sequence[Turn], *, most: int) -> Summary:
    """What a model says. Raises what a model that does not answer, or not in the shape, raises."""
    answer = await model.answer([question(turns, most=most)], Answered)
    said = answer.value
    return Summary(
        title=said.title,
        summary=said.summary,
        by=answer.model,
        outcome=said.outcome,
        topics=tuple(dict.fromkeys(topic.strip() for topic in said.topics if topic.strip())),
        prompt_hash=answer.prompt_hash,
        lessons=tuple(_lesson(fact) for fact in said.facts[:most]),
    )


def question(turns: Sequence[Turn], *, most: int) -> Message:
    """What the model is asked."""
    return prompt_of("festinger.memory", "summarise").message(transcript=shown(turns), most=str(most))


def _lesson(fact: Fact) -> Lesson:
    content = " ".join(fact.content.split())
    return Lesson(
        content=content,
        turns=tuple(dict.fromkeys(fact.turns)),
        subject=" ".join(fact.subject.split()) or None,
        is_decision=fact.is_decision,
        confidence=fact.confidence,
        kind=kind_of(content),
        by_model=True,
    )
