"""How does every secret get another master key, whole or not at all?

The new key is written beside the old one, every sealed value is sealed anew in one transaction that also
records the name of the new key, and after the commit the new file takes the old one's place. Whoever is
killed on the way leaves two files; the next start asks the database which of them it is sealed with and
keeps that one. The lock lets no start look while a rotation is between its first file and its commit.
"""

from contextlib import suppress
from dataclasses import dataclass, replace

import structlog
from pydantic import SecretStr

from festinger.errors import SecretUnreadable, SettingPinned, Stale
from festinger.settings.master_key import (
    VARIABLE,
    Entropy,
    MasterKey,
    discard_next,
    new_key,
    next_file,
    promote_next,
    read_key,
    write_key,
)
from festinger.settings.vault import SecretLocation, Vault, key_id
from festinger.store.pool import Store, Transaction
from festinger.store.queries import Query, queries_of

Q = queries_of("festinger.store")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedColumn:
    """A column that holds boxes: where, how they are read and how they are replaced."""

    table: str
    column: str
    all: Query
    change: Query


SEALED_COLUMNS = (
    SealedColumn(table="models", column="api_key", all=Q["sealed_model_keys"], change=Q["change_model_key"]),
)
"""Every column that holds boxes; a rotation seals all of them anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationResult:
    key: MasterKey
    moved: int
    unreadable: int
    """Secrets that the old key could not open either; they stay as they were, to be set again."""


async def rotate_master_key(store: Store, old: MasterKey, *, entropy: Entropy) -> RotationResult:
    """Seal every secret with a new master key."""
    if old.file is None:
        raise SettingPinned(
            f"The master key comes from `{VARIABLE}` and cannot be changed here.",
            hint=f"Put it into the key file, unset `{VARIABLE}`, then rotate.",
        )
    new = replace(new_key(entropy), file=old.file)
    async with store.transaction() as transaction:
        await transaction.maybe(Q["lock_master_key"])
        await _check_name(transaction, key_id(old))
        # What a rotation left that never came to its commit; one that did would have been `Stale` above.
        discard_next(old.file)
        write_key(next_file(old.file), new)
        moved, unreadable = await _reseal(transaction, Vault(old, entropy), Vault(new, entropy))
        await transaction.run(Q["put_master_key"], key_id=key_id(new))
    # A process that started since the commit may have done this already.
    with suppress(FileNotFoundError):
        promote_next(old.file)
    log.info("master key rotated", room="store", moved=moved, unreadable=unreadable)
    return RotationResult(key=new, moved=moved, unreadable=unreadable)


async def recover_master_key(store: Store, found: MasterKey) -> MasterKey:
    """The key in force, after a rotation that was cut short is finished or undone. Part of every start."""
    async with store.transaction() as transaction:
        await transaction.maybe(Q["lock_master_key"])
        recorded = await _recorded(transaction)
        key = _settled_files(found, recorded)
        if recorded != key_id(key):
            # The first start, or the key was lost and another one took its place: it seals from now on.
            await transaction.run(Q["put_master_key"], key_id=key_id(key))
            if recorded is not None:
                log.warning("master key is another one", room="store", was=recorded, now=key_id(key))
    return key


async def require_current_key(transaction: Transaction, name: str) -> None:
    """Nothing may be sealed with a key that was rotated away; and none is, until this transaction ends."""
    await transaction.maybe(Q["share_master_key"])
    await _check_name(transaction, name)


async def _check_name(transaction: Transaction, name: str) -> None:
    recorded = await _recorded(transaction)
    if recorded not in (None, name):
        raise Stale(
            "The master key was changed since this process started.", hint="Restart it; it then reads the new key."
        )


async def _recorded(transaction: Transaction) -> str | None:
    row = await transaction.maybe(Q["find_master_key"])
    return None if row is None else str(row["key_id"])


def _settled_files(found: MasterKey, recorded: str | None) -> MasterKey:
    if found.file is None:
        return found
    try:
        waiting = read_key(next_file(found.file))
    except FileNotFoundError:
        # Read again, under the lock: since it was found a rotation may have ended.
        return read_key(found.file)
    if key_id(waiting) == recorded:
        promote_next(found.file)
        log.info("rotation of the master key finished", room="store")
    else:
        discard_next(found.file)
        log.info("rotation of the master key undone", room="store")
    return read_key(found.file)


async def _reseal(transaction: Transaction, old: Vault, new: Vault) -> tuple[int, int]:
    moved = unreadable = 0
    for column in SEALED_COLUMNS:
        for row in await transaction.all(column.all):
            place = SecretLocation(table=column.table, column=column.column, space=row["space_id"], row=str(row["id"]))
            secret = _opened(old, row[column.column], place)
            if secret is None:
                unreadable += 1
                continue
            values = {column.column: new.seal(secret, place)}
            await transaction.run(column.change, space=row["space_id"], id=row["id"], **values)
            moved += 1
    return moved, unreadable


def _opened(vault: Vault, sealed: str, place: SecretLocation) -> SecretStr | None:
    try:
        return vault.open(sealed, place)
    except SecretUnreadable:
        return None
