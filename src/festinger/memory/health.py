"""Reports the health of the memory and archives excess memories.

A space may have a maximum number of active memories. Beyond it, those with the least weight and confidence
that were not read for longest are archived, never immutable ones. Nothing is erased: each is one change that
can be undone.
"""

from collections.abc import Sequence
from datetime import datetime

from festinger.ids import MemoryId, SpaceId
from festinger.memory.changes import lock_memories
from festinger.memory.deps import MemoryDeps
from festinger.memory.edit import archive_in_transaction
from festinger.memory.learn.intake import KEPT_FOR
from festinger.observability.checks import Check, ok_check, warning_check
from festinger.observability.metrics import (
    MEMORY_EPISODES_UNSUMMARISED,
    MEMORY_HELD,
    MEMORY_PENDING,
    MEMORY_QUARANTINED,
    MEMORY_VECTORS_MISSING,
)
from festinger.store.queries import load_queries
from festinger.text.regex import is_valid_pattern

Q = load_queries("festinger.memory")

MOST_COUNTED = 10_000


async def update_gauges(deps: MemoryDeps, spaces: Sequence[SpaceId]) -> None:
    """Set the gauges to the current backlog."""
    counts = [await count_waiting(deps, space) for space in spaces]
    MEMORY_PENDING.set(sum(row["pending"] for row in counts))
    MEMORY_HELD.set(sum(row["held"] for row in counts))
    MEMORY_QUARANTINED.set(sum(row["quarantined"] for row in counts))
    waiting = [await deps.store.one(Q["count_unsummarised"], space=space) for space in spaces]
    MEMORY_EPISODES_UNSUMMARISED.set(sum(row["waiting"] for row in waiting))
    MEMORY_VECTORS_MISSING.set(sum([await count_missing_vectors(deps, space) for space in spaces]))


async def count_waiting(deps: MemoryDeps, space: SpaceId) -> dict[str, int]:
    """Count the memories of a space that are pending, held or quarantined."""
    return dict(await deps.store.one(Q["waiting_counts"], space=space))


async def count_sightings_since(deps: MemoryDeps, space: SpaceId, since: datetime) -> int:
    """Count how often something was learned or repeated since a time."""
    return int((await deps.store.one(Q["count_said"], space=space, since=since))["said"])


async def count_missing_vectors(deps: MemoryDeps, space: SpaceId) -> int:
    """Count the memories of a space that cannot be found by meaning."""
    embedder = deps.embedder()
    if embedder is None or not embedder.dimensions:
        return 0
    row = await deps.store.one(Q["count_unembedded"], space=space, model=embedder.name, limit=MOST_COUNTED)
    return int(row["missing"])


async def check_missing_vectors(deps: MemoryDeps, spaces: Sequence[SpaceId]) -> Check:
    """Check whether memories lack a vector."""
    missing = sum([await count_missing_vectors(deps, space) for space in spaces])
    if missing:
        return warning_check(
            "memory.vectors",
            f"{missing:,} memories have no vector of the present embedder; they are found by words.",
            "A job makes them by itself while a worker runs.",
            missing=missing,
        )
    return ok_check("memory.vectors", "Every memory can be found by meaning.")


async def check_censor_patterns(deps: MemoryDeps, spaces: Sequence[SpaceId]) -> Check:
    """Check whether every active censor has a usable pattern."""
    rows = [row for space in spaces for row in await deps.store.all(Q["censors_in_force"], space=space)]
    broken = [str(row["id"]) for row in rows if row["pattern"] and not is_valid_pattern(row["pattern"])]
    if broken:
        return warning_check(
            "memory.censors",
            f"{len(broken)} censors have a pattern that cannot be used: {', '.join(broken[:5])}.",
            "Give them another pattern, or switch them off with `festinger censor off`.",
            broken=broken[:100],
        )
    return ok_check("memory.censors", f"All {len(rows)} censors can strike." if rows else "There are no censors.")


BATCH = 100
BY = "job:growth"


async def archive_excess(deps: MemoryDeps, space: SpaceId) -> list[MemoryId]:
    """Archive memories beyond the maximum; return their ids."""
    most = deps.terms(space).memory.max_active
    gone: list[MemoryId] = []
    while most:
        async with deps.store.transaction() as transaction:
            rows = await transaction.all(Q["lightest"], space=space, most=most, limit=BATCH)
            found = await lock_memories(transaction, space, [row["id"] for row in rows]) if rows else {}
            for memory in found.values():
                await archive_in_transaction(
                    deps, transaction, memory, by=BY, reason=f"more than {most:,} memories were active"
                )
            gone += list(found)
        if len(rows) < BATCH:
            break
    return gone


async def prune_idempotency_keys(deps: MemoryDeps, space: SpaceId) -> int:
    """Delete expired keys."""
    return await deps.store.run(Q["prune_keys"], space=space, before=deps.clock() - KEPT_FOR)
