"""Confirms a memory that is stated again.

The new wording is stored as a sighting; empty fields are filled, nothing is overwritten. It is evidence only
if it brings a new cause. For a held memory its conflict counts one more sighting; for a quarantined one it
does not count.
"""

from dataclasses import replace
from typing import Any
from uuid import UUID

from festinger.ids import cause_columns
from festinger.memory.changes import (
    ChangeDraft,
    MemoryChangeOp,
    MemoryRelation,
    find_ancestors,
    find_linked_ids,
    write_change,
)
from festinger.memory.confidence import CauseCounts, SightingUncountedReason, corroborate_belief, find_uncounted_reason
from festinger.memory.deps import MemoryDeps
from festinger.memory.learn.candidates import CandidateComparison, PendingMemory
from festinger.memory.learn.result import Learned, build_result, emit_learn_event
from festinger.memory.model import LearnAction, Memory, Status, belief_columns, memory_from_row
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.world.conflicts import open_memory_conflict

Q = load_queries("festinger.memory")


async def record_confirmation(
    deps: MemoryDeps,
    transaction: Transaction,
    prepared: PendingMemory,
    target: CandidateComparison,
    *,
    kept: UUID | None = None,
) -> Learned:
    """Record that a memory, which the caller holds locked, was stated again. `kept` is the stored judgement."""
    memory, suspicions = target.memory, prepared.statement.suspicions
    because = await _load_uncounted_reason(transaction, memory, prepared)
    sighting = await _put_sighting(deps, transaction, prepared, target, kept=kept, because=because)
    confirmed, change, conflict = memory, None, None
    if not suspicions:
        confirmed = await _confirm(transaction, memory, prepared)
        if because is None:
            confirmed, change = await _corroborate(deps, transaction, confirmed, prepared, sighting, kept)
        if memory.status is Status.HELD:
            conflict = await _count_conflict_sighting(deps, transaction, memory)
        payload = {"sighting": str(sighting), "counted": because is None, "cause_count": confirmed.cause_count}
        await emit_learn_event(deps, transaction, prepared, "fact_confirmed", confirmed, **payload)
    action = {Status.HELD: LearnAction.CONFLICTED, Status.QUARANTINED: LearnAction.QUARANTINED}.get(
        memory.status, LearnAction.QUARANTINED if suspicions else LearnAction.CONFIRMED
    )
    learned = build_result(
        action, prepared, confirmed, compared=[target], judgement=target.judgement, reasons=suspicions
    )
    return replace(learned, counted=because is None, change=change, conflict=conflict)


async def _load_uncounted_reason(
    transaction: Transaction, memory: Memory, prepared: PendingMemory
) -> SightingUncountedReason | None:
    if memory.status is Status.QUARANTINED or prepared.statement.suspicions:
        return SightingUncountedReason.QUARANTINED
    if memory.status is Status.HELD:
        return SightingUncountedReason.HELD
    if prepared.statement.is_internal:
        return SightingUncountedReason.INTERNAL
    row = await transaction.one(
        Q["counted_causes"], space=memory.space_id, memory=memory.id, **cause_columns(prepared.cause)
    )
    counts = CauseCounts(of_cause=row["of_cause"], of_agent_today=row["of_agent_today"])
    return find_uncounted_reason(counts, is_own_derivation=await _is_own_derivation(transaction, memory, prepared))


async def _is_own_derivation(transaction: Transaction, memory: Memory, prepared: PendingMemory) -> bool:
    """Whether the statement derives from the memory itself, or both share a source."""
    request = prepared.request
    sources: set[UUID] = {*request.derived_from, *(turn.id for turn in request.turns)}
    if not sources:
        return False
    line = await find_ancestors(transaction, memory.space_id, [*request.derived_from])
    mine = {each.id for each in await find_ancestors(transaction, memory.space_id, [memory.id])}
    return not ({memory.id} | mine).isdisjoint(sources | {each.id for each in line})


async def _put_sighting(
    deps: MemoryDeps,
    transaction: Transaction,
    prepared: PendingMemory,
    target: CandidateComparison,
    *,
    kept: UUID | None,
    because: SightingUncountedReason | None,
) -> UUID:
    statement, request, sighting = prepared.statement, prepared.request, deps.new_uuid()
    await transaction.run(
        Q["put_sighting"],
        space=target.memory.space_id,
        id=sighting,
        memory=target.memory.id,
        **cause_columns(prepared.cause),
        trust=statement.trust,
        wording=statement.text,
        source=request.source,
        episode=request.episode_id,
        turn=request.turn_id,
        similarity=target.similarity,
        judgement=kept,
        at=statement.at,
        counted=because is None,
        uncounted=because.value if because else None,
        **_detail_columns(prepared),
    )
    return sighting


async def _confirm(transaction: Transaction, memory: Memory, prepared: PendingMemory) -> Memory:
    details, at = _detail_columns(prepared), prepared.statement.at
    row = await transaction.one(Q["confirm_memory"], space=memory.space_id, id=memory.id, at=at, **details)
    return memory_from_row(row)


def _detail_columns(prepared: PendingMemory) -> dict[str, Any]:
    """Details of a statement besides its text."""
    return {
        "subject": prepared.statement.subject,
        "subject_key": prepared.statement.subject_key,
        "event_time": prepared.request.event_time,
        "tags": list(prepared.request.tags),
    }


async def _corroborate(
    deps: MemoryDeps,
    transaction: Transaction,
    memory: Memory,
    prepared: PendingMemory,
    sighting: UUID,
    kept: UUID | None,
) -> tuple[Memory, UUID]:
    """Apply a new cause to the belief in a memory."""
    statement, cap = prepared.statement, deps.terms(memory.space_id).memory.untrusted_confidence_cap
    belief = corroborate_belief(memory.belief, trust=statement.trust, origin=statement.origin, cap=cap)
    columns = belief_columns(belief)
    row = await transaction.one(Q["revalue"], space=memory.space_id, id=memory.id, causes=1, at=statement.at, **columns)
    before = {name: getattr(memory, name) for name in (*columns, "cause_count")}
    note = ChangeDraft(
        op=MemoryChangeOp.CONFIRM,
        before={memory.id: before},
        after={memory.id: columns | {"cause_count": memory.cause_count + 1}},
        by=statement.origin.value,
        reason="a new cause says the same",
        cause=prepared.cause,
        judgement=kept,
        more={"sighting": str(sighting)},
    )
    return memory_from_row(row), await write_change(deps, transaction, memory.space_id, note)


async def _count_conflict_sighting(deps: MemoryDeps, transaction: Transaction, memory: Memory) -> UUID | None:
    """Count one more sighting of the conflicts of a held memory."""
    conflict = None
    for old in await find_linked_ids(transaction, memory.space_id, memory.id, MemoryRelation.CONTRADICTS):
        conflict = await open_memory_conflict(
            deps.world, transaction, memory.space_id, old=old, new=memory.id, judgement=None
        )
    return conflict
