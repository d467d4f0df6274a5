"""Creates, renames and erases spaces.

Each is one transaction with its event. Every package that keeps rows of a space provides the query that
erases them.
"""

from contextlib import suppress

from festinger.ids import EVERY_SPACE, MAIN_SPACE
from festinger.runtime.app import App
from festinger.runtime.auth import ROOM
from festinger.store.cache_invalidation import bump_version
from festinger.store.pool import Transaction
from festinger.store.queries import Query, queries_of
from festinger.store.repositories.spaces import Space, create_space, delete_space, rename_space

ERASERS: tuple[Query, ...] = (queries_of("festinger.events")["erase_space"],)
"""What erases a space in the packages above the store, in order of dependency."""


async def add_space(app: App, name: str) -> Space:
    async with app.store.transaction() as transaction:
        space = await create_space(transaction, name, at=app.tools.clock())
        await app.outbox.emit(
            transaction, "space_created", space=space.id, subject=f"space:{space.id}", payload={"space": space.name}
        )
        await _count(transaction)
    await app.world.begin(space.id)
    return space


async def change_space_name(app: App, space: Space, name: str) -> Space:
    """Rename a space."""
    async with app.store.transaction() as transaction:
        renamed = await rename_space(transaction, space.id, name=name)
        await _count(transaction)
    return renamed


async def erase_space(app: App, space: Space) -> int:
    """Erase every row of a space; return how many. The person has typed its name."""
    async with app.store.transaction(patient=True) as transaction:
        rows = await delete_space(transaction, space.id, typed_name=space.name, erasers=ERASERS)
        await app.outbox.emit(
            transaction,
            "space_deleted",
            space=MAIN_SPACE,
            subject=f"space:{space.id}",
            payload={"space": space.name, "rows": rows},
        )
        await _count(transaction)
    return rows


async def count_space_rows(app: App, space: Space) -> int:
    """Count the rows that would go with a space, by erasing it in a transaction that is rolled back."""
    rows = 0
    with suppress(_RollbackAfterCount):
        async with app.store.transaction(patient=True) as transaction:
            rows = await delete_space(transaction, space.id, typed_name=space.name, erasers=ERASERS)
            raise _RollbackAfterCount
    return rows


class _RollbackAfterCount(Exception):
    """Rolls back a transaction that was made to count."""


async def _count(transaction: Transaction) -> None:
    """Notify every process that the list of spaces has changed."""
    await bump_version(transaction, space=EVERY_SPACE, room=ROOM)
