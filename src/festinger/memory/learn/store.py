"""Inserts new memories with their first sighting, vectors and sources.

The initial state, and the effects on other memories, are decided before.
"""

import json
from collections.abc import Sequence
from datetime import UTC
from typing import Any

from festinger.ids import Origin
from festinger.memory.changes import Link, add_links
from festinger.memory.confidence import FRESH, IMMUTABLE
from festinger.memory.deps import MemoryDeps
from festinger.memory.jobs import EMBED
from festinger.memory.learn.candidates import PendingMemory
from festinger.memory.learn.supersede import supersession_time
from festinger.memory.model import Memory, SourceTag, Status, memory_from_row
from festinger.memory.vectors import vector_columns
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.memory")

TAGS = {
    Origin.TOOL: SourceTag.TOOL,
    Origin.DOCUMENT: SourceTag.EXTERNAL_DOCUMENT,
    Origin.JOB: SourceTag.INTERNAL_CONSOLIDATION,
}


async def store_memory(
    deps: MemoryDeps,
    transaction: Transaction,
    prepared: PendingMemory,
    *,
    status: Status,
    pending: bool = False,
    counted: bool = True,
    superseded_by: Memory | None = None,
) -> Memory | None:
    """Store a new memory with its first sighting, vectors and sources; None if an exact duplicate exists."""
    statement, request, scope = prepared.statement, prepared.request, prepared.scope
    state = _state_columns(deps, prepared, status=status, counted=counted, superseded_by=superseded_by)
    row = await transaction.maybe(Q["put_memory"], **_columns(prepared, state, pending=pending))
    if row is None:
        return None
    memory = memory_from_row(row)
    deps.stored(scope.space)
    await add_links(
        transaction,
        scope.space,
        memory.id,
        Link.DERIVES_FROM,
        to=[*request.derived_from, *(turn.id for turn in request.turns)],
        at=statement.at,
    )
    if prepared.vectors is None:
        await deps.ask(transaction, EMBED, space=scope.space)
    return memory


async def store_memories(
    deps: MemoryDeps, transaction: Transaction, many: Sequence[tuple[PendingMemory, bool]]
) -> list[Memory | None]:
    """Store new memories without sources, each with its pending flag; None where a duplicate exists."""
    rows = await transaction.each(Q["put_memory"], [_new_columns(deps, *each) for each in many])
    for prepared, _ in many:
        deps.stored(prepared.scope.space)
    return [memory_from_row(row) if row else None for row in rows]


async def store_without_learning(deps: MemoryDeps, transaction: Transaction, many: Sequence[PendingMemory]) -> int:
    """Store many new memories without comparing them or emitting events; return how many.

    Not a way to learn: it quickly fills a store that is thrown away.
    """
    return await transaction.run_many(Q["put_memory"], [_new_columns(deps, each, False) for each in many])


def preview_memory(deps: MemoryDeps, prepared: PendingMemory, *, pending: bool) -> Memory:
    """Build the memory that a statement will become; only `seq` is unknown."""
    statement, request, scope = prepared.statement, prepared.request, prepared.scope
    columns = _new_columns(deps, prepared, pending)
    return Memory(
        space_id=scope.space,
        id=prepared.ref,
        seq=0,
        agent_id=statement.owner,
        kind=statement.kind,
        content=statement.text,
        subject=statement.subject,
        subject_key=statement.subject_key,
        attribute_key=columns["attribute_key"],
        value_key=columns["value_key"],
        fold=statement.fold,
        gist=statement.gist,
        origin=statement.origin,
        trust=statement.trust,
        source=request.source,
        source_tag=columns["source_tag"],
        source_confidence=request.source_confidence,
        session_id=scope.session or None,
        episode_id=request.episode_id,
        turn_id=request.turn_id,
        status=Status.ACTIVE,
        pending=pending,
        valid_from=request.valid_from,
        immutable=request.immutable,
        confidence=columns["confidence"],
        weight_alpha=columns["alpha"],
        weight_beta=columns["beta"],
        event_time=request.event_time,
        event_day=request.event_time.astimezone(UTC).date() if request.event_time else None,
        tags=request.tags,
        metadata=request.metadata,
        created_at=statement.at,
        updated_at=statement.at,
    )


def _new_columns(deps: MemoryDeps, prepared: PendingMemory, pending: bool) -> dict[str, Any]:
    """Columns of a memory that is active from the start."""
    state = _state_columns(deps, prepared, status=Status.ACTIVE, counted=True)
    return _columns(prepared, state, pending=pending)


def _columns(prepared: PendingMemory, state: dict[str, Any], *, pending: bool) -> dict[str, Any]:
    return {
        **state,
        "pending": pending,
        **_statement_columns(prepared),
        **_source_columns(prepared),
        **vector_columns(prepared.vectors),
    }


def _state_columns(
    deps: MemoryDeps, prepared: PendingMemory, *, status: Status, counted: bool, superseded_by: Memory | None = None
) -> dict[str, Any]:
    """The initial state, and the memory that already replaced it, if any."""
    at = prepared.statement.at
    return {
        "status": status.value,
        "superseded_by": superseded_by.id if superseded_by else None,
        "superseded_at": at if superseded_by else None,
        "valid_to": supersession_time(superseded_by, at) if superseded_by else None,
        "counted": counted,
        "uncounted": None if counted else status.value,
        "confidence": deps.terms(prepared.scope.space).initial_confidence,
    }


def _statement_columns(prepared: PendingMemory) -> dict[str, Any]:
    """The statement and its initial weight."""
    statement, request = prepared.statement, prepared.request
    weight = IMMUTABLE if request.immutable else FRESH
    return {
        "id": prepared.ref,
        "owner": statement.owner,
        "kind": statement.kind.value,
        "content": statement.text,
        "subject": statement.subject,
        "subject_key": statement.subject_key,
        "attribute_key": statement.slot.attribute if statement.slot else None,
        "value_key": statement.slot.value if statement.slot else None,
        "fold": statement.fold,
        "gist": statement.gist,
        "valid_from": request.valid_from,
        "immutable": request.immutable,
        "alpha": weight.alpha,
        "beta": weight.beta,
        "event_time": request.event_time,
        "tags": list(request.tags),
        "metadata": json.dumps(request.metadata),
    }


def _source_columns(prepared: PendingMemory) -> dict[str, Any]:
    """Who statement it, where and when."""
    statement, request, scope = prepared.statement, prepared.request, prepared.scope
    return {
        "space": scope.space,
        "agent": scope.agent,
        "session": scope.session,
        "origin": statement.origin.value,
        "trust": statement.trust,
        "source": request.source,
        "source_tag": (request.source_tag or TAGS.get(statement.origin, SourceTag.EXTERNAL_USER)).value,
        "source_confidence": request.source_confidence,
        "episode": request.episode_id,
        "turn": request.turn_id,
        "at": statement.at,
        "day": statement.at.date(),
    }
