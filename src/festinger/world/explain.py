"""How does a name that stands out get explained?

A job, never part of a request: the model is asked about the sentences in which the name stood, outside any
transaction, and what may be believed of its answer is written. Without a model the sentences are read for claims
again; a name that stays unexplained is marked as wanted, for people to see.

What does a model say that a name stands for, and which of it may be believed?

The model is shown the sentences in which the name stood, as quoted data, and nothing else. Each triple of its answer
is looked at by itself; one that does not fit is dropped and counted, and the others stand. Asking and keeping are
`explain`'s matter.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from festinger.errors import BadFact, ProviderRefused
from festinger.ids import AgentId, Cause, Origin, SessionId, SpaceId, cause, least_trusted
from festinger.llm.model import Answer, Message, Model, Shape
from festinger.llm.prompts import prompt_of
from festinger.observability.metrics import WORLD_REFUSED
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.text.tokens import tokens
from festinger.text.vocabulary import may_be_vocabulary
from festinger.text.words import FUNCTION_WORDS
from festinger.world.graph import World
from festinger.world.model import WRITTEN_BY_MODEL, Desk, SoasRow, Source, Statement, Written
from festinger.world.recollection import VOUCHED, claims, read, starting_confidence
from festinger.world.state import Placed, note_cause, state_in
from festinger.world.write import Writing, dimensions, rows_of, writing

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


Q = queries_of("festinger.world")

WRITER = AgentId("festinger")
MOST_TRIES = 3
FIRST_PAUSE = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A name, and the sentences in which it stood."""

    concept: SoasRow
    sentences: Sequence[Mapping[str, Any]]
    dimensions: Sequence[str]


async def explain(desk: Desk, space: SpaceId, concept: int, *, model: Model | None, tries: int = 1) -> int:
    """Find out what a name stands for; how many triples were written."""
    subject = await _subject(desk, space, concept)
    if subject is None:
        return 0
    if model is None or not subject.sentences:
        return await _reread(desk, space, subject)
    try:
        answer = await model.answer(
            [question(subject.concept.token, sentences=subject.sentences, dimensions=subject.dimensions)],
            Explained,
        )
    except ProviderRefused as error:
        await _failed(desk, space, subject, model=model.name, reason=error.name, tries=tries)
        return 0
    return await _write(desk, space, subject, answer)


async def _subject(desk: Desk, space: SpaceId, concept: int) -> Subject | None:
    row = await desk.store.maybe(Q["rows_of_concepts"], space=space, concepts=[concept])
    if row is None:
        return None
    sentences = await desk.store.all(Q["sentences_of"], space=space, concept=concept)
    return Subject(
        concept=SoasRow(**row), sentences=sentences, dimensions=list(await dimensions(desk, space))
    )


async def _write(desk: Desk, space: SpaceId, subject: Subject, answer: Answer[Explained]) -> int:
    written = Written(model=answer.model, prompt_hash=answer.prompt_hash, cost_usd=answer.cost_usd)
    origins = [Origin(each["origin"]) for each in subject.sentences]
    origin = least_trusted((Origin.MODEL, *origins))
    count = 0
    async with writing(desk, space, by=answer.model) as change:
        for triple in believable(answer.value, subject.concept.token, dimensions=subject.dimensions):
            said = _statement(subject, triple, written, because=_cause(change, subject, origin))
            if await _would_cycle(change, said):
                WORLD_REFUSED.labels("cycle").inc()
                continue
            await _state(change, subject, said)
            count += 1
        if not count:
            await _want(change, subject.concept)
    return count


def _statement(subject: Subject, triple: Triple, written: Written, *, because: Cause) -> Statement:
    return Statement(
        concept=subject.concept.token,
        parent=triple.parent,
        dimension=triple.dimension,
        is_isa=triple.is_isa,
        confidence=triple.confidence,
        source=Source.CLOUD_LLM,
        cause=because,
        written=written,
    )


def _cause(change: Writing, subject: Subject, origin: Origin, *, session: str | None = None) -> Cause:
    own = session or subject.sentences[-1]["session_id"]
    return cause(agent=WRITER, session=SessionId(own), origin=origin, at=change.now)


