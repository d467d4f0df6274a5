"""Issues and revokes API keys.

A key and its event are one transaction. The secret is returned once, to the caller.
"""

from festinger.ids import EVERY_SPACE, MAIN_SPACE, AgentId, SpaceId
from festinger.runtime.app import App
from festinger.store.repositories.auth import AccessRole, ApiKey, make_key, new_secret, revoke_key
from festinger.store.repositories.spaces import find_space


async def issue_key(
    app: App, name: str, *, role: AccessRole, space: SpaceId, agent: str | None, by: str
) -> tuple[ApiKey, str]:
    """Create a key; return it with its secret. `space` is a name, or `*` for all spaces."""
    # An administrator runs the whole installation: such a key cannot belong to one space.
    whole = space == EVERY_SPACE or role is AccessRole.ADMIN
    owner = EVERY_SPACE if whole else (await find_space(app.store, space)).id
    secret = new_secret(app.tools.entropy)
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
        await app.outbox.emit(transaction, "key_made", space=_told_in(key), subject=f"key:{key.id}", payload=payload)
    return key, secret


async def withdraw_key(app: App, key: ApiKey, *, by: str) -> None:
    """Revoke a key everywhere."""
    async with app.store.transaction() as transaction:
        await revoke_key(transaction, space=key.space, key=key.id, at=app.tools.clock())
        payload = {"key": str(key.id), "by": by}
        await app.outbox.emit(transaction, "key_revoked", space=_told_in(key), subject=f"key:{key.id}", payload=payload)


def _told_in(key: ApiKey) -> SpaceId:
    return MAIN_SPACE if key.space == EVERY_SPACE else key.space
