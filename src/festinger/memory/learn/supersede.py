"""Supersedes and merges memories.

A superseded memory becomes history: what replaced it, when, and until when it held are recorded; confidence
and weight stay. Everything that one statement replaces is one change, which can be undone. What may replace
what is decided before; only the impossible is refused here. In a merge one memory keeps its wording, the
other points to it and is no longer recalled; sightings move and evidence is added. A merge can be undone too.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.errors import Refused
from festinger.ids import Cause, MemoryId, SpaceId
from festinger.memory.changes import (
    LONGEST_CHAIN,
    ChangeDraft,
    Columns,
    MemoryChangeOp,
    MemoryRelation,
    add_links,
    diff_state,
    update_state,
    write_change,
)
from festinger.memory.confidence import merge_weights
from festinger.memory.deps import MemoryDeps
from festinger.memory.jobs import EMBED
from festinger.memory.model import Memory, Status, belief_columns, memory_from_row
from festinger.observability.metrics import MEMORY_SUPERSEDED
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.memory")


def replaced_validity_end(new: Memory, now: datetime) -> datetime:
    """The time until which what it replaces was valid."""
    return new.valid_from or new.event_time or now


async def supersede_all(
    deps: MemoryDeps,
    transaction: Transaction,
    new: Memory,
    olds: Sequence[Memory],
    *,
    by: str,
    reason: str,
    cause: Cause | None = None,
    judgements: Mapping[MemoryId, UUID] | None = None,
    earlier: Memory | None = None,
) -> tuple[Memory, UUID]:
    """Replace locked memories by `new`; return the new one and the change.

    `earlier` is the former state of the new one, if it only now becomes active.
    """
    now, space = deps.clock(), new.space_id
    until = replaced_validity_end(new, now)
    states: dict[MemoryId, tuple[Columns, Columns]] = {}
    fresh = await update_state(transaction, new, at=now, valid_from=until) if new.valid_from is None else new
    states[new.id] = diff_state(earlier or new, fresh, also=("status",))
    for old in olds:
        gone = await update_state(
            transaction,
            old,
            at=now,
            status=Status.SUPERSEDED,
            pending=False,
            superseded_by=new.id,
            superseded_at=now,
            valid_to=until,
        )
        states[old.id] = diff_state(old, gone)
        await deps.panel.drop(transaction, space, old.id)
    note = ChangeDraft(
        op=MemoryChangeOp.SUPERSEDE,
        before={memory: before for memory, (before, _) in states.items()},
        after={memory: after for memory, (_, after) in states.items()},
        by=by,
        reason=reason,
        cause=cause,
        judgement=next(iter((judgements or {}).values()), None),
        more={"new": str(new.id), "old": [str(old.id) for old in olds]},
    )
    change = await write_change(deps, transaction, space, note)
    ids = [old.id for old in olds]
    await add_links(transaction, space, new.id, MemoryRelation.SUPERSEDES, to=ids, at=now, judgements=judgements)
    for each in sorted(ids):
        await _emit_superseded(
            deps, transaction, space, old=each, new=new.id, change=change, judgements=judgements or {}
        )
    # It is searched with the words of what it replaced from now on; its vector follows.
    await deps.ask(transaction, EMBED, space=space)
    MEMORY_SUPERSEDED.inc(len(ids))
    return fresh, change


async def _emit_superseded(
    deps: MemoryDeps,
    transaction: Transaction,
    space: SpaceId,
    *,
    old: MemoryId,
    new: MemoryId,
    change: UUID,
    judgements: Mapping[MemoryId, UUID],
) -> None:
    judgement = judgements.get(old)
    await deps.outbox.emit(
        transaction,
        "memory_superseded",
        space=space,
        subject=f"memory:{old}",
        payload={
            "old": str(old),
            "new": str(new),
            "judgement": str(judgement) if judgement else None,
            "change": str(change),
        },
    )


async def record_superseded_on_arrival(
    deps: MemoryDeps, transaction: Transaction, old: Memory, *, by_memory: MemoryId, by: str, reason: str
) -> UUID:
    """Record that a statement was already history when it was learned."""
    _, after = diff_state(old, old, also=("status", "superseded_by", "superseded_at", "valid_to"))
    note = ChangeDraft(
        op=MemoryChangeOp.SUPERSEDE,
        before={old.id: {"status": Status.ACTIVE, "superseded_by": None, "superseded_at": None, "valid_to": None}},
        after={old.id: after},
        by=by,
        reason=reason,
        more={"new": str(by_memory), "old": [str(old.id)]},
    )
    change = await write_change(deps, transaction, old.space_id, note)
    await add_links(transaction, old.space_id, by_memory, MemoryRelation.SUPERSEDES, to=[old.id], at=deps.clock())
    await _emit_superseded(deps, transaction, old.space_id, old=old.id, new=by_memory, change=change, judgements={})
    return change


async def find_successors(transaction: Transaction, space: SpaceId, memory: UUID) -> list[Memory]:
    """List what replaced a memory, and what replaced that, nearest first."""
    rows = await transaction.all(Q["chain_on"], space=space, memory=memory, depth=LONGEST_CHAIN)
    return [memory_from_row(row) for row in rows]


async def check_no_cycle(transaction: Transaction, space: SpaceId, *, old: Memory, new: Memory) -> None:
    """Raise `Refused` if a memory would replace its own successor."""
    later = {memory.id for memory in await find_successors(transaction, space, new.id)}
    if old.id == new.id or old.id in later:
        raise Refused("A memory cannot replace what has replaced it.", old=str(old.id), new=str(new.id))


def order_survivor_first(one: Memory, other: Memory) -> tuple[Memory, Memory]:
    """Order two duplicates into survivor and other: immutable, then more trusted, more causes, older."""
    return (one, other) if _rank(one) <= _rank(other) else (other, one)


def _rank(memory: Memory) -> tuple[bool, float, int, int]:
    return not memory.immutable, -memory.trust, -memory.cause_count, memory.seq


async def merge_into(
    deps: MemoryDeps,
    transaction: Transaction,
    stays: Memory,
    goes: Memory,
    *,
    by: str,
    reason: str,
    judgement: UUID | None = None,
) -> tuple[Memory, UUID]:
    """Merge one locked memory into another; return the survivor and the change."""
    if stays.agent_id is not None and stays.agent_id != goes.agent_id:
        raise Refused("A memory of one agent cannot be folded into another agent's own.")
    now, space = deps.clock(), stays.space_id
    gone = await update_state(
        transaction, goes, at=now, status=Status.MERGED, pending=False, superseded_by=stays.id, superseded_at=now
    )
    merged = await _absorb_evidence(deps, transaction, stays, goes)
    before, after = diff_state(goes, gone)
    note = ChangeDraft(
        op=MemoryChangeOp.MERGE,
        before={goes.id: before, stays.id: {}},
        after={goes.id: after, stays.id: {}},
        by=by,
        reason=reason,
        judgement=judgement,
        more={"into": str(stays.id), "from": str(goes.id), **_gains(stays, merged)},
    )
    change = await write_change(deps, transaction, space, note)
    await transaction.run(Q["move_sightings"], space=space, duplicate=goes.id, into=stays.id, change=change)
    # The first sighting of a memory, recognizable by sharing its id, moves like the others.
    await add_links(
        transaction,
        space,
        goes.id,
        MemoryRelation.SAME_AS,
        to=[stays.id],
        at=now,
        judgements={stays.id: judgement} if judgement else None,
    )
    await deps.panel.drop(transaction, space, goes.id)
    await deps.outbox.emit(
        transaction,
        "memory_merged",
        space=space,
        subject=f"memory:{goes.id}",
        payload={"memory": str(goes.id), "into": str(stays.id), "change": str(change)},
    )
    return merged, change


async def _absorb_evidence(deps: MemoryDeps, transaction: Transaction, stays: Memory, goes: Memory) -> Memory:
    """Add the evidence of the other memory to the survivor."""
    now = deps.clock()
    weight = merge_weights(stays.weight, goes.weight, immutable=stays.immutable)
    columns = belief_columns(stays.belief) | {"weight_alpha": weight.alpha, "weight_beta": weight.beta}
    await transaction.one(Q["revalue"], space=stays.space_id, id=stays.id, at=now, causes=goes.cause_count, **columns)
    row = await transaction.one(
        Q["add_confirmations"],
        space=stays.space_id,
        id=stays.id,
        confirmations=goes.confirmation_count + 1,
        causes=0,
        at=now,
    )
    return memory_from_row(row)


def _gained(before: Memory, after: Memory) -> dict[str, float]:
    """What undoing the merge subtracts again."""
    names = ("weight_alpha", "weight_beta", "cause_count", "confirmation_count")
    return {name: getattr(after, name) - getattr(before, name) for name in names}


def _gains(before: Memory, after: Memory) -> dict[str, Any]:
    """What undoing the merge subtracts, and the weights to recompute it from."""
    return {"gained": _gained(before, after), "weights": {"before": _weights(before), "after": _weights(after)}}


def _weights(memory: Memory) -> dict[str, float]:
    return {"weight_alpha": memory.weight_alpha, "weight_beta": memory.weight_beta}
