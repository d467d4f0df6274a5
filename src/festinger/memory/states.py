"""How does a memory come into another state?

Reads memories, with a lock where they are to change, and moves them between states within a transaction of the
caller's, who tells of it and writes the change down. What may be moved where is decided by the caller; that nothing
held for good is moved at all is held here.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.errors import NotFound, Refused
from festinger.ids import MemoryId, SpaceId, pick, prefix, read_id
from festinger.memory.changes import Columns
from festinger.memory.desk import Desk
from festinger.memory.kinds import Status
from festinger.memory.memory import Memory, memory_of
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.memory")

STATE = ("status", "pending", "superseded_by", "superseded_at", "valid_from", "valid_to", "immutable")
"""The columns that say in which state a memory is."""

Change = Mapping[str, Any]


async def find(transaction: Transaction, space: SpaceId, memory: UUID) -> Memory:
    row = await transaction.maybe(Q["find_memory"], space=space, id=memory)
    if row is None:
        raise NotFound(f"There is no memory `{memory}`.")
    return memory_of(row)


async def find_all(
    transaction: Transaction, space: SpaceId, memories: Iterable[UUID]
) -> dict[MemoryId, Memory]:
    """Those of some memories that are there."""
    wanted = list(memories)
    rows = await transaction.all(Q["find_memories"], space=space, memories=wanted) if wanted else []
    return {row["id"]: memory_of(row) for row in rows}


async def lock_all(
    transaction: Transaction, space: SpaceId, memories: Iterable[UUID]
) -> dict[MemoryId, Memory]:
    """Those of some memories that are there, kept from changing until the transaction ends."""
    wanted = list(dict.fromkeys(memories))
    rows = await transaction.all(Q["lock_memories"], space=space, memories=wanted) if wanted else []
    return {row["id"]: memory_of(row) for row in rows}


async def lock(transaction: Transaction, space: SpaceId, memories: Iterable[UUID]) -> dict[MemoryId, Memory]:
    """Some memories, kept from changing until the transaction ends. One that is not there is `NotFound`."""
    wanted = list(dict.fromkeys(memories))
    found = await lock_all(transaction, space, wanted)
    if missing := [memory for memory in wanted if memory not in found]:
        raise NotFound(f"There is no memory `{missing[0]}`.")
    return found


async def lock_one(transaction: Transaction, space: SpaceId, memory: UUID) -> Memory:
    return (await lock(transaction, space, [memory]))[MemoryId(memory)]


async def meant(desk: Desk, space: SpaceId, text: str | UUID) -> MemoryId:
    """The memory that a person means by an id or the beginning of one."""
    if isinstance(text, UUID):
        return MemoryId(text)
    if len(text.strip().replace("-", "")) == 32:
        return MemoryId(read_id(text))
    rows = await desk.store.all(Q["ids_that_begin"], space=space, prefix=prefix(text))
    return MemoryId(pick(text, [row["id"] for row in rows]))


async def restate(transaction: Transaction, memory: Memory, *, at: datetime, **changes: Any) -> Memory:
    """The memory in its new state. What is held for good is moved by nobody."""
    if memory.immutable and changes.get("immutable") is not False and "status" in changes:
        raise Refused(
            "This is held for good: it cannot be replaced, merged, archived or locked away.",
            hint="A person may forget it, or say first that it is no longer held for good.",
            reason="immutable",
            memory=str(memory.id),
        )
    columns = state_of(memory) | changes
    row = await transaction.one(Q["restate"], space=memory.space_id, id=memory.id, at=at, **columns)
    return memory_of(row)


def state_of(memory: Memory) -> dict[str, Any]:
    return {name: getattr(memory, name) for name in STATE}


def difference(before: Memory, after: Memory, *, also: Sequence[str] = ()) -> tuple[Columns, Columns]:
    """The columns of a state that differ, before and after; those of `also` in any case."""
    names = [name for name in STATE if name in also or getattr(before, name) != getattr(after, name)] + [
        name for name in also if name not in STATE
    ]
    return {name: getattr(before, name) for name in names}, {name: getattr(after, name) for name in names}


def standing_state(status: Status) -> dict[str, Any]:
    """What a memory has that nothing has replaced."""
    return {"status": status, "superseded_by": None, "superseded_at": None}
