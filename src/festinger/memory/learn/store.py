"""Inserts new memories with their first sighting, vectors and sources.

The initial state, and the effects on other memories, are decided before.
"""

import json
from collections.abc import Sequence
from datetime import UTC
from typing import Any

from festinger.ids import Origin
from festinger.memory.changes import MemoryRelation, add_links
from festinger.memory.confidence import FRESH, IMMUTABLE
from festinger.memory.deps import MemoryDeps
from festinger.memory.jobs import EMBED
from festinger.memory.learn.candidates import PendingMemory
from festinger.memory.learn.supersede import replaced_validity_end
from festinger.memory.model import Memory, SourceTag, Status, memory_from_row
from festinger.memory.vectors import vector_columns
from festinger.records import row_mapper
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.memory")

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
    columns = _columns(deps, prepared, status=status, pending=pending, counted=counted, superseded_by=superseded_by)
    row = await transaction.maybe(Q["put_memory"], **columns)
    if row is None:
        return None
    memory = memory_from_row(row)
    deps.stored(scope.space)
    await add_links(
        transaction,
        scope.space,
        memory.id,
        MemoryRelation.DERIVES_FROM,
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
    rows = await transaction.each(
        Q["put_memory"], [_columns(deps, each, status=Status.ACTIVE, pending=pending) for each, pending in many]
    )
    for prepared, _ in many:
        deps.stored(prepared.scope.space)
    return [memory_from_row(row) if row else None for row in rows]


async def store_without_learning(deps: MemoryDeps, transaction: Transaction, many: Sequence[PendingMemory]) -> int:
    """Store many new memories without comparing them or emitting events; return how many.

    Not a way to learn: it quickly fills a store that is thrown away.
    """
    return await transaction.run_many(Q["put_memory"], [_columns(deps, each, status=Status.ACTIVE) for each in many])


_map_preview = row_mapper(
    Memory,
    space_id="space",
    agent_id="owner",
    session_id="session",
    episode_id="episode",
    turn_id="turn",
    weight_alpha="alpha",
    weight_beta="beta",
    created_at="at",
    updated_at="at",
)


def build_unsaved_memory(deps: MemoryDeps, prepared: PendingMemory, *, pending: bool) -> Memory:
    """Build the memory that a statement will become; only `seq` is unknown."""
    request, columns = prepared.request, _columns(deps, prepared, status=Status.ACTIVE, pending=pending)
    day = request.event_time.astimezone(UTC).date() if request.event_time else None
    known = {"seq": 0, "session": columns["session"] or None, "event_day": day, "metadata": request.metadata}
    return _map_preview(columns | known)


def _columns(
    deps: MemoryDeps,
    prepared: PendingMemory,
    *,
    status: Status,
    pending: bool = False,
    counted: bool = True,
    superseded_by: Memory | None = None,
) -> dict[str, Any]:
    """The columns of a new memory; `superseded_by` is the memory that already replaced it, if any."""
    statement, request, scope = prepared.statement, prepared.request, prepared.scope
    weight = IMMUTABLE if request.immutable else FRESH
    return {
        "id": prepared.ref,
        "space": scope.space,
        "agent": scope.agent,
        "session": scope.session,
        "owner": statement.owner,
        "kind": statement.kind.value,
        "content": statement.text,
        "subject": statement.subject,
        "subject_key": statement.subject_key,
        "attribute_key": statement.slot.attribute if statement.slot else None,
        "value_key": statement.slot.value if statement.slot else None,
        "fold": statement.fold,
        "gist": statement.gist,
        "origin": statement.origin.value,
        "trust": statement.trust,
        "source": request.source,
        "source_tag": (request.source_tag or TAGS.get(statement.origin, SourceTag.EXTERNAL_USER)).value,
        "source_confidence": request.source_confidence,
        "episode": request.episode_id,
        "turn": request.turn_id,
        "status": status.value,
        "pending": pending,
        "superseded_by": superseded_by.id if superseded_by else None,
        "superseded_at": statement.at if superseded_by else None,
        "valid_from": request.valid_from,
        "valid_to": replaced_validity_end(superseded_by, statement.at) if superseded_by else None,
        "immutable": request.immutable,
        "counted": counted,
        "uncounted": None if counted else status.value,
        "confidence": deps.terms(scope.space).initial_confidence,
        "alpha": weight.alpha,
        "beta": weight.beta,
        "event_time": request.event_time,
        "tags": list(request.tags),
        "metadata": json.dumps(request.metadata),
        "at": statement.at,
        "day": statement.at.date(),
        **vector_columns(prepared.vectors),
    }
