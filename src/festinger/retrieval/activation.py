"""How active is a memory, by what it went through and what is before the mind?

The equation of ACT-R: how often and how lately it was met (B), how near it is to the context and to what matters (S),
what of it does not fit (P), and chance. Pure functions. It gates what stays in mind and is told when somebody asks
why; it never orders a recall.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

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
class Marks:
    """What two memories, or a memory and what is looked for, may differ in; unknown costs nothing."""

    kind: str | None = None
    origin: str | None = None
    tags: Collection[str] | None = None


def base_level(ages: Sequence[float], *, decay: float = DECAY) -> float:
    """B: from the ages of all accesses in seconds; 0 if there was none."""
    if not ages:
        return 0.0
    return math.log(sum(max(LEAST_AGE, age) ** -decay for age in ages))


def spreading(context: float | None, values: Sequence[tuple[float, float]] = ()) -> float:
    """S: from the cosine to the context and those to values and goals, each with its weight."""
    total = sum(weight for _, weight in values)
    if not total:
        return NOTHING_KNOWN if context is None else _within(context)
    mattering = sum(cosine * weight for cosine, weight in values) / total
    return _within(CONTEXT_SHARE * (context or 0.0) + VALUES_SHARE * mattering)


def mismatch(one: Marks, other: Marks, *, penalty: float = MISMATCH) -> float:
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


def noise(chance: float, *, scale: float = NOISE) -> float:
    """The part of chance, from a draw between 0 and 1."""
    drawn = min(MOST_CHANCE, max(LEAST_CHANCE, chance))
    return scale * math.log(drawn / (1.0 - drawn))


def activation(base: float, spread: float, penalty: float, chance: float) -> float:
    """A: all four together."""
    return base + spread + penalty + chance


def _within(value: float) -> float:
    return min(1.0, max(0.0, value))