async def _would_cycle(change: Writing, said: Statement) -> bool:
    rows = await rows_of(change.transaction, change.space, (said.concept, said.parent, said.dimension))
    if len(rows) < len({said.concept, said.parent, said.dimension}):
        return False
    return await change.would_cycle(rows[said.concept].id, rows[said.parent].id, rows[said.dimension].id)


async def _state(change: Writing, subject: Subject, said: Statement) -> None:
    """Write a triple, with a cause for every session whose sentences it was made from: forgetting one of them
    must find it."""
    await state_in(change, said)
    rows = await rows_of(change.transaction, change.space, (said.concept, said.parent, said.dimension))
    for session in {each["session_id"] for each in subject.sentences} - {said.cause.session}:
        because = _cause(change, subject, said.origin, session=session)
        other = Placed(
            said=replace(said, cause=because),
            concept=rows[said.concept],
            parent=rows[said.parent],
            dim=rows[said.dimension],
        )
        await note_cause(change, other)


async def _reread(desk: Desk, space: SpaceId, subject: Subject) -> int:
    """Read the kept sentences for claims about the name, without any model."""
    count = 0
    async with writing(desk, space, by="festinger") as change:
        for sentence in subject.sentences:
            for said in _claimed(change, subject, sentence):
                try:
                    await state_in(change, said)
                except BadFact as error:
                    WORLD_REFUSED.labels(error.name).inc()
                    continue
                count += 1
        if not count:
            await _want(change, subject.concept)
    return count


def _claimed(change: Writing, subject: Subject, sentence: Mapping[str, Any]) -> list[Statement]:
    origin = Origin(sentence["origin"])
    if origin not in VOUCHED:
        return []
    zipf = change.terms.common_word_zipf
    got = read(sentence["text"], origin, World())
    found = claims(got, World(), is_common=lambda token: change.desk.is_common(token, zipf))
    because = cause(agent=WRITER, session=SessionId(sentence["session_id"]), origin=origin, at=sentence["at"])
    return [
        Statement(
            concept=claim.concept,
            parent=claim.parent,
            dimension=claim.dimension,
            is_isa=claim.is_isa,
            confidence=starting_confidence(claim),
            source=Source.INFERRED,
            cause=because,
            message=sentence["message_id"],
        )
        for claim in found
        if claim.concept == subject.concept.token
    ]


async def _want(change: Writing, concept: SoasRow) -> None:
    """Mark a name that nobody could explain, unless something is known of it."""
    if await change.transaction.all(Q["edges_of_concepts"], space=change.space, concepts=[concept.id]):
        return
    row = await change.transaction.maybe(
        Q["want_concept"], space=change.space, concept=concept.id, now=change.now
    )
    if row is not None:
        await change.tell(
            "concept_wanted",
            f"concept:{concept.id}",
            concept_id=concept.id,
            token=concept.token,
            encounters=row["encounter_count"],
        )


async def _failed(
    desk: Desk, space: SpaceId, subject: Subject, *, model: str, reason: str, tries: int
) -> None:
    """Tell that the model gave nothing usable, and have it tried again later."""
    async with desk.store.transaction() as transaction:
        await desk.outbox.emit(
            transaction,
            "write_failed",
            space=space,
            subject=f"concept:{subject.concept.id}",
            payload={
                "concept_id": subject.concept.id,
                "model": model,
                "reason": reason,
                "attempts": tries,
            },
        )
        if tries < MOST_TRIES:
            later = desk.clock() + FIRST_PAUSE * 2 ** (tries - 1)
            await desk.ask_to_write(transaction, space, subject.concept.id, tries=tries + 1, at=later)


async def wanted(desk: Desk, space: SpaceId, *, limit: int = 100) -> list[dict[str, Any]]:
    """Names that stand out and that nobody has explained."""
    return await desk.store.all(Q["wanted"], space=space, limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A name that nobody has explained, and the last sentences in which it stood."""

    id: int
    token: str
    sentences: tuple[Mapping[str, Any], ...]


async def unknown_names(transaction: Transaction, space: SpaceId, *, limit: int = 500) -> list[Unknown]:
    """Names that stand out and that nobody has explained, with what was said of them."""
    rows = await transaction.all(Q["wanted_sentences"], space=space, limit=limit)
    said = groupby(rows, key=lambda row: (row["id"], row["token"]))
    return [Unknown(id=id_, token=token, sentences=tuple(each)) for (id_, token), each in said]
