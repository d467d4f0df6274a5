"""Stores judgements and finds them again.

Every judgement is a row. A waiting pair has one row, which each attempt updates and the last one closes. One
judge never judges the same pair of texts twice, and a person's decision overrules all earlier ones. A pair is
retried after a minute, ten minutes, an hour, six hours and a day; after that many attempts by one judge it
becomes a question to a person. Rules and small models always give the same answer, so without an LLM nothing
is retried: the pair waits for a judge that has not seen it, or for a person.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from festinger.clock import Clock
from festinger.errors import NotFound
from festinger.events.catalogue import NewEvent
from festinger.events.outbox import Outbox
from festinger.ids import NewId, SpaceId
from festinger.judge.model import (
    CurrentSide,
    Judgement,
    JudgementRecord,
    PairJudgement,
    PersonDecision,
    Relation,
    StatementPair,
    WaitingPair,
    person_judgement,
)
from festinger.records import field_values, row_mapper
from festinger.store.pool import Store, Transaction
from festinger.store.queries import load_queries

DELAYS = (timedelta(minutes=1), timedelta(minutes=10), timedelta(hours=1), timedelta(hours=6), timedelta(hours=24))
MAX_TRIES = 5
LLM = "llm:"


def next_try(judge: str, *, attempts: int, now: datetime, max_tries: int = MAX_TRIES) -> datetime | None:
    """Return when a pair is retried after so many attempts by this judge; none if a person must decide."""
    if not judge.startswith(LLM) or attempts >= max_tries:
        return None
    return now + DELAYS[min(max(attempts, 1), len(DELAYS)) - 1]


Q = load_queries("festinger.judge")

HOUR = timedelta(hours=1)
MOST_LISTED = 500

Known = dict[tuple[bytes, bytes], Judgement]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeDeps:
    """The dependencies of this package."""

    store: Store
    outbox: Outbox
    clock: Clock
    new_id: NewId
    max_tries: Callable[[SpaceId], int] = lambda _space: MAX_TRIES


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgementBacklog:
    """The waiting pairs of a space."""

    waiting: int
    for_person: int
    oldest: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeModelUsage:
    """How many statements a model was asked about, and how often."""

    statements: int
    calls: int


async def find_known_judgements(
    deps: JudgeDeps, space: SpaceId, pairs: Sequence[StatementPair], *, judges: Sequence[str]
) -> Known:
    """Find final judgements of these texts by people or one of `judges`; a person's decision comes first."""
    hashes = [pair.hashes for pair in pairs]
    rows = await deps.store.all(
        Q["known_judgements"],
        space=space,
        old_hashes=[old for old, _ in hashes],
        new_hashes=[new for _, new in hashes],
        judges=list(judges),
    )
    # Rows by people come last and so replace all others.
    return {(bytes(row["old_hash"]), bytes(row["new_hash"])): _judgement_from_row(row) for row in rows}


async def save_judgements(
    deps: JudgeDeps, transaction: Transaction, space: SpaceId, opinions: Sequence[PairJudgement]
) -> list[UUID]:
    """Store judgements in the transaction that applies them; returns their ids in the same order."""
    kept: Kept = {}
    if final := [each for each in opinions if each.judgement.final]:
        rows = _rows(deps, final)
        found = await transaction.all(Q["keep_final_judgements"], space=space, now=deps.clock(), rows=rows)
        kept = {(row["old_ref"], row["new_ref"]): row["id"] for row in found}
    waiting = {_refs(each): each for each in opinions if not each.judgement.final}
    for judge in dict.fromkeys(each.judgement.judge for each in waiting.values()):
        unsure = [each for each in waiting.values() if each.judgement.judge == judge]
        kept |= await _save_waiting(deps, transaction, space, unsure, judge=judge)
    ids = [kept[_refs(each)] for each in opinions]
    told = [_build_judgement_event(id_, each) for id_, each in zip(ids, opinions, strict=True)]
    await deps.outbox.emit_all(transaction, told, space=space)
    return ids


Kept = dict[tuple[UUID, UUID], UUID]
"""Ids of stored judgements by pair."""


def _refs(opinion: PairJudgement) -> tuple[UUID, UUID]:
    return opinion.pair.old_ref, opinion.pair.new_ref


async def _save_waiting(
    deps: JudgeDeps, transaction: Transaction, space: SpaceId, opinions: Sequence[PairJudgement], *, judge: str
) -> Kept:
    """Store pairs that one judge was not sure of; each may already be waiting."""
    now, most = deps.clock(), deps.max_tries(space)
    found = await transaction.all(
        Q["keep_waiting_judgements"],
        space=space,
        now=now,
        tries=[next_try(judge, attempts=n, now=now, max_tries=most) for n in range(1, most + 1)],
        # Always in the same order, or two processes could deadlock on each other's rows.
        rows=_rows(deps, sorted(opinions, key=_refs)),
    )
    return {(row["old_ref"], row["new_ref"]): row["id"] for row in found}


def _rows(deps: JudgeDeps, opinions: Sequence[PairJudgement]) -> str:
    """Serialize judgements for the SQL statements."""
    return json.dumps([_columns(deps, each) for each in opinions], default=str)


def _columns(deps: JudgeDeps, opinion: PairJudgement) -> dict[str, Any]:
    said, pair = opinion.judgement, opinion.pair
    old_hash, new_hash = pair.hashes
    refs = {"old_ref": pair.old_ref, "new_ref": pair.new_ref}
    hashes = {"old_hash": old_hash.hex(), "new_hash": new_hash.hex()}
    return {**field_values(said), **refs, **hashes, "id": deps.new_id(), "latency_ms": opinion.latency_ms}


