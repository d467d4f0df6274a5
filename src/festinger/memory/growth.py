"""What is put away when a space holds more than it may?

A space may have a highest number of active memories. Over it those go that are held most lightly, believed least and
were not read for longest; what is held for good never does. They are put away, not erased: each is one change that
can be undone, and they are listed like everything that was archived.
"""

from festinger.ids import MemoryId, SpaceId
from festinger.memory.desk import Desk
from festinger.memory.revising import archive_in
from festinger.memory.states import lock
from festinger.store.queries import queries_of

Q = queries_of("festinger.memory")

BATCH = 100
BY = "job:growth"


async def shrink(desk: Desk, space: SpaceId) -> list[MemoryId]:
    """Put away what is too much; which."""
    most = desk.terms(space).memory.max_active
    gone: list[MemoryId] = []
    while most:
        async with desk.store.transaction() as transaction:
            rows = await transaction.all(Q["lightest"], space=space, most=most, limit=BATCH)
            found = await lock(transaction, space, [row["id"] for row in rows]) if rows else {}
            for memory in found.values():
                await archive_in(
                    desk, transaction, memory, by=BY, reason=f"more than {most:,} memories were active"
                )
            gone += list(found)
        if len(rows) < BATCH:
            break
    return gone
