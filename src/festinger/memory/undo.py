"""Undoes changes of memories.

A change is reverted if everything it touched is still as it left it; otherwise `UndoBlocked` names the later
changes.
Undoing a replacement restores only the old value, and the same pair is not replaced again. Undo is
idempotent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.errors import UndoBlocked
from festinger.ids import MemoryId, SpaceId
from festinger.judge.model import TIME, PairJudgement, Relation, person_judgement, unsure_judgement
from festinger.memory.annotate import NOTES, undo_annotation
from festinger.memory.changes import (
    STATE,
    Change,
    MemoryChangeOp,
    MemoryRelation,
    changes_of,
    find_change,
    has_same_columns,
    load_existing_memories,
    lock_change,
    lock_existing_memories,
    lock_memories,
    mark_links_undone,
    update_state,
)
from festinger.memory.confidence import SightingUncountedReason
from festinger.memory.deps import MemoryDeps
from festinger.memory.edit import archive_in_transaction
from festinger.memory.erasure.repair import undo_repair
from festinger.memory.jobs import RECHECK
from festinger.memory.late_judgements import build_memory_pair
from festinger.memory.model import Memory, Status, belief_columns
from festinger.observability.metrics import MEMORY_UNDONE
from festinger.records import record_json
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.world.write import lock_world

Q = load_queries("festinger.memory")

SPEAKER = "conversation"
"""The author of replacements by a correction in a conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoResult:
    """The undone change, and the memories as they are now."""

    change: Change
    memories: tuple[Memory, ...]

    def as_json(self) -> dict[str, Any]:
        return record_json(self)


async def undo(deps: MemoryDeps, space: SpaceId, change: UUID, *, by: str) -> UndoResult:
    """Undo a change. Raises `NotFound`, and `UndoBlocked` with the changes that build on it."""
    async with deps.store.transaction() as transaction:
        return await undo_in_transaction(deps, transaction, space, change, by=by)


async def undo_in_transaction(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, change: UUID, *, by: str
) -> UndoResult:
    """Undo a change in the caller's transaction."""
    found, present = await _lock_change_targets(transaction, space, change)
    if found.undone_at is not None:
        return UndoResult(change=found, memories=tuple(present.values()))
    await _check_untouched(transaction, space, found, present.values())
    if found.op is MemoryChangeOp.REPAIR:
        await undo_repair(deps, transaction, space, found)
    else:
        await _UNDOERS[found.op](deps, transaction, found, present, by)
    await transaction.run(Q["mark_undone"], space=space, id=change, at=deps.clock(), by=by)
    MEMORY_UNDONE.inc()
    now = await load_existing_memories(transaction, space, found.memory_ids)
    return UndoResult(change=await find_change(transaction, space, change), memories=tuple(now.values()))


async def _lock_change_targets(
    transaction: Transaction, space: SpaceId, change: UUID
) -> tuple[Change, dict[MemoryId, Memory]]:
    """Lock a change and its memories, after the world if the change is a repair."""
    asked = await find_change(transaction, space, change)
    if asked.undone_at is not None:
        return asked, await load_existing_memories(transaction, space, asked.memory_ids)
    if asked.after.get("forgotten"):
        raise UndoBlocked("A memory that this was about is forgotten.", changes=[])
    if asked.op is MemoryChangeOp.REPAIR:
        await lock_world(transaction, space)
    present = await lock_memories(transaction, space, asked.memory_ids)
    return await lock_change(transaction, space, change), present


async def _check_untouched(transaction: Transaction, space: SpaceId, change: Change, present: Any) -> None:
    """Raise `UndoBlocked` with the later changes if a memory is no longer as the change left it."""
    moved = [memory for memory in present if not has_same_columns(_columns(memory), change.touched(memory.id))]
    if not moved:
        return
    later = [
        each
        for each in await changes_of(transaction, space, [memory.id for memory in moved])
        if each.undone_at is None and (each.at, each.id) > (change.at, change.id)
    ]
    raise UndoBlocked("Something was done since that stands on this.", changes=[str(each.id) for each in later])


