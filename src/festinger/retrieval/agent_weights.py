"""Blends the score components of a recall for an agent's mind.

Five components speak for a memory: its match, its association with what is in mind, chance, how it fits the
current feeling, and its freshness. Their weights are drawn anew for each recall, around what outcomes have
taught this agent; a new agent goes by the match. Pure: randomness and settings come in as arguments.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from festinger.retrieval.candidate import Vector
from festinger.retrieval.rank import RecallHit
from festinger.settings.retrieval import Five, RetrievalSettings

COMPONENTS = ("semantic", "coactivation", "noise", "emotional", "recency")
NO_SHIFT: Five = (0.0, 0.0, 0.0, 0.0, 0.0)
LOWEST: Five = (0.5, 0.5, 0.5, 0.5, 0.5)
HIGHEST: Five = (20.0, 20.0, 1.0, 20.0, 20.0)
"""Bounds of the parameters: no component is ever left out, and chance never leads."""
UNFELT = 0.5
"""Feeling component while nothing is felt."""
UNHEARD_CENTER = 0.2
"""Center assumed for turns, which have no weight of their own."""
HALVINGS = 80
DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Feeling:
    """Where the agent's gut stands, and which way it moved."""

    subconscious: Vector
    delta: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class BlendWeights:
    """The component weights of one recall."""

    alphas: Five
    weights: Five


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """Why a memory was recalled: its components, its center at that moment, and the score."""

    components: Five
    observed: float
    score: float


def cold_start_alphas(memories: int, settings: RetrievalSettings) -> Five:
    """Return the parameters of an agent with so many memories before any outcome taught it."""
    span = max(1, settings.mature_from - settings.cold_until)
    share = min(1.0, max(0.0, (memories - settings.cold_until) / span))
    cold, mature = settings.alpha_cold, settings.alpha_mature
    return to_five([low + share * (high - low) for low, high in zip(cold, mature, strict=True)])


def apply_shifts(base: Five, shifts: Sequence[float]) -> Five:
    """Add the learned shifts to the parameters, within their bounds and keeping their sum."""
    return rescale_alphas([one + other for one, other in zip(base, shifts, strict=True)], total=sum(base))


def step_shifts(base: Five, shifts: Five, *, component: int, amount: float) -> Five:
    """Return the shifts after one more lesson."""
    moved = list(apply_shifts(base, shifts))
    moved[component] += amount
    after = rescale_alphas(moved, total=sum(base))
    return to_five([new - old for new, old in zip(after, base, strict=True)])


def rescale_alphas(alphas: Sequence[float], *, total: float) -> Five:
    """Scale parameters to a given sum, each within its bounds.

    Parameters at a bound do not scale, so the factor is found by bisection.
    """
    floor = [max(1e-9, alpha) for alpha in alphas]

    def scaled(factor: float) -> list[float]:
        return [min(high, max(low, alpha * factor)) for alpha, low, high in zip(floor, LOWEST, HIGHEST, strict=True)]

    if abs(sum(scaled(1.0)) - total) < 1e-12:
        return to_five(scaled(1.0))
    low, high = 0.0, max(HIGHEST) / min(floor)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(scaled(middle)) < total else (low, middle)
    return to_five(scaled(high))


def draw_weights(alphas: Five, chance: random.Random) -> BlendWeights:
    """Draw the weight of each component from Dirichlet(alphas)."""
    gammas = [chance.gammavariate(alpha, 1.0) for alpha in alphas]
    total = sum(gammas)
    return BlendWeights(alphas=alphas, weights=to_five([gamma / total for gamma in gammas]))


def emotional_alignment(vector: Vector | None, feeling: Feeling | None) -> float:
    """Return how far a memory lies in the direction in which the gut moved."""
    if vector is None or feeling is None:
        return UNFELT
    away = vector - feeling.subconscious
    size = float(np.linalg.norm(away) * np.linalg.norm(feeling.delta))
    return UNFELT if not size else 0.5 + 0.5 * float(away @ feeling.delta) / size


def score_relevance(hit: RecallHit, mix: BlendWeights, *, feeling: Feeling | None, chance: random.Random) -> Relevance:
    """Score a hit by the drawn weights."""
    each, prior = hit.candidate, hit.prior
    feels = emotional_alignment(each.vector, feeling)
    components = (hit.match, min(1.0, hit.company), chance.random(), feels, prior.recency)
    observed = each.effective.observe(chance) if each.is_memory else UNHEARD_CENTER
    blended = sum(weight * part for weight, part in zip(mix.weights, components, strict=True))
    return Relevance(components=components, observed=observed, score=observed * blended * prior.belief)


def rescore_hits(
    hits: Sequence[RecallHit], mix: BlendWeights, *, feeling: Feeling | None, chance: random.Random
) -> list[RecallHit]:
    """Return the hits with blended scores.

    Chance is drawn in id order, so the same seed gives the same scores in whatever order the hits come.
    """
    scored = []
    for hit in sorted(hits, key=lambda each: each.candidate.ref):
        found = score_relevance(hit, mix, feeling=feeling, chance=chance)
        scored.append(replace(hit, score=found.score, blend=blend_json(found, mix)))
    return scored


def blend_json(found: Relevance, mix: BlendWeights) -> dict[str, Any]:
    """Serialize the draw and the value of each component for the log."""
    shares = [weight * part for weight, part in zip(mix.weights, found.components, strict=True)]
    return {
        "alphas": _by_component(mix.alphas),
        "weights": _by_component(mix.weights),
        "components": _by_component(found.components),
        "shares": _by_component(to_five(shares)),
        "observed": round(found.observed, DIGITS),
        "led": COMPONENTS[shares.index(max(shares))],
    }


def _by_component(numbers: Five) -> dict[str, float]:
    return {name: round(number, DIGITS) for name, number in zip(COMPONENTS, numbers, strict=True)}


def to_five(numbers: Sequence[float]) -> Five:
    one, two, three, four, last = numbers
    return one, two, three, four, last
