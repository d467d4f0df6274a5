"""Judges a few pairs of memories every ten minutes: those that surfaced together or share a subject.

Only pairs that nobody judged are taken, never random ones.
"""

from datetime import timedelta

from festinger.consolidation.night import Q
from festinger.ids import MemoryId, SpaceId
from festinger.judge.model import Relation
from festinger.memory.changes import find_memories
from festinger.memory.deps import MemoryDeps
from festinger.memory.late_judgements import apply_pair_judgement, build_memory_pair

MOST_PAIRS = 10
WINDOW = timedelta(hours=24)


async def scan_contradictions(deps: MemoryDeps, space: SpaceId) -> int:
    """Judge pairs that may contradict each other and apply what follows; return how many were judged."""
    rows = await deps.store.all(Q["unjudged_pairs"], space=space, since=deps.clock() - WINDOW, limit=MOST_PAIRS)
    async with deps.store.transaction() as transaction:
        found = await find_memories(transaction, space, {each for row in rows for each in (row["old"], row["new"])})
    pairs = [build_memory_pair(found[MemoryId(row["old"])], found[MemoryId(row["new"])]) for row in rows]
    for pair, said in zip(pairs, await deps.panel.at_once(space, pairs), strict=True):
        if said.final and said.relation is not Relation.UNSURE:
            await apply_pair_judgement(deps, space, pair, said, by="job:light_tick")
    return len(pairs)