def _columns(memory: Memory) -> dict[str, Any]:
    names = [*STATE, *belief_columns(memory.belief), "cause_count", "content", "subject", "subject_key"]
    plain = {name: getattr(memory, name) for name in (*names, *NOTES, "attribute_key", "value_key")}
    return plain | {"fold": memory.fold.hex(), "gist": memory.gist.hex()}


async def _undo_state(
    deps: MemoryDeps, transaction: Transaction, change: Change, present: dict[MemoryId, Memory], by: str
) -> None:
    """Restore the former state of every memory."""
    for memory in present.values():
        before = change.before["memories"].get(str(memory.id), {})
        state = {name: _value(name, before[name]) for name in STATE if name in before}
        if not state:
            continue
        columns = {name: getattr(memory, name) for name in STATE} | state
        await transaction.one(Q["restate"], space=memory.space_id, id=memory.id, at=deps.clock(), **columns)
        if state.get("status") == Status.ACTIVE and memory.status is not Status.ACTIVE:
            await deps.outbox.emit(
                transaction,
                "memory_restored",
                space=memory.space_id,
                subject=f"memory:{memory.id}",
                payload={"memory": str(memory.id), "change": str(change.id)},
            )


async def _undo_release(
    deps: MemoryDeps, transaction: Transaction, change: Change, present: dict[MemoryId, Memory], by: str
) -> None:
    """Restore the former state; pairs that were settled by time wait anew."""
    await _undo_state(deps, transaction, change, present, by)
    for memory in present.values():
        olds = await load_existing_memories(transaction, memory.space_id, map(UUID, change.after.get("settled", [])))
        unsure = unsure_judgement(TIME, f"Undone by {by}.")
        pairs = [PairJudgement(pair=build_memory_pair(old, memory), judgement=unsure) for old in olds.values()]
        await deps.panel.keep(transaction, memory.space_id, pairs)


async def _undo_supersede(
    deps: MemoryDeps, transaction: Transaction, change: Change, present: dict[MemoryId, Memory], by: str
) -> None:
    """Restore the old memories; archive the new one if learning superseded them, else keep both."""
    new, olds = _ids(change, "new")[0], _ids(change, "old")
    await _undo_state(deps, transaction, change, present, by)
    space = next(iter(present.values())).space_id
    await mark_links_undone(transaction, space, new, MemoryRelation.SUPERSEDES, to=olds, at=deps.clock())
    everybody = await load_existing_memories(transaction, space, [new, *olds])
    was_learned = change.cause is not None or change.by == SPEAKER
    if was_learned and everybody[new].status is Status.ACTIVE:
        await update_state(transaction, everybody[new], at=deps.clock(), status=Status.ARCHIVED, pending=False)
    for old in olds:
        pair = build_memory_pair(everybody[old], everybody[new])
        judgement = person_judgement(by, Relation.UNRELATED, reasoning="The replacement was undone.")
        await deps.panel.store_person_decision(transaction, space, pair, judgement)


async def _undo_merge(
    deps: MemoryDeps, transaction: Transaction, change: Change, present: dict[MemoryId, Memory], by: str
) -> None:
    into, duplicate = _ids(change, "into")[0], _ids(change, "from")[0]
    stays, now, gained = present[into], deps.clock(), change.after["gained"]
    await _undo_state(deps, transaction, change, present, by)
    await transaction.run(
        Q["move_sightings_back"], space=stays.space_id, into=into, duplicate=duplicate, change=change.id
    )
    columns = belief_columns(stays.belief)
    columns |= {name: columns[name] - gained[name] for name in ("weight_alpha", "weight_beta")}
    causes, confirmations = -gained["cause_count"], -gained["confirmation_count"]
    await transaction.one(Q["revalue"], space=stays.space_id, id=into, at=now, causes=causes, **columns)
    await transaction.one(
        Q["add_confirmations"], space=stays.space_id, id=into, confirmations=confirmations, causes=0, at=now
    )
    await mark_links_undone(transaction, stays.space_id, duplicate, MemoryRelation.SAME_AS, to=[into], at=now)
    pair = build_memory_pair(stays, present[duplicate])
    judgement = person_judgement(by, Relation.UNRELATED, reasoning="They are two: the merge was undone.")
    await deps.panel.store_person_decision(transaction, stays.space_id, pair, judgement)


