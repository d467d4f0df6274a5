"""What do memories lead on to?

From what is in mind, along the links between what came to mind together: wholly to a partner, less to what lies one
step beyond, and hardly to what lies two. The strongest way counts. Pure; the links come from the search.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

DAMPING = (1.0, 0.3, 0.1)
"""What is left at a partner, one step beyond it, and two."""
MOST_FOUND = 10
"""Memories that come to a steady recall in this way alone."""

Links = Mapping[UUID, Sequence[tuple[UUID, float]]]
"""The strongest partners of memories, each with how strongly they belong together, from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """How strongly a memory was reached, and over which others, the one in mind first."""

    score: float
    way: tuple[UUID, ...]


def spread(seeds: Mapping[UUID, float], links: Links, *, hops: int = 1, top: int = 3) -> dict[UUID, Reached]:
    """What is reached from what is in mind, with the steps that may lie between; never what was in mind already."""
    found: dict[UUID, Reached] = {}
    here = {seed: Reached(score=score, way=()) for seed, score in seeds.items()}
    for damping in DAMPING[: hops + 1]:
        here = _one_step(here, links, top=top)
        for memory, reached in here.items():
            damped = Reached(score=damping * reached.score, way=reached.way)
            if memory not in seeds and (memory not in found or damped.score > found[memory].score):
                found[memory] = damped
    return found


def _one_step(here: Mapping[UUID, Reached], links: Links, *, top: int) -> dict[UUID, Reached]:
    """The best way to each memory that is one step further, undamped."""
    there: dict[UUID, Reached] = {}
    for memory in sorted(here):
        strongest = sorted(links.get(memory, ()), key=lambda link: (-link[1], link[0]))[:top]
        for partner, strength in strongest:
            score = here[memory].score * strength
            if partner not in there or score > there[partner].score:
                there[partner] = Reached(score=score, way=(*here[memory].way, memory))
    return there


def best_reached(found: Mapping[UUID, Reached], *, most: int = MOST_FOUND) -> set[UUID]:
    """The memories that were reached most strongly."""
    return set(sorted(found, key=lambda memory: (-found[memory].score, memory))[:most])
