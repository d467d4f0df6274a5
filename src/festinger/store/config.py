"""Which settings did people change while Festinger ran?

Rows of the table `config`, for all spaces ('*') or for one. They are written in the caller's transaction, so
that the event which tells of the change stands or falls with it, and every process hears of it. Whether a
value is allowed, and which source wins, is decided in `settings`: only what was validated there comes here.
"""

from dataclasses import dataclass
from datetime import datetime

from festinger.ids import SpaceId
from festinger.store.pool import Store, Transaction
from festinger.store.queries import queries_of
from festinger.store.versions import raise_version

Q = queries_of("festinger.store")

ROOM = "settings"
"""The name under which changes of these rows are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRow:
    space: SpaceId
    key: str
    value: str
    updated_at: datetime
    updated_by: str


async def config_rows(store: Store, *, space: SpaceId | None = None) -> list[ConfigRow]:
    """Every row, or those of one space."""
    rows = await store.all(Q["config_rows"], space=space)
    return [ConfigRow(**row) for row in rows]


async def find_config(transaction: Transaction, *, space: SpaceId, key: str) -> str | None:
    """The value of one row, kept from changing until the transaction ends."""
    row = await transaction.maybe(Q["lock_config"], space=space, key=key)
    return str(row["value"]) if row else None


async def put_config(transaction: Transaction, row: ConfigRow) -> str | None:
    """Write a row; the value that it replaces, if there was one."""
    before = await find_config(transaction, space=row.space, key=row.key)
    await transaction.run(
        Q["put_config"], space=row.space, key=row.key, value=row.value, at=row.updated_at, by=row.updated_by
    )
    await _count(transaction, row.space)
    return before


async def delete_config(transaction: Transaction, *, space: SpaceId, key: str) -> str | None:
    """Take a row away, so that the next weaker source counts; the value that it had, if it was there."""
    gone = await transaction.maybe(Q["delete_config"], space=space, key=key)
    if gone is None:
        return None
    await _count(transaction, space)
    return str(gone["value"])


async def _count(transaction: Transaction, space: SpaceId) -> None:
    await transaction.run(Q["raise_settings_version"], space=space)
    await raise_version(transaction, space=space, room=ROOM)
