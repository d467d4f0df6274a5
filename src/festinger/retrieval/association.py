"""What do memories lead on to?

From what is in mind, along the links between what came to mind together: wholly to a partner, less to what lies one
step beyond, and hardly to what lies two. The strongest way counts. Pure; the links come from the search.

Which memories come to mind together?

What one recall gave is paired, each with those right behind it, and the best of it with the best of the recall that
came before it in the same session. A pair counts once per cause, so that a loop has one vote. How strongly two belong
together fades when it is read; no job ages it. Where one leads on to is `spreading_activation`'s matter.

How active is a memory, by what it went through and what is before the mind?

The equation of ACT-R: how often and how lately it was met (B), how near it is to the context and to what matters (S),
what of it does not fit (P), and chance. Pure functions. It gates what stays in mind and is told when somebody asks
why; it never orders a recall.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from festinger.ids import Cause, Origin
from festinger.memory.model import NO_SESSION, Scope
from festinger.retrieval.deps import RetrievalDeps
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

DAMPING = (1.0, 0.3, 0.1)
"""What is left at a partner, one step beyond it, and two."""
MOST_FOUND = 10
"""Memories that come to a steady recall in this way alone."""

Links = Mapping[UUID, Sequence[tuple[UUID, float]]]
"""The strongest partners of memories, each with how strongly they belong together, from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssociationPath:
    """How strongly a memory was reached, and over which others, the one in mind first."""

    score: float
    way: tuple[UUID, ...]


def find_associations(
    seeds: Mapping[UUID, float], links: Links, *, hops: int = 1, top: int = 3
) -> dict[UUID, AssociationPath]:
    """What is reached from what is in mind, with the steps that may lie between; never what was in mind already."""
    found: dict[UUID, AssociationPath] = {}
    here = {seed: AssociationPath(score=score, way=()) for seed, score in seeds.items()}
    for damping in DAMPING[: hops + 1]:
        here = _one_step(here, links, top=top)
        for memory, reached in here.items():
            damped = AssociationPath(score=damping * reached.score, way=reached.way)
            if memory not in seeds and (memory not in found or damped.score > found[memory].score):
                found[memory] = damped
    return found


def _one_step(here: Mapping[UUID, AssociationPath], links: Links, *, top: int) -> dict[UUID, AssociationPath]:
    """The best way to each memory that is one step further, undamped."""
    there: dict[UUID, AssociationPath] = {}
    for memory in sorted(here):
        strongest = sorted(links.get(memory, ()), key=lambda link: (-link[1], link[0]))[:top]
        for partner, strength in strongest:
            score = here[memory].score * strength
            if partner not in there or score > there[partner].score:
                there[partner] = AssociationPath(score=score, way=(*here[memory].way, memory))
    return there


def top_associations(found: Mapping[UUID, AssociationPath], *, most: int = MOST_FOUND) -> set[UUID]:
    """The memories that were reached most strongly."""
    return set(sorted(found, key=lambda memory: (-found[memory].score, memory))[:most])


Q = queries_of("festinger.retrieval")

BEHIND = 4
"""Ranks behind a memory with which it is paired."""
BEST = 3
"""Of two recalls that follow each other, so many of each are paired."""
FOLLOWS_WITHIN = timedelta(minutes=10)

Pair = tuple[UUID, UUID]
"""Two memories, the smaller id first."""


def pairs_within_recall(memories: Sequence[UUID]) -> list[Pair]:
    """The pairs of what one recall gave, in its order."""
    return _unique_pairs(
        (one, other) for place, one in enumerate(memories) for other in memories[place + 1 : place + 1 + BEHIND]
    )


def pairs_across_recalls(memories: Sequence[UUID], before: Sequence[UUID]) -> list[Pair]:
    """The pairs of two recalls of which one followed the other."""
    return _unique_pairs((one, other) for one in memories[:BEST] for other in before[:BEST])


def _unique_pairs(found: Iterable[Pair]) -> list[Pair]:
    return sorted({(min(pair), max(pair)) for pair in found if pair[0] != pair[1]})


def cause_key(cause: Cause) -> str:
    """A cause as one text."""
    return f"{cause.agent}|{cause.session}|{cause.day.isoformat()}|{cause.origin.value}"


