"""What does a new memory do to those that stand?

It replaces them, gives way to one that is newer, or is set against some and held until somebody decides; it may add
to some beside all that. Everything within the transaction that stores it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from festinger.ids import MemoryId, Origin
from festinger.memory.comparing import Compared
from festinger.memory.decision import Decided
from festinger.memory.desk import Desk
from festinger.memory.links import Link, join
from festinger.memory.memory import Memory
from festinger.memory.prepared import Prepared
from festinger.memory.supersede import born_superseded, supersede_all
from festinger.memory.telling import tell
from festinger.store.pool import Transaction
from festinger.world.conflicts import DELIBERATE, open_memory_conflict

Judgements = Mapping[MemoryId, UUID]
"""What was judged of each candidate, where it is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consequences:
    memory: Memory
    superseded: tuple[MemoryId, ...] = ()
    change: UUID | None = None
    conflict: UUID | None = None


async def bring_about(
    desk: Desk,
    transaction: Transaction,
    prepared: Prepared,
    memory: Memory,
    *,
    decided: Decided,
    compared: Mapping[MemoryId, Compared],
    judgements: Judgements,
    earlier: Memory | None = None,
) -> Consequences:
    """Carry out what was decided. `earlier` is what the memory was before, if it was there already."""
    done = Consequences(memory=memory)
    if decided.superseded_by and earlier is None:
        by_memory = MemoryId(decided.superseded_by)
        change = await born_superseded(
            desk, transaction, memory, by_memory=by_memory, by=prepared.who, reason=decided.why
        )
        return replace(done, change=change)
    if decided.conflicts:
        against = [compared[MemoryId(each)] for each in decided.conflicts]
        conflict = await dispute(desk, transaction, prepared, memory, against=against, judgements=judgements)
        return replace(done, conflict=conflict)
    if decided.supersedes:
        olds = [compared[MemoryId(each)].memory for each in decided.supersedes]
        fresh, change = await supersede_all(
            desk,
            transaction,
            memory,
            olds,
            by=prepared.who,
            reason=decided.why,
            cause=prepared.cause,
            judgements={old.id: judgements[old.id] for old in olds if old.id in judgements},
            earlier=earlier,
        )
        done = replace(done, memory=fresh, superseded=tuple(old.id for old in olds), change=change)
    refined = [MemoryId(each) for each in decided.refines]
    await join(
        transaction,
        memory.space_id,
        memory.id,
        Link.REFINES,
        to=refined,
        at=desk.clock(),
        judgements=judgements,
    )
    return done


async def dispute(
    desk: Desk,
    transaction: Transaction,
    prepared: Prepared,
    memory: Memory,
    *,
    against: Sequence[Compared],
    judgements: Judgements,
) -> UUID | None:
    """Put a held memory and each that it cannot stand beside into the one queue of conflicts; the first of them."""
    olds = [each.memory.id for each in against]
    at, is_deliberate = desk.clock(), prepared.said.given.asked and memory.origin is Origin.PERSON
    await join(
        transaction, memory.space_id, memory.id, Link.CONTRADICTS, to=olds, at=at, judgements=judgements
    )
    opened = []
    for each in against:
        conflict = await open_memory_conflict(
            desk.world,
            transaction,
            memory.space_id,
            old=each.memory.id,
            new=memory.id,
            judgement=judgements.get(each.memory.id),
            kind=each.opinion.judgement.relation.value,
            priority=DELIBERATE if is_deliberate else 0,
        )
        opened.append(conflict)
        told = {"against": str(each.memory.id), "conflict": str(conflict)}
        await tell(desk, transaction, prepared, "memory_held", memory, **told)
    return opened[0] if opened else None