async def _undo_split(
    deps: MemoryDeps, transaction: Transaction, change: Change, present: dict[MemoryId, Memory], by: str
) -> None:
    """Restore the original and archive the parts, with what learning them did to others; what was known stays."""
    space = next(iter(present.values())).space_id
    for part in change.after.get("changes", []):
        await undo_in_transaction(deps, transaction, space, UUID(part), by=by)
    for memory in (await lock_existing_memories(transaction, space, _ids(change, "created"))).values():
        if memory.is_live:
            await archive_in_transaction(deps, transaction, memory, by=by, reason="the split was undone")
    await _undo_state(deps, transaction, change, present, by)


async def _undo_edit(
    deps: MemoryDeps, transaction: Transaction, change: Change, present: dict[MemoryId, Memory], by: str
) -> None:
    for memory in present.values():
        before = dict(change.before["memories"][str(memory.id)])
        if "content" not in before:
            await _undo_state(deps, transaction, change, present, by)
            continue
        marks = {name: bytes.fromhex(before.pop(name)) for name in ("fold", "gist")}
        await transaction.one(Q["reword"], space=memory.space_id, id=memory.id, at=deps.clock(), **before, **marks)
        await deps.ask(transaction, RECHECK, space=memory.space_id, memory=str(memory.id))


async def _undo_annotate(
    deps: MemoryDeps, transaction: Transaction, change: Change, present: dict[MemoryId, Memory], by: str
) -> None:
    for memory in present.values():
        await undo_annotation(deps, transaction, memory, change)


async def _undo_confirm(
    deps: MemoryDeps, transaction: Transaction, change: Change, present: dict[MemoryId, Memory], by: str
) -> None:
    for memory in present.values():
        before = dict(change.before["memories"][str(memory.id)])
        causes = before.pop("cause_count", memory.cause_count) - memory.cause_count
        columns = belief_columns(memory.belief) | before
        await transaction.one(
            Q["revalue"], space=memory.space_id, id=memory.id, at=deps.clock(), causes=causes, **columns
        )
        if sighting := change.after.get("sighting"):
            await transaction.run(
                Q["uncount_sighting"],
                space=memory.space_id,
                id=UUID(sighting),
                because=SightingUncountedReason.UNDONE.value,
            )


_UNDOERS = {
    MemoryChangeOp.SUPERSEDE: _undo_supersede,
    MemoryChangeOp.MERGE: _undo_merge,
    MemoryChangeOp.EDIT: _undo_edit,
    MemoryChangeOp.ANNOTATE: _undo_annotate,
    MemoryChangeOp.CONFIRM: _undo_confirm,
    MemoryChangeOp.WEIGHT: _undo_confirm,
    MemoryChangeOp.ARCHIVE: _undo_state,
    MemoryChangeOp.RESTORE: _undo_state,
    MemoryChangeOp.QUARANTINE: _undo_state,
    MemoryChangeOp.RELEASE: _undo_release,
    MemoryChangeOp.SPLIT: _undo_split,
}


def _ids(change: Change, name: str) -> Sequence[MemoryId]:
    kept = change.after.get(name, [])
    return [MemoryId(UUID(each)) for each in (kept if isinstance(kept, list) else [kept])]


def _value(name: str, kept: Any) -> Any:
    if kept is None or name in ("pending", "immutable", "status"):
        return kept
    return UUID(kept) if name == "superseded_by" else datetime.fromisoformat(kept)
