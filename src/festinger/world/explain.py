"""Explains salient names by asking a model about the sentences in which they occurred.

A job, never part of a request: the model is called outside any transaction and sees only the sentences, as
quoted data. Each triple of its answer is checked by itself; bad ones are dropped and counted. Without a model
the sentences are read for claims again; a name that stays unexplained is marked as wanted, for people to see.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from festinger.errors import BadFact, ProviderRefused
from festinger.ids import AgentId, Cause, Origin, SessionId, SpaceId, cause, least_trusted
from festinger.llm.model import AnswerSchema, Model, ModelAnswer, PromptMessage
from festinger.llm.prompts import load_prompt
from festinger.observability.metrics import WORLD_REFUSED
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.text.tokens import tokenize
from festinger.text.vocabulary import may_be_vocabulary
from festinger.text.words import FUNCTION_WORDS
from festinger.world.edge_statements import apply_statement_in_change, record_cause
from festinger.world.graph import World
from festinger.world.model import WRITTEN_BY_MODEL, EdgeSource, ModelCallInfo, SoasRow, WorldDeps, WorldStatement
from festinger.world.recollection import VOUCHED, claim_to_world_statement, find_claims, tokenize_text
from festinger.world.write import WorldChange, list_dimensions, open_change, resolve_known_words

MOST_TRIPLES = 8
UNSAID = 0.7
LEAST = 0.5
MOST_PARTS = 3
"""Words of a new dimension."""


class ExplanationFact(BaseModel):
    """One unchecked triple of an answer."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    concept: str
    parent: str
    dimension: str
    is_isa: bool
    confidence: float | None = None
    is_new_dimension: bool = False


class ExplanationAnswer(AnswerSchema):
    """The model's answer about a name."""

    facts: list[ExplanationFact] = Field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationTriple:
    """A triple that may be written."""

    parent: str
    dimension: str
    is_isa: bool
    confidence: float


def build_question(concept: str, *, sentences: Sequence[Mapping[str, Any]], dimensions: Sequence[str]) -> PromptMessage:
    quoted = [f"[{each['origin']}, {each['at'].date().isoformat()}] {each['text']}" for each in sentences]
    return load_prompt("festinger.world", "write").message(
        concept=concept, sentences="\n".join(quoted), dimensions=", ".join(dimensions)
    )


def filter_triples(
    answer: ExplanationAnswer, concept: str, *, dimensions: Collection[str]
) -> Iterator[ExplanationTriple]:
    """Yield the triples that may be written; the others are counted by reason."""
    for fact in answer.facts[:MOST_TRIPLES]:
        checked = _check_fact(fact, concept, dimensions=dimensions)
        if isinstance(checked, ExplanationTriple):
            yield checked
        else:
            WORLD_REFUSED.labels(checked).inc()


def _check_fact(fact: ExplanationFact, concept: str, *, dimensions: Collection[str]) -> ExplanationTriple | str:
    """Return the triple, or what is wrong with it."""
    parent, dimension = to_token(fact.parent), to_token(fact.dimension)
    confidence = UNSAID if fact.confidence is None else fact.confidence
    if to_token(fact.concept) != concept:
        return "other_concept"
    if not can_be_parent_or_dimension(parent) or not can_be_parent_or_dimension(dimension):
        return "bad_fact"
    if parent == concept:
        return "self_parent"
    if dimension == concept:
        return "root_slot"
    if dimension not in dimensions and not (fact.is_new_dimension and _parts(dimension) <= MOST_PARTS):
        return "unknown_dimension"
    if not LEAST <= confidence <= 1:
        return "bad_confidence"
    return ExplanationTriple(
        parent=parent, dimension=dimension, is_isa=fact.is_isa, confidence=min(confidence, WRITTEN_BY_MODEL)
    )


def to_token(text: str) -> str:
    """Normalize a written name into one token; empty if nothing is left."""
    return "_".join(token.text for token in tokenize(text))


def can_be_parent_or_dimension(token: str) -> bool:
    return bool(token) and may_be_vocabulary(token) and token not in FUNCTION_WORDS


def _parts(dimension: str) -> int:
    return len(dimension.replace("_", "-").replace(".", "-").split("-"))


Q = load_queries("festinger.world")

WRITER = AgentId("festinger")
MOST_TRIES = 3
FIRST_PAUSE = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class NameWithSentences:
    """A name, and the sentences in which it occurred."""

    concept: SoasRow
    sentences: Sequence[Mapping[str, Any]]
    dimensions: Sequence[str]


async def ask_and_write_explanation(
    deps: WorldDeps, space: SpaceId, concept: int, *, model: Model | None, tries: int = 1
) -> int:
    """Find out what a name stands for; returns how many triples were written."""
    subject = await _subject(deps, space, concept)
    if subject is None:
        return 0
    if model is None or not subject.sentences:
        return await _explain_without_model(deps, space, subject)
    try:
        answer = await model.answer(
            [build_question(subject.concept.token, sentences=subject.sentences, dimensions=subject.dimensions)],
            ExplanationAnswer,
        )
    except ProviderRefused as error:
        await _failed(deps, space, subject, model=model.name, reason=error.name, tries=tries)
        return 0
    return await _write(deps, space, subject, answer)


async def _subject(deps: WorldDeps, space: SpaceId, concept: int) -> NameWithSentences | None:
    row = await deps.store.maybe(Q["rows_of_concepts"], space=space, concepts=[concept])
    if row is None:
        return None
    sentences = await deps.store.all(Q["sentences_of"], space=space, concept=concept)
    return NameWithSentences(
        concept=SoasRow(**row), sentences=sentences, dimensions=list(await list_dimensions(deps, space))
    )


