"""How does the mind of an agent weigh what comes to it?

Five things speak for a memory: that it matches, that it came to mind with what is there now, chance, that it feels like
what is felt now, and that it is fresh. What each is worth is drawn anew for each recall, around what outcomes have
taught this agent; a young mind goes by the match. Pure: chance and settings come in as arguments.
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
"""Bounds of each parameter: nothing is ever left out, and chance never leads."""
UNFELT = 0.5
"""What feeling says while nothing is felt."""
UNHEARD_CENTER = 0.2
"""How deeply what was said counts as held: it has no weight of its own."""
HALVINGS = 80
DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Feeling:
    """Where the gut stands, and which way it moved."""

    subconscious: Vector
    delta: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class BlendWeights:
    """What an agent's mind goes by in one recall."""

    alphas: Five
    weights: Five


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """Why a memory came to the mind: each component, how deeply it was held at that moment, and the score."""

    components: Five
    observed: float
    score: float


def cold_start_alphas(memories: int, settings: RetrievalSettings) -> Five:
    """The parameters of an agent with so many memories, before outcomes taught it anything."""
    span = max(1, settings.mature_from - settings.cold_until)
    share = min(1.0, max(0.0, (memories - settings.cold_until) / span))
    cold, mature = settings.alpha_cold, settings.alpha_mature
    return to_five([low + share * (high - low) for low, high in zip(cold, mature, strict=True)])


def apply_shifts(base: Five, shifts: Sequence[float]) -> Five:
    """The parameters with what outcomes taught, within their bounds and with the sum that they had."""
    return rescale_alphas([one + other for one, other in zip(base, shifts, strict=True)], total=sum(base))


def step_shifts(base: Five, shifts: Five, *, component: int, amount: float) -> Five:
    """The shifts after one more lesson."""
    moved = list(apply_shifts(base, shifts))
    moved[component] += amount
    after = rescale_alphas(moved, total=sum(base))
    return to_five([new - old for new, old in zip(after, base, strict=True)])


def rescale_alphas(alphas: Sequence[float], *, total: float) -> Five:
    """Parameters scaled alike until they have a sum, each kept within its bounds.

    What stands at a bound takes no part in the scaling, so the factor is found by halving.
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
    """One draw of what each component is worth, from Dirichlet(alphas)."""
    gammas = [chance.gammavariate(alpha, 1.0) for alpha in alphas]
    total = sum(gammas)
    return BlendWeights(alphas=alphas, weights=to_five([gamma / total for gamma in gammas]))


def emotional_alignment(vector: Vector | None, feeling: Feeling | None) -> float:
    """How much a memory lies in the direction in which the gut moved."""
    if vector is None or feeling is None:
        return UNFELT
    away = vector - feeling.subconscious
    size = float(np.linalg.norm(away) * np.linalg.norm(feeling.delta))
    return UNFELT if not size else 0.5 + 0.5 * float(away @ feeling.delta) / size


def score_relevance(hit: RecallHit, mix: BlendWeights, *, feeling: Feeling | None, chance: random.Random) -> Relevance:
    """What a hit is worth to the mind now."""
    each, prior = hit.candidate, hit.prior
    feels = emotional_alignment(each.vector, feeling)
    components = (hit.match, min(1.0, hit.company), chance.random(), feels, prior.recency)
    observed = each.effective.observe(chance) if each.is_memory else UNHEARD_CENTER
    blended = sum(weight * part for weight, part in zip(mix.weights, components, strict=True))
    return Relevance(components=components, observed=observed, score=observed * blended * prior.belief)


def rescore_hits(
    hits: Sequence[RecallHit], mix: BlendWeights, *, feeling: Feeling | None, chance: random.Random
) -> list[RecallHit]:
    """The same hits with the scores that the mind gives them.

    Chance is drawn in the order of ids: the same seed gives the same scores however the hits came.
    """
    scored = []
    for hit in sorted(hits, key=lambda each: each.candidate.ref):
        found = score_relevance(hit, mix, feeling=feeling, chance=chance)
        scored.append(replace(hit, score=found.score, blend=blend_json(found, mix)))
    return scored


def blend_json(found: Relevance, mix: BlendWeights) -> dict[str, Any]:
    """The draw and what each component gave, as it is written down."""
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
