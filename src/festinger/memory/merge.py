"""How do two memories become one when it turns out that they say the same?

One of them stays, with its wording; the other points to it and is no longer recalled. Sightings move, and what each
had gathered is added. Nothing is lost, and all of it can be parted again.
"""

from typing import Any
from uuid import UUID

from festinger.errors import Refused
from festinger.ids import MemoryId
from festinger.memory.changes import Note, Op, write_change
from festinger.memory.desk import Desk
from festinger.memory.kinds import Status
from festinger.memory.links import Link, join
from festinger.memory.memory import Memory, belief_columns, memory_of
from festinger.memory.states import difference, restate
from festinger.memory.weight import united
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.memory")


def survivor(one: Memory, other: Memory) -> tuple[Memory, Memory]:
    """Which of two twins stays, and which goes: what is held for good, the more trusted, the more often caused,
    the older."""
    return (one, other) if _rank(one) <= _rank(other) else (other, one)


def _rank(memory: Memory) -> tuple[bool, float, int, int]:
    return not memory.immutable, -memory.trust, -memory.cause_count, memory.seq


async def merge_into(
    desk: Desk,
    transaction: Transaction,
    stays: Memory,
    goes: Memory,
    *,
    by: str,
    reason: str,
    judgement: UUID | None = None,
) -> tuple[Memory, UUID]:
    """Fold one memory into another, both locked; what stays, and the change."""
    if stays.agent_id is not None and stays.agent_id != goes.agent_id:
        raise Refused("A memory of one agent cannot be folded into another agent's own.")
    now, space = desk.clock(), stays.space_id
    gone = await restate(
        transaction,
        goes,
        at=now,
        status=Status.MERGED,
        pending=False,
        superseded_by=stays.id,
        superseded_at=now,
    )
    merged = await _gather(desk, transaction, stays, goes)
    before, after = difference(goes, gone)
    note = Note(
        op=Op.MERGE,
        before={goes.id: before, stays.id: {}},
        after={goes.id: after, stays.id: {}},
        by=by,
        reason=reason,
        judgement=judgement,
        more={"into": str(stays.id), "from": str(goes.id), **_gains(stays, merged)},
    )
    change = await write_change(desk, transaction, space, note)
    await transaction.run(Q["move_sightings"], space=space, twin=goes.id, into=stays.id, change=change)
    # The first sighting of a memory has its id, by which it is known as the first: it moves like the others.
    await join(
        transaction,
        space,
        goes.id,
        Link.SAME_AS,
        to=[stays.id],
        at=now,
        judgements={stays.id: judgement} if judgement else None,
    )
    await desk.panel.drop(transaction, space, goes.id)
    await desk.outbox.emit(
        transaction,
        "memory_merged",
        space=space,
        subject=f"memory:{goes.id}",
        payload={"memory": str(goes.id), "into": str(stays.id), "change": str(change)},
    )
    return merged, change


async def _gather(desk: Desk, transaction: Transaction, stays: Memory, goes: Memory) -> Memory:
    """Give what stays what the other had gathered."""
    now = desk.clock()
    weight = united(stays.weight, goes.weight, immutable=stays.immutable)
    columns = belief_columns(stays.belief) | {"weight_alpha": weight.alpha, "weight_beta": weight.beta}
    await transaction.one(
        Q["revalue"], space=stays.space_id, id=stays.id, at=now, causes=goes.cause_count, **columns
    )
    row = await transaction.one(
        Q["add_confirmations"],
        space=stays.space_id,
        id=stays.id,
        confirmations=goes.confirmation_count + 1,
        causes=0,
        at=now,
    )
    return memory_of(row)


def _gained(before: Memory, after: Memory) -> dict[str, float]:
    """What parting takes away again."""
    names = ("weight_alpha", "weight_beta", "cause_count", "confirmation_count")
    return {name: getattr(after, name) - getattr(before, name) for name in names}


def _gains(before: Memory, after: Memory) -> dict[str, Any]:
    """What parting takes away again, and the weights from which that can be computed anew."""
    return {
        "gained": _gained(before, after),
        "weights": {"before": _weights(before), "after": _weights(after)},
    }


def _weights(memory: Memory) -> dict[str, float]:
    return {"weight_alpha": memory.weight_alpha, "weight_beta": memory.weight_beta}


def both(one: MemoryId, other: MemoryId) -> list[MemoryId]:
    return sorted((one, other))
