"""Summarizes an episode, by a model or by extract.

The model sees numbered turns quoted as data and returns title, summary, outcome, topics and a few facts, each
with its turns. An invalid answer is retried once with the error named; a second one raises.
The extract needs no model and is deterministic: first the sentences in which people stated something that
stands, rules, preferences, decisions and corrections before the rest, then the most salient ones, in order.
Its title is the most important statement, or the first request. It rewords nothing, so it cannot make
anything up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from festinger.ids import Origin
from festinger.llm.model import AnswerSchema, Model, PromptMessage
from festinger.llm.prompts import load_prompt
from festinger.memory.episodes.episode import (
    BY_EXTRACT,
    BY_TRANSCRIPT,
    EpisodeTurn,
    Lesson,
    TurnRole,
    TurnSentence,
    TurnStatement,
    char_count,
    dialogue_turns,
    format_prompt_transcript,
    format_transcript,
    list_sentences,
    saliency,
    word_count,
)
from festinger.memory.extract.statements import classify_kind
from festinger.text.normalize import fold

FEWEST_WORDS = 100
MOST_WORDS = 150
"""Words of a summary."""
FEWEST_CHARS = 50
"""A shorter conversation is not worth a summary."""
TITLE_FEWEST = 5
TITLE_MOST = 10
LONGEST_TITLE = 200
LONGEST_SUMMARY = 4_000
"""Characters, for text without word breaks."""

SPEAKERS = {Origin.PERSON: 1.2, Origin.MODEL: 1.0, Origin.TOOL: 0.6, Origin.DOCUMENT: 0.6}
"""Weight of a sentence by its speaker: what people ask and decide is what an episode is about."""
ENDS = 1.3
"""Factor for the first request and the last reply, which hold the topic and the result."""
FEWEST_SENTENCE_WORDS = 3

EMPTY = "empty"
TOO_SHORT = "too short"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeExtract:
    title: str
    summary: str


def find_skip_reason(turns: Sequence[EpisodeTurn]) -> str | None:
    """Why there is nothing to summarize; None if there is."""
    if not dialogue_turns(turns):
        return EMPTY
    return TOO_SHORT if char_count(turns) < FEWEST_CHARS else None


def is_short_conversation(turns: Sequence[EpisodeTurn]) -> bool:
    """Whether a conversation is too short to be shortened further."""
    return word_count(turns) < FEWEST_WORDS


def build_extract(turns: Sequence[EpisodeTurn], stated: Sequence[TurnStatement] = ()) -> EpisodeExtract:
    """Extract title and summary of a conversation; `stated` is what people stated in it."""
    return EpisodeExtract(title=extract_title(turns, stated), summary=extract_summary(turns, stated))


def extract_summary(turns: Sequence[EpisodeTurn], stated: Sequence[TurnStatement] = ()) -> str:
    if is_short_conversation(turns):
        return format_transcript(turns)[:LONGEST_SUMMARY]
    found = list_sentences(turns)
    last = max((sentence.turn.seq for sentence in found), default=0)
    first = next((turn.seq for turn in dialogue_turns(turns) if turn.role is TurnRole.USER), 0)
    again, importance = _repeats(found), _importance(found, stated)

    def order(each: TurnSentence) -> tuple[bool, float, float, int]:
        weight = _weight(each, first=first, last=last)
        return each.position in again, -importance.get(each.position, 0.0), -weight, each.position

    chosen = sorted(_select_sentences(sorted(found, key=order)), key=lambda each: each.position)
    summary = " ".join(each.text for each in chosen) or " ".join(format_transcript(turns).split()[:MOST_WORDS])
    return summary[:LONGEST_SUMMARY]


def _importance(found: Sequence[TurnSentence], stated: Sequence[TurnStatement]) -> dict[int, float]:
    """Return the importance of the sentences in which something was stated, by position."""
    ranks: dict[int, float] = {}
    for each in stated:
        words = set(fold(each.wording).split())
        said = [sentence for sentence in found if sentence.turn.turn_id == each.turn_id]
        if said:
            place = max(said, key=lambda sentence: len(words & set(fold(sentence.text).split()))).position
            ranks[place] = max(ranks.get(place, 0.0), each.importance)
    return ranks


def _repeats(found: Sequence[TurnSentence]) -> set[int]:
    """Return the positions of repeated sentences, which are used only if there is nothing else."""
    known: set[str] = set()
    again = set()
    for sentence in found:
        words = fold(sentence.text)
        if words in known:
            again.add(sentence.position)
        known.add(words)
    return again


def extract_title(turns: Sequence[EpisodeTurn], stated: Sequence[TurnStatement] = ()) -> str:
    """Return the most important statement, else the first sentence of the first request, cut to a title."""
    if stated:
        return _cut_title(max(stated, key=lambda each: (each.importance, saliency(each.wording))).wording)
    spoken = [turn for turn in dialogue_turns(turns) if turn.content.strip()]
    asked = list_sentences([turn for turn in spoken if turn.role is TurnRole.USER]) or list_sentences(spoken)
    telling = [sentence for sentence in asked if sentence.word_count >= FEWEST_SENTENCE_WORDS] or asked
    return _cut_title(telling[0].text if telling else spoken[0].content)


def _cut_title(text: str) -> str:
    words = text.split()
    more = " …" if len(words) > TITLE_MOST else ""
    return f"{' '.join(words[:TITLE_MOST])[: LONGEST_TITLE - len(more)]}{more}"


def _weight(sentence: TurnSentence, *, first: int, last: int) -> float:
    if sentence.word_count < FEWEST_SENTENCE_WORDS:
        return 0.0
    at_an_end = ENDS if sentence.turn.seq in (first, last) else 1.0
    return saliency(sentence.text) * SPEAKERS.get(sentence.turn.origin, 1.0) * at_an_end


def _select_sentences(by_weight: Sequence[TurnSentence]) -> list[TurnSentence]:
    """Choose the heaviest sentences that make up a summary of the right length; the last may be cut."""
    taken: list[TurnSentence] = []
    words = 0
    left = []
    for sentence in by_weight:
        if words >= FEWEST_WORDS:
            return taken
        if words + sentence.word_count > MOST_WORDS:
            left.append(sentence)
            continue
        taken.append(sentence)
        words += sentence.word_count
    if words < FEWEST_WORDS and left:
        taken.append(_cut(left[0], MOST_WORDS - words))
    return taken


def _cut(sentence: TurnSentence, words: int) -> TurnSentence:
    return TurnSentence(text=" ".join(sentence.text.split()[:words]), turn=sentence.turn, position=sentence.position)


MOST_FACTS = 100
MOST_TOPICS = 10


def _title(text: str) -> str:
    return _check_word_count(text, TITLE_FEWEST, TITLE_MOST)


def _summary(text: str) -> str:
    return _check_word_count(text, FEWEST_WORDS, MOST_WORDS)


def _check_word_count(text: str, fewest: int, most: int) -> str:
    plain = " ".join(text.split())
    count = len(plain.split())
    if not fewest <= count <= most:
        raise ValueError(f"must have {fewest} to {most} words; it has {count}")
    return plain


class EpisodeFact(BaseModel):
    """A statement that is worth keeping."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    subject: str = Field(max_length=200)
    content: str = Field(min_length=1, max_length=500)
    turns: list[int] = Field(max_length=50)
    is_decision: bool
    confidence: float = Field(ge=0, le=1)


