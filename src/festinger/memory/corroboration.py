"""What does it add when a memory is said again?

Saying it again always counts as a confirmation; evidence it is only when it comes from a cause that has not counted
yet, and then by how far that cause is trusted. One loop has one vote, one agent at most three a day, and what was
derived from a memory never speaks for it. Pure; the deed is `confirm`'s.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from festinger.ids import Origin
from festinger.memory.confidence import Belief, signalled
from festinger.memory.weight import reinforced

CAUSES_A_DAY = 3
"""Counted causes of one agent, day and origin for one memory."""

TRUSTED_FROM = 0.55
"""Causes below it never lift a confidence above the cap."""

SUPPORT = 0.5
"""What a fully trusted cause adds to a weight, before that is divided by what is known."""


class Uncounted(StrEnum):
    """Why a sighting brought no new cause."""

    SAME_CAUSE = "same_cause"
    ENOUGH_TODAY = "enough_today"
    OWN_DERIVATION = "own_derivation"
    HELD = "held"
    QUARANTINED = "quarantined"
    UNDONE = "undone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What of this cause has counted for a memory already."""

    of_cause: int = 0
    of_agent_today: int = 0


def uncounted(counts: Counts, *, is_own_derivation: bool = False) -> Uncounted | None:
    """Why a sighting does not count; none if it does."""
    if is_own_derivation:
        return Uncounted.OWN_DERIVATION
    if counts.of_cause:
        return Uncounted.SAME_CAUSE
    if counts.of_agent_today >= CAUSES_A_DAY:
        return Uncounted.ENOUGH_TODAY
    return None


def corroborated(belief: Belief, *, trust: float, origin: Origin, cap: float) -> Belief:
    """The belief after a newly counted cause. `cap` is the highest confidence that untrusted causes reach."""
    if origin is Origin.PERSON:
        belief = replace(belief, confidence_ceiling=None, weight_ceiling=None)
    bounds = [bound for bound in (belief.confidence_ceiling, cap if trust < TRUSTED_FROM else None) if bound]
    moved = signalled(belief, 0.5 + 0.4 * trust, cap=min(bounds, default=None))
    weight = reinforced(
        belief.weight, SUPPORT * trust, immutable=belief.immutable, ceiling=belief.weight_ceiling
    )
    return replace(moved, weight=weight)
