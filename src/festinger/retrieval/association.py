"""Links memories that are recalled together, and spreads from them.

The hits of one recall are paired, each with those right behind it, and the best of them with the best of the
previous recall in the session. A pair counts once per cause, so that a loop has one vote; its strength decays
on read, without a job. Spreading reaches a partner fully, less one step beyond, and hardly two; the strongest
path counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from festinger.ids import NO_SESSION, Cause, Origin, Scope
from festinger.retrieval.deps import RetrievalDeps
from festinger.store.pool import Transaction
from festinger.store.queries import format_uuid_array, load_queries

DAMPING = (1.0, 0.3, 0.1)
"""What remains at a partner, one step beyond it, and two."""
MOST_FOUND = 10
"""Memories added to a steady recall by association alone."""

Links = Mapping[UUID, Sequence[tuple[UUID, float]]]
"""The strongest partners of memories, each with the strength of the link from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssociationPath:
    """How strongly a memory was reached, and over which others, the seed first."""

    score: float
    way: tuple[UUID, ...]


def find_associations(
    seeds: Mapping[UUID, float], links: Links, *, hops: int = 1, top: int = 3
) -> dict[UUID, AssociationPath]:
    """Find what the seeds lead to within `hops` steps beyond a partner; never a seed itself."""
    found: dict[UUID, AssociationPath] = {}
    here = {seed: AssociationPath(score=score, way=()) for seed, score in seeds.items()}
    for damping in DAMPING[: hops + 1]:
        here = _spread_one_step(here, links, top=top)
        for memory, reached in here.items():
            damped = AssociationPath(score=damping * reached.score, way=reached.way)
            if memory not in seeds and (memory not in found or damped.score > found[memory].score):
                found[memory] = damped
    return found


def _spread_one_step(here: Mapping[UUID, AssociationPath], links: Links, *, top: int) -> dict[UUID, AssociationPath]:
    """Return the best path to each memory one step further, undamped."""
    there: dict[UUID, AssociationPath] = {}
    for memory in sorted(here):
        strongest = sorted(links.get(memory, ()), key=lambda link: (-link[1], link[0]))[:top]
        for partner, strength in strongest:
            score = here[memory].score * strength
            if partner not in there or score > there[partner].score:
                there[partner] = AssociationPath(score=score, way=(*here[memory].way, memory))
    return there


def top_associations(found: Mapping[UUID, AssociationPath], *, most: int = MOST_FOUND) -> set[UUID]:
    """Return the memories reached most strongly."""
    return set(sorted(found, key=lambda memory: (-found[memory].score, memory))[:most])


Q = load_queries("festinger.retrieval")

BEHIND = 4
"""Ranks behind a memory with which it is paired."""
BEST = 3
"""How many hits of each of two consecutive recalls are paired."""
FOLLOWS_WITHIN = timedelta(minutes=10)

Pair = tuple[UUID, UUID]
"""Two memories, the smaller id first."""


def pairs_within_recall(memories: Sequence[UUID]) -> list[Pair]:
    """Pair the hits of one recall, given in its order."""
    return _unique_pairs(
        (one, other) for place, one in enumerate(memories) for other in memories[place + 1 : place + 1 + BEHIND]
    )


def pairs_across_recalls(memories: Sequence[UUID], before: Sequence[UUID]) -> list[Pair]:
    """Pair the best hits of two consecutive recalls."""
    return _unique_pairs((one, other) for one in memories[:BEST] for other in before[:BEST])


def _unique_pairs(found: Iterable[Pair]) -> list[Pair]:
    return sorted({(min(pair), max(pair)) for pair in found if pair[0] != pair[1]})


def cause_key(cause: Cause) -> str:
    """Format a cause as one string."""
    return f"{cause.agent}|{cause.session}|{cause.day.isoformat()}|{cause.origin.value}"


async def record_co_access(
    deps: RetrievalDeps,
    transaction: Transaction,
    scope: Scope,
    memories: Sequence[UUID],
    *,
    recall: UUID,
    now: datetime,
) -> int:
    """Record which memories were recalled together or in sequence; returns how many pairs counted."""
    before = await _previous_recall_hits(transaction, scope, recall=recall, now=now)
    within = pairs_within_recall(memories)
    after = [pair for pair in pairs_across_recalls(memories, before) if pair not in set(within)]
    pairs = within + after
    if not pairs:
        return 0
    rows = await transaction.all(
        Q["keep_company"],
        space=scope.space,
        one=format_uuid_array([pair[0] for pair in pairs]),
        other=format_uuid_array([pair[1] for pair in pairs]),
        together=[1] * len(within) + [0] * len(after),
        at=now,
        cause=cause_key(scope.cause(Origin.SYSTEM, now)),
    )
    if any(row["is_new"] for row in rows):
        await _prune_weak_links(deps, transaction, scope, memories, now=now)
    return len(rows)


async def _previous_recall_hits(transaction: Transaction, scope: Scope, *, recall: UUID, now: datetime) -> list[UUID]:
    """Return the best hits of the previous recall in the session, if it was recent."""
    if scope.session == NO_SESSION:
        return []
    rows = await transaction.all(
        Q["best_of_recall_before"],
        space=scope.space,
        agent=scope.agent,
        session=scope.session,
        recall=recall,
        since=now - FOLLOWS_WITHIN,
        limit=BEST,
    )
    return [row["ref"] for row in rows]


async def _prune_weak_links(
    deps: RetrievalDeps, transaction: Transaction, scope: Scope, memories: Sequence[UUID], *, now: datetime
) -> None:
    settings = deps.terms(scope.space).retrieval
    await transaction.run(
        Q["let_the_weakest_go"],
        space=scope.space,
        memories=format_uuid_array(memories),
        partners=settings.partners,
        full=settings.co_access_full,
        half_life=settings.co_access_half_life_days,
        at=now,
    )
