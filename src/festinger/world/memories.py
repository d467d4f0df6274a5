"""What of the one queue of conflicts is about memories that are no more?

A memory that is forgotten leaves no conflict behind; of one that is taken back the conflicts are closed, and can be
opened again. Both within a transaction of the memory's.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from festinger.ids import SpaceId
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.world")


async def erase_memory_conflicts(transaction: Transaction, space: SpaceId, memories: Sequence[UUID]) -> int:
    return await transaction.run(Q["erase_memory_conflicts"], space=space, memories=list(memories))


async def withdraw_memory_conflicts(
    transaction: Transaction, space: SpaceId, memories: Sequence[UUID], *, by: str, at: datetime
) -> list[UUID]:
    """Close what waits about these memories, because one side of it was taken back; which."""
    rows = await transaction.all(
        Q["withdraw_memory_conflicts"], space=space, memories=list(memories), by=by, at=at
    )
    return [row["id"] for row in rows]


async def return_conflicts(transaction: Transaction, space: SpaceId, conflicts: Sequence[UUID]) -> None:
    """Let conflicts wait again that were closed because one side had been taken back."""
    await transaction.run(Q["return_conflicts"], space=space, conflicts=list(conflicts))