async def record_co_access(
    deps: RetrievalDeps, transaction: Transaction, place: Scope, memories: Sequence[UUID], *, recall: UUID
) -> int:
    """Note which memories a recall brought to mind together, and after which others; how many pairs counted."""
    now = deps.clock()
    before = await _previous_recall_hits(transaction, place, recall=recall, now=now)
    beside = pairs_within_recall(memories)
    after = [pair for pair in pairs_across_recalls(memories, before) if pair not in set(beside)]
    pairs = beside + after
    if not pairs:
        return 0
    rows = await transaction.all(
        Q["keep_company"],
        space=place.space,
        one=[pair[0] for pair in pairs],
        other=[pair[1] for pair in pairs],
        together=[1] * len(beside) + [0] * len(after),
        at=now,
        cause=cause_key(place.cause(Origin.SYSTEM, now)),
    )
    if any(row["is_new"] for row in rows):
        await _prune_weak_links(deps, transaction, place, memories, now=now)
    return len(rows)


async def _previous_recall_hits(transaction: Transaction, place: Scope, *, recall: UUID, now: datetime) -> list[UUID]:
    """The best of the recall before this one in the session, if that was a moment ago."""
    if place.session == NO_SESSION:
        return []
    rows = await transaction.all(
        Q["best_of_recall_before"],
        space=place.space,
        agent=place.agent,
        session=place.session,
        recall=recall,
        since=now - FOLLOWS_WITHIN,
        limit=BEST,
    )
    return [row["ref"] for row in rows]


async def _prune_weak_links(
    deps: RetrievalDeps, transaction: Transaction, place: Scope, memories: Sequence[UUID], *, now: datetime
) -> None:
    settings = deps.terms(place.space).retrieval
    await transaction.run(
        Q["let_the_weakest_go"],
        space=place.space,
        memories=list(memories),
        partners=settings.partners,
        full=settings.co_access_full,
        half_life=settings.co_access_half_life_days,
        at=now,
    )


DECAY = 0.5
NOISE = 0.4
MISMATCH = -1.0
LEAST_AGE = 1.0
"""Seconds: what happened just now counts as that old."""

CONTEXT_SHARE, VALUES_SHARE = 0.4, 0.6
NOTHING_KNOWN = 0.5
KIND_COST, ORIGIN_COST, TAGS_COST = 0.3, 0.2, 0.5
LEAST_CHANCE, MOST_CHANCE = 0.001, 0.999


@dataclass(frozen=True, slots=True, kw_only=True)
class MismatchFeatures:
    """What two memories, or a memory and what is looked for, may differ in; unknown costs nothing."""

    kind: str | None = None
    origin: str | None = None
    tags: Collection[str] | None = None


def base_level(ages: Sequence[float], *, decay: float = DECAY) -> float:
    """B: from the ages of all accesses in seconds; 0 if there was none."""
    if not ages:
        return 0.0
    return math.log(sum(max(LEAST_AGE, age) ** -decay for age in ages))


def spreading_activation(context: float | None, values: Sequence[tuple[float, float]] = ()) -> float:
    """S: from the cosine to the context and those to values and goals, each with its weight."""
    total = sum(weight for _, weight in values)
    if not total:
        return NOTHING_KNOWN if context is None else _clamp(context)
    mattering = sum(cosine * weight for cosine, weight in values) / total
    return _clamp(CONTEXT_SHARE * (context or 0.0) + VALUES_SHARE * mattering)


def mismatch_penalty(one: MismatchFeatures, other: MismatchFeatures, *, penalty: float = MISMATCH) -> float:
    """P: what does not fit; a field that either side lacks costs nothing."""
    cost = 0.0
    if one.kind and other.kind and one.kind != other.kind:
        cost += KIND_COST
    if one.origin and other.origin and one.origin != other.origin:
        cost += ORIGIN_COST
    if one.tags and other.tags:
        shared, all_tags = set(one.tags) & set(other.tags), set(one.tags) | set(other.tags)
        cost += TAGS_COST * (1.0 - len(shared) / len(all_tags))
    return penalty * cost


def logistic_noise(chance: float, *, scale: float = NOISE) -> float:
    """The part of chance, from a draw between 0 and 1."""
    drawn = min(MOST_CHANCE, max(LEAST_CHANCE, chance))
    return scale * math.log(drawn / (1.0 - drawn))


def total_activation(base: float, spread: float, penalty: float, chance: float) -> float:
    """A: all four together."""
    return base + spread + penalty + chance


def _clamp(value: float) -> float:
    return min(1.0, max(0.0, value))