async def _write(
    deps: WorldDeps, space: SpaceId, subject: NameWithSentences, answer: ModelAnswer[ExplanationAnswer]
) -> int:
    written = ModelCallInfo(model=answer.model, prompt_hash=answer.prompt_hash, cost_usd=answer.cost_usd)
    origins = [Origin(each["origin"]) for each in subject.sentences]
    origin = least_trusted((Origin.MODEL, *origins))
    count = 0
    async with open_change(deps, space, by=answer.model) as change:
        for triple in filter_triples(answer.value, subject.concept.token, dimensions=subject.dimensions):
            statement = _statement(subject, triple, written, because=_cause(change, subject, origin))
            placed = await resolve_known_words(change, statement)
            if placed and await change.would_cycle(placed.concept.id, placed.parent.id, placed.dim.id):
                WORLD_REFUSED.labels("cycle").inc()
                continue
            await _write_with_session_causes(change, subject, statement)
            count += 1
        if not count:
            await _want(change, subject.concept)
    return count


def _statement(
    subject: NameWithSentences, triple: ExplanationTriple, written: ModelCallInfo, *, because: Cause
) -> WorldStatement:
    return WorldStatement(
        concept=subject.concept.token,
        parent=triple.parent,
        dimension=triple.dimension,
        is_isa=triple.is_isa,
        confidence=triple.confidence,
        source=EdgeSource.CLOUD_LLM,
        cause=because,
        written=written,
    )


def _cause(change: WorldChange, subject: NameWithSentences, origin: Origin, *, session: str | None = None) -> Cause:
    own = session or subject.sentences[-1]["session_id"]
    return cause(agent=WRITER, session=SessionId(own), origin=origin, at=change.now)


async def _write_with_session_causes(
    change: WorldChange, subject: NameWithSentences, statement: WorldStatement
) -> None:
    """Write a triple with a cause for every session whose sentences it was made from, so that forgetting one
    of them finds it."""
    await apply_statement_in_change(change, statement)
    placed = await resolve_known_words(change, statement)
    assert placed is not None, "its words were just written"
    for session in {each["session_id"] for each in subject.sentences} - {statement.cause.session}:
        because = _cause(change, subject, statement.origin, session=session)
        await record_cause(change, replace(placed, statement=replace(statement, cause=because)))


async def _explain_without_model(deps: WorldDeps, space: SpaceId, subject: NameWithSentences) -> int:
    """Read the stored sentences for claims about the name, without a model."""
    count = 0
    async with open_change(deps, space, by="festinger") as change:
        for sentence in subject.sentences:
            for statement in _find_subject_claims(change, subject, sentence):
                try:
                    await apply_statement_in_change(change, statement)
                except BadFact as error:
                    WORLD_REFUSED.labels(error.name).inc()
                    continue
                count += 1
        if not count:
            await _want(change, subject.concept)
    return count


def _find_subject_claims(
    change: WorldChange, subject: NameWithSentences, sentence: Mapping[str, Any]
) -> list[WorldStatement]:
    origin = Origin(sentence["origin"])
    if origin not in VOUCHED:
        return []
    zipf = change.terms.common_word_zipf
    got = tokenize_text(sentence["text"], origin, World())
    found = find_claims(got, World(), is_common=lambda token: change.deps.is_common(token, zipf))
    because = cause(agent=WRITER, session=SessionId(sentence["session_id"]), origin=origin, at=sentence["at"])
    return [
        claim_to_world_statement(claim, because, message=sentence["message_id"])
        for claim in found
        if claim.concept == subject.concept.token
    ]


async def _want(change: WorldChange, concept: SoasRow) -> None:
    """Mark a name that nobody could explain, unless something is known about it."""
    if await change.all("edges_of_concepts", concepts=[concept.id]):
        return
    row = await change.maybe("want_concept", concept=concept.id, now=change.now)
    if row is not None:
        await change.tell(
            "concept_wanted",
            f"concept:{concept.id}",
            concept_id=concept.id,
            token=concept.token,
            encounters=row["encounter_count"],
        )


async def _failed(
    deps: WorldDeps, space: SpaceId, subject: NameWithSentences, *, model: str, reason: str, tries: int
) -> None:
    """Report that the model gave nothing usable, and schedule a retry."""
    async with deps.store.transaction() as transaction:
        await deps.outbox.emit(
            transaction,
            "write_failed",
            space=space,
            subject=f"concept:{subject.concept.id}",
            payload={"concept_id": subject.concept.id, "model": model, "reason": reason, "attempts": tries},
        )
        if tries < MOST_TRIES:
            later = deps.clock() + FIRST_PAUSE * 2 ** (tries - 1)
            await deps.ask_to_write(transaction, space, subject.concept.id, tries=tries + 1, at=later)


async def list_unexplained_names(deps: WorldDeps, space: SpaceId, *, limit: int = 100) -> list[dict[str, Any]]:
    """List salient names that nobody has explained."""
    return await deps.store.all(Q["wanted"], space=space, limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownName:
    """A name that nobody has explained, and the last sentences in which it occurred."""

    id: int
    token: str
    sentences: tuple[Mapping[str, Any], ...]


async def load_unknown_names(
    transaction: Transaction, space: SpaceId, *, concept: int | None = None, limit: int = 500
) -> list[UnknownName]:
    """Load salient unexplained names, or this one, with the sentences about them."""
    rows = await transaction.all(Q["wanted_sentences"], space=space, concept=concept, limit=limit)
    groups = groupby(rows, key=lambda row: (row["id"], row["token"]))
    return [UnknownName(id=id_, token=token, sentences=tuple(each)) for (id_, token), each in groups]
