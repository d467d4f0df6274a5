"""Safety ceilings of the weight changes that a night makes. Pure.

The hard ceiling of .95 and diminishing returns are part of the weight itself (`memory.confidence`). A ceiling in
shadow only logs what it would have stopped; the breaker is in shadow until nights have promoted often enough.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from festinger.memory.confidence import Weight

MOST_MOVED = 0.10
"""The farthest that one night moves a center."""
MOST_CHANGES = 50
FEWEST_CAUSES = 2
SURE_ENOUGH = 0.7
MOST_SHARE, FEWEST_GOALS = 0.4, 3
"""How much of the centers of all goals one may hold, from so many goals on."""
MOST_UNCHANGED = 4
"""Nights that raise a weight on the same causes; a fifth does not."""
NIGHTS_BEFORE = 2
"""Nights with promotions after which every ceiling is enforced."""
ROUNDING = 1e-9
GOAL_LIKE = 0.65

BANDS = {0.82: "identity", GOAL_LIKE: "goal", 0.0: "experience"}
"""Names of the bands by the center from which they hold, highest first."""


def find_band(center: float) -> str:
    return next(name for least, name in BANDS.items() if center >= least)


class Ceiling(StrEnum):
    GOAL_SHARE = "goal_share"
    TWO_GATES = "two_gates"
    BREAKER = "breaker"
    RATE_LIMIT = "rate_limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWeightChange:
    """A weight change that a night wants to make, with what the ceilings look at."""

    before: Weight
    after: Weight
    causes: int
    confidence: float
    moved: float = 0.0
    """How far this night has moved the center already."""
    changes: int = 0
    """Weight changes that this night has made."""
    goals: tuple[float, ...] = ()
    """Centers of the other memories that are like goals."""
    nights: int = 0
    """Nights that raised it since its last cause."""

    @property
    def delta(self) -> float:
        return self.after.center - self.before.center


def check(ceiling: Ceiling, action: PlannedWeightChange) -> tuple[bool, str]:
    """Whether an action passes a ceiling, and why not."""
    center, is_gain = action.after.center, action.delta > 0
    if ceiling is Ceiling.GOAL_SHARE:
        is_goal = is_gain and center >= GOAL_LIKE and len(action.goals) + 1 >= FEWEST_GOALS
        share = center / (center + sum(action.goals))
        return not is_goal or share <= MOST_SHARE + ROUNDING, f"it would hold {share:.0%} of the weight of all goals"
    if ceiling is Ceiling.BREAKER:
        return not is_gain or action.nights < MOST_UNCHANGED, f"{action.nights} nights raised it on the same causes"
    if ceiling is Ceiling.RATE_LIMIT:
        total = abs(action.moved + action.delta)
        return total <= MOST_MOVED + ROUNDING, f"its center would move by {total:.2f} in one night"
    if action.changes >= MOST_CHANGES:
        return False, f"{MOST_CHANGES} weights were changed in this night"
    is_backed = action.causes >= FEWEST_CAUSES or action.confidence >= SURE_ENOUGH
    return is_backed, f"{action.causes} causes and confidence {action.confidence:.2f} are too little"


def find_shadow_ceilings(shadow: Collection[str], enforce: Collection[str], *, nights: int) -> set[str]:
    """Return the ceilings that only log after so many nights with promotions, unless the settings say otherwise."""
    early = {Ceiling.BREAKER.value} if nights < NIGHTS_BEFORE else set()
    return {*shadow, *early.difference(enforce)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyEvent:
    """What a ceiling stopped, or would have stopped."""

    ceiling: Ceiling
    enforced: bool
    wanted: float
    allowed: float
    reason: str


def apply_safety_ceilings(
    action: PlannedWeightChange, shadow: Collection[str] = ()
) -> tuple[Weight, list[SafetyEvent]]:
    """Return the weight that the ceilings allow, and what they stopped; those in `shadow` stop nothing."""
    allowed, events = action.after, []
    for ceiling in Ceiling:
        passed, reason = check(ceiling, action)
        if passed or allowed == action.before:
            continue
        enforced = ceiling not in shadow
        if enforced:
            allowed = clip_weight_change(action) if ceiling is Ceiling.RATE_LIMIT else action.before
        wanted = action.after.center
        events.append(
            SafetyEvent(ceiling=ceiling, enforced=enforced, wanted=wanted, allowed=allowed.center, reason=reason)
        )
    return allowed, events


def clip_weight_change(action: PlannedWeightChange) -> Weight:
    """Return the weight as far as one night may move it."""
    before, sign = action.before, math.copysign(1.0, action.delta)
    center = before.center + sign * min(abs(action.delta), max(0.0, MOST_MOVED - abs(action.moved)))
    if sign > 0:
        return Weight(alpha=max(before.alpha, center * before.beta / (1 - center)), beta=before.beta)
    return Weight(alpha=before.alpha, beta=max(before.beta, before.alpha * (1 - center) / center))
