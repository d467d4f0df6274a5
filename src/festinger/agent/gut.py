"""Gut feeling: how far what an agent attends to is from what usually matters to it, and how unusual that is.

What usually matters is a mean of its values, its goals and a sample of the rest, made anew each day. The distance of each
turn is kept; after enough of them one that is far from their mean carries a charge. Decisions are pure.
"""

from collections.abc import Sequence
from statistics import fmean, pstdev

import numpy as np

from festinger.agent.attention import Vector

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
