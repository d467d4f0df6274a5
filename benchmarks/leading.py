"""Times walks along the links between memories.

Some memories of a large store are recalled together again and again, in overlapping groups. From a few of
them the links are walked as a recall does: the partners, and what lies one or two steps beyond.
"""

from collections.abc import Sequence
from random import Random
from uuid import UUID

from festinger.clock import system_stopwatch
from festinger.ids import Scope
from festinger.retrieval.association import find_associations, record_co_access
from festinger.retrieval.deps import RetrievalDeps
from festinger.retrieval.query import parse_cue, parse_recall_query
from festinger.retrieval.score import ScoringContext
from festinger.retrieval.search import MOST_SEEDS, ArmHits, CueLookup, fetch_candidates
from festinger.store.pool import PlanMode
from festinger.store.queries import load_queries

Q = load_queries("festinger.store")

CUE = "What comes to mind?"
HOPS = (1, 2)
GROUP = 10
"""Memories recalled at once."""
SHARED_BY = 3
"""Groups that a memory is in, on average, so that a walk leads out of each."""
WARMING = 20
"""Walks before they count: each connection of the pool caches its plans after some."""


async def led_on(
    deps: RetrievalDeps, place: Scope, memories: Sequence[UUID], *, groups: int, seed: int
) -> dict[str, list[float]]:
    """Seconds of walks, by the number of steps beyond a partner."""
    chance = Random(seed)  # noqa: S311 - a choice of memories, not of secrets
    among = chance.sample(list(memories), max(GROUP, min(len(memories), groups * GROUP // SHARED_BY)))
    company = [chance.sample(among, GROUP) for _ in range(groups)]
    for group in company:
        async with deps.store.transaction() as transaction:
            await record_co_access(deps, transaction, place, group, recall=deps.new_id(), now=deps.clock())
    async with deps.store.apart() as connection:
        # In production the server does this by itself.
        await connection.execute(Q["tidy_everything"].sql)
    took: dict[str, list[float]] = {}
    for hops in HOPS:
        for group in company[:WARMING]:
            await _walked(deps, place, group[:MOST_SEEDS], hops=hops)
        took[str(hops)] = [await _walked(deps, place, group[:MOST_SEEDS], hops=hops) for group in company]
    return took


async def _walked(deps: RetrievalDeps, place: Scope, seeds: Sequence[UUID], *, hops: int) -> float:
    now, settings = deps.clock(), deps.terms(place.space).retrieval
    query = parse_recall_query(CUE, now=now, hops=hops)
    asked = ScoringContext(cue=parse_cue(CUE, now=now), terms=(), statistics={}, has_vector=False, now=now)
    began = system_stopwatch()
    async with deps.store.transaction(hot=True, plan=PlanMode.KEPT) as transaction:
        found = await fetch_candidates(
            deps,
            transaction,
            place,
            query,
            read=CueLookup(asked=asked, must=None, open_episode=None),
            found=ArmHits(arms={}, types={}),
            probe=None,
            settings=settings,
            seeds=seeds,
        )
    links = {each.ref: each.partners for each in found if each.partners}
    find_associations(dict.fromkeys(seeds, 1.0), links, hops=hops, top=settings.partners_top)
    return system_stopwatch() - began
