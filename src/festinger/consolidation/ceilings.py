"""Safety ceilings of the weight changes that a night makes. Pure.

The hard ceiling of .95 and diminishing returns are part of the weight itself (`memory.confidence`). The others
stand here. A ceiling in shadow only logs what it would have stopped.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from festinger.memory.confidence import Weight

GOAL_LIKE = 0.65
IDENTITY_LIKE = 0.82
MOST_SHARE = 0.40
FEWEST_GOALS = 3
MOST_MOVED = 0.10
"""The farthest that one night moves a center."""
MOST_CHANGES = 50
FEWEST_CAUSES = 2
SURE_ENOUGH = 0.7
MOST_REPEATS = 5
"""Nights in which one memory gains without a new cause."""
BINS = 20
FALL = 0.10
THIRD = 3
"""Nights with a promotion candidate from which the readings are enforced."""
ROUNDING = 1e-9


class Ceiling(StrEnum):
    GOAL_SHARE = "goal_share"
    RATE_LIMIT = "rate_limit"
    TWO_GATES = "two_gates"
    ENTROPY = "entropy"
    BREAKER = "breaker"
    COHERENCE = "coherence"


STAGED = frozenset({Ceiling.ENTROPY, Ceiling.BREAKER, Ceiling.COHERENCE})
"""Enforced from the third night with a promotion candidate; the others from the first night."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightAction:
    """A weight change that a night wants to make, with what the ceilings look at."""

    before: Weight
    after: Weight
    causes: int
    confidence: float
    moved: float = 0.0
    """How far this night has moved the center already."""
    changes: int = 0
    """Weight changes that this night has made."""
    repeats: int = 0
    """Nights in a row in which it gained with the same causes."""
    goals: tuple[float, ...] = ()
    """Centers of the other goal-like memories."""

    @property
    def delta(self) -> float:
        return self.after.center - self.before.center


def check(ceiling: Ceiling, action: WeightAction) -> tuple[bool, str]:
    """Whether an action passes a ceiling, and why not."""
    return _CHECKS[ceiling](action)


def _check_goal_share(action: WeightAction) -> tuple[bool, str]:
    center = action.after.center
    if action.delta <= 0 or center < GOAL_LIKE or len(action.goals) + 1 < FEWEST_GOALS:
        return True, ""
    share = center / (center + math.fsum(action.goals))
    return share <= MOST_SHARE, f"it would hold {share:.0%} of what all goals hold"


def _check_rate(action: WeightAction) -> tuple[bool, str]:
    total = abs(action.moved + action.delta)
    return total <= MOST_MOVED + ROUNDING, f"its center would move by {total:.2f} in one night"


def _check_gates(action: WeightAction) -> tuple[bool, str]:
    if action.changes >= MOST_CHANGES:
        return False, f"{MOST_CHANGES} weights were changed in this night"
    is_backed = action.causes >= FEWEST_CAUSES or action.confidence >= SURE_ENOUGH
    return is_backed, f"{action.causes} causes and confidence {action.confidence:.2f} are too little"


def _check_breaker(action: WeightAction) -> tuple[bool, str]:
    is_new = action.delta <= 0 or action.repeats < MOST_REPEATS
    return is_new, f"it gained in {MOST_REPEATS} nights without a new cause"


_CHECKS: Mapping[Ceiling, Callable[[WeightAction], tuple[bool, str]]] = {
    Ceiling.TWO_GATES: _check_gates,
    Ceiling.BREAKER: _check_breaker,
    Ceiling.GOAL_SHARE: _check_goal_share,
    Ceiling.RATE_LIMIT: _check_rate,
}
"""The ceilings of single changes, in the order in which they are asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyEvent:
    """What a ceiling stopped, or would have stopped."""

    ceiling: Ceiling
    enforced: bool
    reason: str
    wanted: float | None = None
    allowed: float | None = None


def is_enforced(ceiling: Ceiling, mode: str, *, nights: int) -> bool:
    """Whether a ceiling is enforced; `nights` had a promotion candidate."""
    if mode != "auto":
        return mode == "enforce"
    return ceiling not in STAGED or nights >= THIRD


def limit_change(action: WeightAction, modes: Mapping[Ceiling, bool]) -> tuple[Weight, list[SafetyEvent]]:
    """Return the weight that the ceilings allow, and what they stopped. `modes` tells which are enforced."""
    events: list[SafetyEvent] = []
    allowed = action.after
    for ceiling in _CHECKS:
        passed, reason = check(ceiling, action)
        if passed:
            continue
        fallback = clip_move(action) if ceiling is Ceiling.RATE_LIMIT else action.before
        if modes[ceiling]:
            allowed = fallback
        events.append(
            SafetyEvent(
                ceiling=ceiling,
                enforced=modes[ceiling],
                reason=reason,
                wanted=action.after.center,
                allowed=(fallback if modes[ceiling] else action.after).center,
            )
        )
        if modes[ceiling] and ceiling is not Ceiling.RATE_LIMIT:
            break
    return allowed, events


def clip_move(action: WeightAction) -> Weight:
    """Return the weight as far as one night may move it."""
    sign = math.copysign(1.0, action.delta)
    center = action.before.center + sign * max(0.0, MOST_MOVED - abs(action.moved))
    if sign > 0:
        return Weight(
            alpha=max(action.before.alpha, center * action.before.beta / (1 - center)), beta=action.before.beta
        )
    return Weight(alpha=action.before.alpha, beta=max(action.before.beta, action.before.alpha * (1 - center) / center))


def entropy_of(centers: Sequence[float]) -> float:
    """Return the entropy of centers over 20 bins, in bits."""
    counts = Counter(min(BINS - 1, int(center * BINS)) for center in centers)
    return -math.fsum(n / len(centers) * math.log2(n / len(centers)) for n in counts.values()) if centers else 0.0


def check_entropy(centers: Sequence[float]) -> tuple[bool, str]:
    """Whether moved centers are spread enough."""
    floor = min(2.0, 0.6 * math.log2(len(centers))) if centers else 0.0
    found = entropy_of(centers)
    return found >= floor - ROUNDING, f"moved centers crowd together: entropy {found:.2f} below {floor:.2f}"


def coherence_of(*, disputed: float, useful: float | None, tense: float) -> float:
    """Return how coherent a memory is, from shares of disputed memories, useful outcomes and tense values."""
    parts = [1 - disputed, 1 - tense, *([] if useful is None else [useful])]
    return math.fsum(parts) / len(parts)


def check_coherence(before: float | None, after: float) -> tuple[bool, str]:
    """Whether coherence did not fall far since the last night."""
    fell = 0.0 if before is None else before - after
    return fell < FALL - ROUNDING, f"coherence fell by {fell:.2f}"
