"""Has this call been made before?

A caller who does not know whether a call went through makes it again with the same key. What the first one did is
kept for a day in the transaction that did it, and given back; the same key with other words is refused.
"""

import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import UUID

from festinger.errors import Replayed
from festinger.ids import SpaceId
from festinger.memory.desk import Desk
from festinger.memory.given import Given
from festinger.memory.learned import Learned, learned_of
from festinger.memory.memory import Place
from festinger.memory.states import find_all
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.memory")

KEPT_FOR = timedelta(hours=24)

Write = Callable[[], Awaitable[Learned]]


async def earlier(desk: Desk, transaction: Transaction, place: Place, given: Given) -> Learned | None:
    """What a call with this key did, if there was one."""
    if given.key is None:
        return None
    since = desk.clock() - KEPT_FOR
    row = await transaction.maybe(
        Q["find_key"], space=place.space, agent=place.agent, key=given.key, since=since
    )
    if row is None:
        return None
    if bytes(row["body_hash"]) != given.body_hash:
        raise Replayed(f"The key `{given.key[:40]}` was used for other words.")
    kept = row["result"]
    memory = UUID(kept["memory"]) if kept["memory"] else None
    found = await find_all(transaction, place.space, [memory]) if memory else {}
    return learned_of(kept, next(iter(found.values()), None))


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