class EpisodeSummaryAnswer(AnswerSchema):
    """What an episode was about."""

    title: Annotated[str, Field(max_length=LONGEST_TITLE), AfterValidator(_title)]
    summary: Annotated[str, Field(max_length=LONGEST_SUMMARY), AfterValidator(_summary)]
    outcome: Literal["resolved", "partial", "unresolved", "informational", "ongoing"]
    topics: list[Annotated[str, Field(max_length=100)]] = Field(max_length=MOST_TOPICS)
    facts: list[EpisodeFact] = Field(max_length=MOST_FACTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeSummary:
    """A summary with its author and the lessons to learn."""

    title: str
    summary: str
    by: str
    outcome: str | None = None
    topics: tuple[str, ...] = ()
    prompt_hash: str | None = None
    lessons: tuple[Lesson, ...] = ()


def summarize_by_extract(turns: Sequence[EpisodeTurn], stated: Sequence[TurnStatement]) -> EpisodeSummary:
    """Summarize by extract, without lessons: what people stated was learned when they said it."""
    taken = build_extract(turns, stated)
    return EpisodeSummary(
        title=taken.title, summary=taken.summary, by=BY_TRANSCRIPT if is_short_conversation(turns) else BY_EXTRACT
    )


async def summarize_with_model(model: Model, turns: Sequence[EpisodeTurn], *, most: int) -> EpisodeSummary:
    """Summarize with a model. Raises the model's errors."""
    answer = await model.answer([build_summary_prompt(turns, most=most)], EpisodeSummaryAnswer)
    value = answer.value
    return EpisodeSummary(
        title=value.title,
        summary=value.summary,
        by=answer.model,
        outcome=value.outcome,
        topics=tuple(dict.fromkeys(topic.strip() for topic in value.topics if topic.strip())),
        prompt_hash=answer.prompt_hash,
        lessons=tuple(_lesson(fact) for fact in value.facts[:most]),
    )


def build_summary_prompt(turns: Sequence[EpisodeTurn], *, most: int) -> PromptMessage:
    """Build the prompt for the model."""
    return load_prompt("festinger.memory", "summarise").message(
        transcript=format_prompt_transcript(turns), most=str(most)
    )


def _lesson(fact: EpisodeFact) -> Lesson:
    content = " ".join(fact.content.split())
    return Lesson(
        content=content,
        turns=tuple(dict.fromkeys(fact.turns)),
        subject=" ".join(fact.subject.split()) or None,
        is_decision=fact.is_decision,
        confidence=fact.confidence,
        kind=classify_kind(content),
        by_model=True,
    )
