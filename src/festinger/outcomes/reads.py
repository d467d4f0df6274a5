"""What was read, but not used yet?

A read alone is no evidence: it waits here until an outcome says that the memory was used, and is let go otherwise.
"""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from festinger.ids import SpaceId
from festinger.observability.metrics import OUTCOMES_SKIPPED
from festinger.outcomes.desk import Desk, Reporter
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.outcomes")


async def stage(
    desk: Desk,
    transaction: Transaction,
    reporter: Reporter,
    memories: Sequence[UUID],
    *,
    partition: str | None = None,
) -> int:
    """Note that memories were read; how many of them are there. Each that is listed twice was read twice."""
    if not memories:
        return 0
    now, space = desk.clock(), reporter.place.space
    rows = await transaction.all(
        Q["stage_reads"],
        space=space,
        ids=[desk.new_id() for _ in memories],
        memories=list(memories),
        agent=reporter.place.agent,
        partition=partition or reporter.partition,
        at=now,
        expires=now + timedelta(seconds=desk.terms(space).staged_ttl_s),
    )
    known = {row["id"] for row in rows}
    missing = sum(memory not in known for memory in memories)
    if missing:
        OUTCOMES_SKIPPED.labels("unknown").inc(missing)
    return len(memories) - missing


async def prune_reads(desk: Desk, space: SpaceId) -> int:
    """Let go of reads whose time is over: they count as discarded."""
    return await desk.store.run(Q["prune_reads"], space=space, at=desk.clock())
