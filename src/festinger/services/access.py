"""Issues and revokes API keys, and creates, renames and erases spaces.

Each is one transaction with its event. The secret of a key is returned once, to the caller. Every package that
keeps rows of a space provides the query that erases them.
"""

from contextlib import suppress

from festinger.ids import EVERY_SPACE, MAIN_SPACE, AgentId, SpaceId
from festinger.runtime.app import App
from festinger.runtime.auth import ROOM
from festinger.store.cache_invalidation import bump_cache_version
from festinger.store.pool import Transaction
from festinger.store.queries import Query, load_queries
from festinger.store.repositories.auth import AccessRole, ApiKey, make_key, new_api_key, revoke_key
from festinger.store.repositories.spaces import Space, create_space, delete_space, find_space, rename_space


async def issue_key(
    app: App, name: str, *, role: AccessRole, space: SpaceId, agent: str | None, by: str
) -> tuple[ApiKey, str]:
    """Create a key; return it with its secret. `space` is a name, or `*` for all spaces."""
    # An administrator runs the whole installation: such a key cannot belong to one space.
    whole = space == EVERY_SPACE or role is AccessRole.ADMIN
    owner = EVERY_SPACE if whole else (await find_space(app.store, space)).id
    secret = new_api_key(app.tools.entropy)
    key = ApiKey(
        space=owner,
        id=app.tools.new_id(),
        name=name,
        role=role,
        agent=AgentId(agent) if agent else None,
        created_at=app.tools.clock(),
    )
    async with app.store.transaction() as transaction:
        await make_key(transaction, key, secret=secret)
        payload = {"key": str(key.id), "scopes": [role.value], "by": by}
        await app.outbox.emit(
            transaction, "key_made", space=_event_space(key), subject=f"key:{key.id}", payload=payload
        )
    return key, secret


async def withdraw_key(app: App, key: ApiKey, *, by: str) -> None:
    """Revoke a key everywhere."""
    async with app.store.transaction() as transaction:
        await revoke_key(transaction, space=key.space, key=key.id, at=app.tools.clock())
        payload = {"key": str(key.id), "by": by}
        await app.outbox.emit(
            transaction, "key_revoked", space=_event_space(key), subject=f"key:{key.id}", payload=payload
        )


def _event_space(key: ApiKey) -> SpaceId:
    return MAIN_SPACE if key.space == EVERY_SPACE else key.space


ERASERS: tuple[Query, ...] = (load_queries("festinger.events")["erase_space"],)
"""What erases a space in the packages above the store, in order of dependency."""


async def add_space(app: App, name: str) -> Space:
    async with app.store.transaction() as transaction:
        space = await create_space(transaction, name, at=app.tools.clock())
        await app.outbox.emit(
            transaction, "space_created", space=space.id, subject=f"space:{space.id}", payload={"space": space.name}
        )
        await _count(transaction)
    await app.world.begin(space.id)
    # Others hear of it by the cache's notice; who made it may name it at once.
    await app.directory.reload()
    return space


async def change_space_name(app: App, space: Space, name: str) -> Space:
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
    await bump_cache_version(transaction, space=EVERY_SPACE, room=ROOM)
