"""Rotates the master key and re-encrypts every stored secret, all or nothing.

The new key is written next to the old one, all sealed values are resealed in one transaction that also
records the id of the new key, and after the commit the new file replaces the old one. A rotation that was
killed leaves two files; the next start asks the database which key is in use and keeps that one. A lock keeps
starts from looking while a rotation is between its first file and its commit.
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
    SecretLocation,
    Vault,
    delete_next_key,
    generate_master_key,
    key_id,
    next_key_path,
    read_key_file,
    replace_with_next_key,
    write_key_file,
)
from festinger.store.pool import Store, Transaction
from festinger.store.queries import Query, load_queries

Q = load_queries("festinger.store")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedColumn:
    """A column of sealed values: where it is, and how they are read and replaced."""

    table: str
    column: str
    all: Query
    change: Query


SEALED_COLUMNS = (
    SealedColumn(table="models", column="api_key", all=Q["sealed_model_keys"], change=Q["change_model_key"]),
)
"""Every column of sealed values; a rotation reseals all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRotationResult:
    key: MasterKey
    moved: int
    unreadable: int
    """Secrets that the old key could not open either; they are left as they were and must be set again."""


async def rotate_master_key(store: Store, old: MasterKey, *, entropy: Entropy) -> KeyRotationResult:
    """Reseal every secret with a new master key."""
    if old.file is None:
        raise SettingPinned(
            f"The master key comes from `{VARIABLE}` and cannot be changed here.",
            hint=f"Put it into the key file, unset `{VARIABLE}`, then rotate.",
        )
    new = replace(generate_master_key(entropy), file=old.file)
    async with store.transaction() as transaction:
        await transaction.maybe(Q["lock_master_key"])
        await _check_name(transaction, key_id(old))
        # Left by a rotation that never committed; one that did would have raised `Stale` above.
        delete_next_key(old.file)
        write_key_file(next_key_path(old.file), new)
        moved, unreadable = await _reseal(transaction, Vault(old, entropy), Vault(new, entropy))
        await transaction.run(Q["put_master_key"], key_id=key_id(new))
    # A process that started after the commit may have done this already.
    with suppress(FileNotFoundError):
        replace_with_next_key(old.file)
    log.info("master key rotated", room="store", moved=moved, unreadable=unreadable)
    return KeyRotationResult(key=new, moved=moved, unreadable=unreadable)


async def recover_master_key(store: Store, found: MasterKey) -> MasterKey:
    """Return the key in force, after finishing or undoing an interrupted rotation. Runs at every start."""
    async with store.transaction() as transaction:
        await transaction.maybe(Q["lock_master_key"])
        recorded = await _load_recorded_key_id(transaction)
        key = _finish_interrupted_rotation(found, recorded)
        if recorded != key_id(key):
            # First start, or the key was lost and replaced: the new one seals from now on.
            await transaction.run(Q["put_master_key"], key_id=key_id(key))
            if recorded is not None:
                log.warning("master key is another one", room="store", was=recorded, now=key_id(key))
    return key


async def require_current_key(transaction: Transaction, name: str) -> None:
    """Ensure that `name` is the current key, and keep it so until this transaction ends."""
    await transaction.maybe(Q["share_master_key"])
    await _check_name(transaction, name)


async def _check_name(transaction: Transaction, name: str) -> None:
    recorded = await _load_recorded_key_id(transaction)
    if recorded not in (None, name):
        raise Stale(
            "The master key was changed since this process started.", hint="Restart it; it then reads the new key."
        )


async def _load_recorded_key_id(transaction: Transaction) -> str | None:
    row = await transaction.maybe(Q["find_master_key"])
    return None if row is None else str(row["key_id"])


def _finish_interrupted_rotation(found: MasterKey, recorded: str | None) -> MasterKey:
    if found.file is None:
        return found
    try:
        waiting = read_key_file(next_key_path(found.file))
    except FileNotFoundError:
        # Read again under the lock: a rotation may have finished in the meantime.
        return read_key_file(found.file)
    if key_id(waiting) == recorded:
        replace_with_next_key(found.file)
        log.info("rotation of the master key finished", room="store")
    else:
        delete_next_key(found.file)
        log.info("rotation of the master key undone", room="store")
    return read_key_file(found.file)


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
