"""Gut feeling: how far what an agent attends to is from what usually matters to it, and how unusual that is.

What usually matters is a mean of its values, its goals and a sample of the rest, made anew each day. The distance of each
turn is kept; after enough of them one that is far from their mean carries a charge. Decisions are pure.
"""

import random
from collections.abc import Sequence
from statistics import fmean, pstdev
from uuid import UUID

import numpy as np

from festinger.agent.attention import Vector
from festinger.agent.context import HEAVIEST
from festinger.agent.cycle import AgentDeps
from festinger.agent.goals import Q, list_open
from festinger.agent.idle import sample_idle_candidates
from festinger.embedding.profiles import EmbeddingPurpose
from festinger.errors import FestingerError
from festinger.ids import Scope
from festinger.memory.deps import MemoryDeps
from festinger.memory.model import Memory
from festinger.memory.query import load_brief_sections

VALUE_SHARE, GOAL_SHARE, REST_SHARE = 0.5, 0.25, 0.25
FELT, FADING = 10, 0.7
"""Vectors that attention is the mean of, and what each step back leaves of the weight."""
FEWEST, KEPT = 50, 200
"""Distances from which a charge is told, and the most that it is compared with."""
NOTABLE = 0.5
JUMP = 2.0
"""Deviations from the mean that are worth a thought."""

Weighted = Sequence[tuple[Vector, float]]


def blend_usual_vector(values: Weighted, goals: Weighted, rest: Weighted) -> Vector | None:
    """What usually matters: the mean of each layer by weight, blended; none without memories."""
    layers = [(each, share) for each, share in ((values, VALUE_SHARE), (goals, GOAL_SHARE), (rest, REST_SHARE)) if each]
    if not layers:
        return None
    means = [np.average([vector for vector, _ in each], axis=0, weights=[w for _, w in each]) for each, _ in layers]
    return _unit(np.average(means, axis=0, weights=[share for _, share in layers]))


def blend_recent_vectors(recent: Sequence[Vector]) -> Vector | None:
    """What is attended to: the last vectors, newest last, each step back weighing less."""
    last = recent[-FELT:]
    return (
        _unit(np.average(last, axis=0, weights=[FADING**age for age in reversed(range(len(last)))])) if last else None
    )


def measure_gut_distance(attention: Vector | None, usual: Vector | None) -> float | None:
    """How far attention is from what usually matters, from 0 to 1; none where either is not known."""
    return None if attention is None or usual is None else float(np.linalg.norm(attention - usual)) / 2


def distance_z_score(distance: float | None, before: Sequence[float]) -> float:
    """By how many deviations a distance differs from those before; 0 while there are too few. Positive is farther."""
    if distance is None or len(before) < FEWEST:
        return 0.0
    spread = pstdev(before)
    return (distance - fmean(before)) / spread if spread > 0 else 0.0


def charge_of_deviation(moved: float) -> float:
    """The charge of a distance that is so many deviations off, from 0 to 1."""
    return min(1.0, abs(moved) / JUMP)


def describe_gut(moved: float) -> str:
    """The line that the model reads; empty where nothing is notable."""
    if charge_of_deviation(moved) < NOTABLE:
        return ""
    return f"Your gut: this is {'farther from' if moved > 0 else 'nearer to'} what usually matters to you than most of what you talk about."


def _unit(vector: np.ndarray[tuple[int, ...], np.dtype[np.floating]]) -> Vector:
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-9), dtype=np.float32)


async def load_usual_vector(deps: AgentDeps, scope: Scope) -> Vector | None:
    """What usually matters to an agent, made anew each day; none without vectors."""
    memory, today = deps.memory, deps.memory.clock().date()
    key = (scope.space, scope.agent)
    if (known := deps.usual.get(key)) is None or known[0] != today:
        values, goals = await load_values(memory, scope), await list_open(memory, scope)
        vectors = await load_vectors(memory, scope, [*values, *goals])
        # A sample of its own, so that it costs no draw of those that can be repeated.
        sample = await sample_idle_candidates(memory, scope, random.Random(today.toordinal()))  # noqa: S311
        held, wanted = (
            [(vectors[each.id], each.weight.center) for each in those if each.id in vectors]
            for those in (values, goals)
        )
        rest = [(each.vector, each.weight.center) for each in sample if each.vector is not None]
        known = deps.usual[key] = today, blend_usual_vector(held, wanted, rest)
    return known[1]


async def load_values(memory: MemoryDeps, scope: Scope) -> list[Memory]:
    """What an agent holds dear: boundaries, preferences and rules, the heaviest."""
    found = await load_brief_sections(memory, scope, limit=HEAVIEST, known=False)
    return [each for name in ("boundary", "preference", "rule") for each in found.get(name, ())]


async def load_vectors(memory: MemoryDeps, scope: Scope, memories: Sequence[Memory]) -> dict[UUID, Vector]:
    embedder = memory.embedder()
    if embedder is None or not memories:
        return {}
    ids = [each.id for each in memories]
    rows = await memory.store.all(Q["vectors_of"], space=scope.space, memories=ids, model=embedder.name)
    return {row["memory_id"]: np.asarray(row["embedding"].to_numpy(), dtype=np.float32) for row in rows}


async def embed_messages(memory: MemoryDeps, texts: Sequence[str]) -> list[Vector]:
    """The vectors of messages; none if nobody makes them now."""
    embedder = memory.embedder()
    try:
        return list(await embedder.embed(texts, EmbeddingPurpose.QUERY)) if embedder and texts else []
    except FestingerError:
        return []
