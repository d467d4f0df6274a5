"""Has what a process keeps in memory been changed by another?

Each space counts the writes of each room. A deed that changes something which others may cache raises the
count in its own transaction and tells everybody who listens; so what was told, and what can be compared later
by who did not hear it, are the same number. Hearing and reloading is `listening`'s matter.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from festinger.ids import SpaceId
from festinger.store.pool import Store, Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.store")

GONE = 0
"""The version of what is no longer counted, because its space was erased."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cached:
    """What may be cached: something of one room in one space."""

    space: SpaceId
    room: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What was written, and the how-manieth write it was."""

    what: Cached
    version: int


async def raise_version(transaction: Transaction, *, space: SpaceId, room: str) -> int:
    """Count a write and tell the others, both when this transaction ends well."""
    row = await transaction.one(Q["raise_cache_version"], space=space, room=room)
    return int(row["version"])


async def versions(store: Store) -> Mapping[Cached, int]:
    """How far every count is now."""
    rows = await store.all(Q["cache_versions"])
    return {Cached(space=row["space_id"], room=row["room"]): row["version"] for row in rows}


def read_change(payload: str) -> Change | None:
    """What a notification says; none if it is not one of ours."""
    try:
        said = orjson.loads(payload)
        return Change(
            what=Cached(space=SpaceId(said["space"]), room=said["room"]), version=int(said["version"])
        )
    except (ValueError, TypeError, KeyError):
        return None