def _build_judgement_event(kept: UUID, opinion: PairJudgement) -> NewEvent:
    pair, said = opinion.pair, opinion.judgement
    about = {"judgement": str(kept), "old": str(pair.old_ref), "new": str(pair.new_ref)}
    verdict = {"relation": said.relation.value, "confidence": said.confidence, "judge": said.judge}
    return NewEvent(
        name="judgement_made" if said.final else "judgement_waiting",
        subject=str(pair.new_ref),
        payload={**about, **verdict} if said.final else about,
    )


async def save_person_decision(
    deps: JudgeDeps,
    transaction: Transaction,
    space: SpaceId,
    pair: StatementPair,
    *,
    name: str,
    relation: Relation,
    current: CurrentSide,
    reasoning: str = "",
) -> tuple[UUID, Judgement]:
    """Store a person's decision on a pair and overrule all earlier judgements of these texts."""
    said = person_judgement(name, relation, current=current, reasoning=reasoning or "A person decided.")
    [kept] = await save_judgements(deps, transaction, space, [PairJudgement(pair=pair, judgement=said)])
    old_hash, new_hash = pair.hashes
    await transaction.run(
        Q["overrule"],
        space=space,
        by=kept,
        old_hash=old_hash,
        new_hash=new_hash,
        old_ref=pair.old_ref,
        new_ref=pair.new_ref,
    )
    return kept, said


async def find_judgement(deps: JudgeDeps, space: SpaceId, judgement: UUID) -> JudgementRecord:
    missing = NotFound(f"There is no judgement `{judgement}`.")
    return _record_from_row(await deps.store.one(Q["find_judgement"], missing, space=space, id=judgement))


async def load_judgements(
    deps: JudgeDeps, space: SpaceId, *, final: bool | None = None, before: UUID | None = None, limit: int = 50
) -> list[JudgementRecord]:
    """List the newest judgements; `final=False` lists those that wait."""
    most = min(limit, MOST_LISTED)
    rows = await deps.store.all(Q["list_judgements"], space=space, final=final, before=before, limit=most)
    return list(map(_record_from_row, rows))


async def list_person_decisions(deps: JudgeDeps, space: SpaceId, *, limit: int) -> list[PersonDecision]:
    """List people's decisions that were not overruled, newest first."""
    rows = await deps.store.all(Q["decided_by_people"], space=space, limit=limit)
    return [
        PersonDecision(
            old_ref=row["old_ref"],
            new_ref=row["new_ref"],
            hashes=(bytes(row["old_hash"]), bytes(row["new_hash"])),
            relation=Relation(row["relation"]),
        )
        for row in rows
    ]


async def list_statement_judgements(
    deps: JudgeDeps, space: SpaceId, ref: UUID, *, limit: int = 100
) -> list[JudgementRecord]:
    """List the judgements of one statement, newest first."""
    return list(map(_record_from_row, await deps.store.all(Q["judgements_of"], space=space, ref=ref, limit=limit)))


async def list_due_pairs(deps: JudgeDeps, space: SpaceId, *, judge: str, limit: int) -> list[WaitingPair]:
    """List the pairs due for `judge`, the last of the cascade."""
    rows = await deps.store.all(
        Q["due_judgements"], space=space, judge=judge, now=deps.clock(), max_tries=deps.max_tries(space), limit=limit
    )
    return [_waiting_from_row(row) for row in rows]


async def load_backlog(deps: JudgeDeps, space: SpaceId) -> JudgementBacklog:
    return JudgementBacklog(**await deps.store.one(Q["count_waiting"], space=space, max_tries=deps.max_tries(space)))


async def model_usage_since(deps: JudgeDeps, space: SpaceId, since: datetime) -> JudgeModelUsage:
    """Return how much a model was asked since a time."""
    return JudgeModelUsage(**await deps.store.one(Q["count_asking"], space=space, since=since))


async def model_calls_last_hour(deps: JudgeDeps, space: SpaceId) -> int:
    """Count the model calls about pairs of this space in the last hour."""
    count: int = await deps.store.value(Q["count_asked"], space=space, since=deps.clock() - HOUR)
    return count


async def list_waiting_pairs(transaction: Transaction, space: SpaceId, ref: UUID) -> list[WaitingPair]:
    """List the pairs of a statement that wait for a judge."""
    rows = await transaction.all(Q["judgements_of"], space=space, ref=ref, limit=MOST_LISTED)
    return [_waiting_from_row(row) for row in rows if not row["final"]]


async def drop_waiting_pairs(transaction: Transaction, space: SpaceId, ref: UUID) -> None:
    """Drop all waiting pairs of a statement that is gone."""
    await transaction.run(Q["drop_waiting"], space=space, ref=ref)


async def drop_waiting_pair(transaction: Transaction, space: SpaceId, judgement: UUID) -> None:
    """Drop one waiting pair, one of whose statements is gone."""
    await transaction.run(Q["drop_one_waiting"], space=space, id=judgement)


async def redact_judgements(transaction: Transaction, space: SpaceId, refs: Sequence[UUID]) -> None:
    """Erase the words of judgements on forgotten statements; the rows stay."""
    await transaction.run(Q["forget_judgements"], space=space, refs=list(refs))


_judgement_from_row = row_mapper(Judgement)
_waiting_from_row = row_mapper(WaitingPair)
_build_record = row_mapper(JudgementRecord)


def _record_from_row(row: dict[str, Any]) -> JudgementRecord:
    return _build_record({**row, "judgement": _judgement_from_row(row)})
