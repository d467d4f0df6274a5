"""Confirms a memory that is stated again.

The new wording is stored as a sighting; empty fields are filled, nothing is overwritten. It is evidence only
if it brings a new cause. For a held memory its conflict counts one more sighting; for a quarantined one it
does not count.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from festinger.ids import Cause
from festinger.memory.changes import ChangeDraft, Link, MemoryChangeOp, find_ancestors, find_linked_ids, write_change
from festinger.memory.confidence import CauseCounts, MemoryUncountedReason, corroborate_belief, find_uncounted_reason
from festinger.memory.deps import MemoryDeps
from festinger.memory.learn.statement import ParsedStatement
from festinger.memory.model import Memory, Scope, Status, belief_columns, memory_from_row
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.world.conflicts import open_memory_conflict

Q = queries_of("festinger.memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmResult:
    memory: Memory
    sighting: UUID
    counted: bool
    change: UUID | None = None
    conflict: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmRequest:
    """A statement that repeats a memory."""

    place: Scope
    said: ParsedStatement
    similarity: float | None = None
    judgement: UUID | None = None
    suspicious: bool = False
    """Whether the statement itself would be quarantined: it then counts for nothing."""

    @property
    def cause(self) -> Cause:
        return self.place.cause(self.said.origin, self.said.at)


async def confirm_memory(
    deps: MemoryDeps, transaction: Transaction, memory: Memory, repeat: ConfirmRequest
) -> ConfirmResult:
    """Record that a memory was stated again. The caller holds it locked."""
    because = await _check_uncounted(transaction, memory, repeat)
    sighting = await _put_sighting(deps, transaction, memory, repeat, because)
    if repeat.suspicious:
        return ConfirmResult(memory=memory, sighting=sighting, counted=False)
    confirmed = memory_from_row(
        await transaction.one(
            Q["confirm_memory"], space=memory.space_id, id=memory.id, at=repeat.said.at, **_detail_columns(repeat)
        )
    )
    change = None
    if because is None:
        confirmed, change = await _corroborate(deps, transaction, confirmed, repeat, sighting)
    conflict = await _dispute_again(deps, transaction, memory) if memory.status is Status.HELD else None
    await _emit_confirmed(deps, transaction, confirmed, repeat, sighting=sighting, counted=because is None)
    return ConfirmResult(memory=confirmed, sighting=sighting, counted=because is None, change=change, conflict=conflict)


async def _check_uncounted(
    transaction: Transaction, memory: Memory, repeat: ConfirmRequest
) -> MemoryUncountedReason | None:
    if memory.status is Status.QUARANTINED or repeat.suspicious:
        return MemoryUncountedReason.QUARANTINED
    if memory.status is Status.HELD:
        return MemoryUncountedReason.HELD
    cause = repeat.cause
    row = await transaction.one(
        Q["counted_causes"],
        space=memory.space_id,
        memory=memory.id,
        agent=cause.agent,
        session=cause.session,
        day=cause.day,
        origin=cause.origin.value,
    )
    counts = CauseCounts(of_cause=row["of_cause"], of_agent_today=row["of_agent_today"])
    return find_uncounted_reason(counts, is_own_derivation=await _is_own_derivation(transaction, memory, repeat))


async def _is_own_derivation(transaction: Transaction, memory: Memory, repeat: ConfirmRequest) -> bool:
    """Whether the statement derives from the memory itself, or both share a source."""
    given = repeat.said.given
    sources: set[UUID] = {*given.derived_from, *(turn.id for turn in given.turns)}
    if not sources:
        return False
    line = await find_ancestors(transaction, memory.space_id, [*given.derived_from])
    mine = {each.id for each in await find_ancestors(transaction, memory.space_id, [memory.id])}
    return not ({memory.id} | mine).isdisjoint(sources | {each.id for each in line})


async def _put_sighting(
    deps: MemoryDeps,
    transaction: Transaction,
    memory: Memory,
    repeat: ConfirmRequest,
    because: MemoryUncountedReason | None,
) -> UUID:
    said, cause, sighting = repeat.said, repeat.cause, deps.new_uuid()
    await transaction.run(
        Q["put_sighting"],
        space=memory.space_id,
        id=sighting,
        memory=memory.id,
        agent=cause.agent,
        session=cause.session,
        day=cause.day,
        origin=cause.origin.value,
        trust=said.trust,
        wording=said.text,
        source=said.given.source,
        episode=said.given.episode_id,
        turn=said.given.turn_id,
        similarity=repeat.similarity,
        judgement=repeat.judgement,
        at=said.at,
        counted=because is None,
        uncounted=because.value if because else None,
        **_detail_columns(repeat),
    )
    return sighting


def _detail_columns(repeat: ConfirmRequest) -> dict[str, Any]:
    """Details of a statement besides its text."""
    said = repeat.said
    return {
        "subject": said.subject,
        "subject_key": said.subject_key,
        "event_time": said.given.event_time,
        "tags": list(said.given.tags),
    }


async def _corroborate(
    deps: MemoryDeps, transaction: Transaction, memory: Memory, repeat: ConfirmRequest, sighting: UUID
) -> tuple[Memory, UUID]:
    """Apply a new cause to the belief in a memory."""
    terms = deps.terms(memory.space_id)
    belief = corroborate_belief(
        memory.belief, trust=repeat.said.trust, origin=repeat.said.origin, cap=terms.memory.untrusted_confidence_cap
    )
    columns = belief_columns(belief)
    row = await transaction.one(
        Q["revalue"], space=memory.space_id, id=memory.id, causes=1, at=repeat.said.at, **columns
    )
    before = {name: getattr(memory, name) for name in (*columns, "cause_count")}
    note = ChangeDraft(
        op=MemoryChangeOp.CONFIRM,
        before={memory.id: before},
        after={memory.id: columns | {"cause_count": memory.cause_count + 1}},
        by=repeat.said.origin.value,
        reason="a new cause says the same",
        cause=repeat.cause,
        judgement=repeat.judgement,
        more={"sighting": str(sighting)},
    )
    return memory_from_row(row), await write_change(deps, transaction, memory.space_id, note)


async def _dispute_again(deps: MemoryDeps, transaction: Transaction, memory: Memory) -> UUID | None:
    """Count one more sighting of the conflicts of a held memory."""
    conflict = None
    for old in await find_linked_ids(transaction, memory.space_id, memory.id, Link.CONTRADICTS):
        conflict = await open_memory_conflict(
            deps.world, transaction, memory.space_id, old=old, new=memory.id, judgement=None
        )
    return conflict


async def _emit_confirmed(
    deps: MemoryDeps, transaction: Transaction, memory: Memory, repeat: ConfirmRequest, **payload: Any
) -> None:
    told = {"memory": str(memory.id), "sighting": str(payload["sighting"]), "counted": payload["counted"]}
    await deps.outbox.emit(
        transaction,
        "fact_confirmed",
        space=memory.space_id,
        subject=f"memory:{memory.id}",
        payload=told | {"cause_count": memory.cause_count},
        agent=repeat.place.agent,
        session=repeat.place.session or None,
    )
