"""How does something come out of quarantine?

Only by a person's word. Released, it goes through everything that a new statement goes through, with its old cause;
rejected, it is put away. That others say the same never sets it free.
"""

from dataclasses import replace
from uuid import UUID

from festinger.errors import Refused
from festinger.ids import SpaceId
from festinger.memory.changes import Note, Op, write_change
from festinger.memory.desk import Desk
from festinger.memory.kinds import Status
from festinger.memory.memory import Memory
from festinger.memory.recheck import recheck
from festinger.memory.revising import Revised, archive_in, tell
from festinger.memory.states import difference, lock_one, restate
from festinger.store.queries import queries_of

Q = queries_of("festinger.memory")


async def release(desk: Desk, space: SpaceId, memory: UUID, *, by: str) -> Revised:
    """Let a memory stand after all, and do what follows from it."""
    async with desk.store.transaction() as transaction:
        old = _locked_away(await lock_one(transaction, space, memory))
        new = await restate(transaction, old, at=desk.clock(), status=Status.ACTIVE)
        before, after = difference(old, new)
        note = Note(op=Op.RELEASE, before={old.id: before}, after={old.id: after}, by=by)
        change = await write_change(desk, transaction, space, note)
        await transaction.run(Q["count_sighting"], space=space, id=old.id)
        await tell(desk, transaction, new, "memory_released", by=by)
    followed = await recheck(desk, space, new.id, by=by)
    return Revised(memory=followed.memory if followed else replace(new), change=change)


async def reject(desk: Desk, space: SpaceId, memory: UUID, *, by: str, reason: str = "rejected") -> Revised:
    """Put away what was locked away."""
    async with desk.store.transaction() as transaction:
        old = _locked_away(await lock_one(transaction, space, memory))
        return await archive_in(desk, transaction, old, by=by, reason=reason)


def _locked_away(memory: Memory) -> Memory:
    if memory.status is not Status.QUARANTINED:
        raise Refused(f"This memory is not in quarantine: it is {memory.status.value}.")
    return memory
