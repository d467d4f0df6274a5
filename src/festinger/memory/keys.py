"""Has this call been made before?

A caller who does not know whether a call went through makes it again with the same key. What the first one did is
kept for a day in the transaction that did it, and given back; the same key with other words is refused.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from festinger.errors import Replayed
from festinger.ids import MemoryId, SpaceId
from festinger.memory.desk import Desk
from festinger.memory.given import Given
from festinger.memory.learned import Learned, learned_of
from festinger.memory.memory import Memory, Place
from festinger.memory.states import find_all
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.memory")

KEPT_FOR = timedelta(hours=24)

Write = Callable[[], Awaitable[Learned]]


async def earlier(desk: Desk, transaction: Transaction, place: Place, given: Given) -> Learned | None:
    """What a call with this key did, if there was one. Raises `Replayed`."""
    found = await earlier_all(desk, transaction, place, [given])
    if isinstance(done := found.get(given.key or ""), Replayed):
        raise done
    return done


async def earlier_all(
    desk: Desk, transaction: Transaction, place: Place, items: Sequence[Given]
) -> dict[str, Learned | Replayed]:
    """What calls with the keys of these did, by key; an error where one was made with other words."""
    asked = {given.key: given.body_hash for given in items if given.key}
    if not asked:
        return {}
    since = desk.clock() - KEPT_FOR
    rows = await transaction.all(
        Q["find_keys"], space=place.space, agent=place.agent, keys=list(asked), since=since
    )
    kept = [UUID(row["result"]["memory"]) for row in rows if row["result"]["memory"]]
    memories = await find_all(transaction, place.space, kept) if kept else {}
    return {row["key"]: _done(row, asked[row["key"]], memories) for row in rows}


def _done(
    row: Mapping[str, Any], body_hash: bytes, memories: Mapping[MemoryId, Memory]
) -> Learned | Replayed:
    if bytes(row["body_hash"]) != body_hash:
        return Replayed(f"The key `{row['key'][:40]}` was used for other words.")
    kept = row["result"]["memory"]
    return learned_of(row["result"], memories.get(MemoryId(UUID(kept))) if kept else None)


async def prune_keys(desk: Desk, space: SpaceId) -> int:
    """Let go of keys that are too old to mean anything."""
    return await desk.store.run(Q["prune_keys"], space=space, before=desk.clock() - KEPT_FOR)


async def once(desk: Desk, transaction: Transaction, place: Place, *, given: Given, write: Write) -> Learned:
    """Do it unless a call with the same key did it already; keep what it did."""
    if given.key is None:
        return await write()
    await transaction.run(Q["lock_key"], space=place.space, agent=place.agent, key=given.key)
    if (done := await earlier(desk, transaction, place, given)) is not None:
        return done
    learned = await write()
    result = learned.as_json() | {"memory": str(learned.memory.id) if learned.memory else None}
    await transaction.run(
        Q["keep_key"],
        space=place.space,
        agent=place.agent,
        key=given.key,
        body_hash=given.body_hash,
        result=json.dumps(result),
        at=desk.clock(),
    )
    return learned
