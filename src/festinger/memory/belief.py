"""How do outcomes move what is held of memories?

`hold` locks some memories and gives what is held of each; whoever knows what happened computes what follows, with the
arithmetic of `confidence` and `weight`, and hands it back as effects, within the same transaction. The audit of an
outcome is kept by whoever reports it; a change by a person or by sleep is written down here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from festinger.ids import MemoryId, SpaceId
from festinger.memory.changes import Note, Op, write_change
from festinger.memory.confidence import Belief
from festinger.memory.desk import Desk
from festinger.memory.memory import Memory, belief_columns, memory_of
from festinger.memory.states import lock
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What is held of a memory from now on, and when it was read and used."""

    memory: MemoryId
    belief: Belief
    accesses: tuple[datetime, ...] = ()


KEPT_ACCESSES = 100
"""Times of access that a memory keeps."""


async def hold(transaction: Transaction, space: SpaceId, memories: Iterable[UUID]) -> dict[MemoryId, Belief]:
    """What is held of some memories, kept from changing until the transaction ends."""
    return {id_: memory.belief for id_, memory in (await lock(transaction, space, memories)).items()}


async def hold_known(
    transaction: Transaction, space: SpaceId, memories: Iterable[UUID]
) -> dict[MemoryId, Memory]:
    """Those of some memories that are there, kept from changing until the transaction ends."""
    rows = await transaction.all(Q["lock_memories"], space=space, memories=sorted(set(memories)))
    return {row["id"]: memory_of(row) for row in rows}


async def apply_effects(
    transaction: Transaction,
    space: SpaceId,
    effects: Sequence[Effect],
    *,
    at: datetime,
    keep: int = KEPT_ACCESSES,
) -> None:
    """Keep what is held of memories now. The caller holds them locked, and keeps the audit.

    Of the times at which a memory was read and used the last `keep` stay.
    """
    ordered = sorted(effects, key=lambda each: each.memory)
    held = [
        {"space": space, "id": each.memory, "causes": 0, "at": at, **belief_columns(each.belief)}
        for each in ordered
    ]
    read = [
        {"space": space, "id": each.memory, "times": list(each.accesses), "keep": keep}
        for each in ordered
        if each.accesses
    ]
    if held:
        await transaction.run_many(Q["revalue"], held)
    if read:
        await transaction.run_many(Q["note_accesses"], read)


async def weigh(
    desk: Desk,
    transaction: Transaction,
    space: SpaceId,
    effect: Effect,
    *,
    by: str,
    reason: str,
    evidence: Sequence[UUID] = (),
) -> UUID:
    """Move what is held of one memory for another reason than an outcome, and write that down."""
    held = (await lock(transaction, space, [effect.memory]))[effect.memory]
    before, after = belief_columns(held.belief), belief_columns(effect.belief)
    moved = [name for name in before if before[name] != after[name]]
    await apply_effects(transaction, space, [effect], at=desk.clock())
    note = Note(
        op=Op.WEIGHT,
        before={effect.memory: {name: before[name] for name in moved}},
        after={effect.memory: {name: after[name] for name in moved}},
        by=by,
        reason=reason,
        more={"evidence": [str(each) for each in evidence]},
    )
    return await write_change(desk, transaction, space, note)
