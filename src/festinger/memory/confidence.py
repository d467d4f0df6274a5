"""Computes confidence, weight and trust of memories.

Confidence: up to the 20th signal it is the mean of the start value and all signals, in any order; from then
on each signal moves it by 1/21. Passive signals move it less and never far from the last deliberate one.
Weight: a Beta distribution of evidence for (alpha) and against (beta) keeping a memory. `reinforce_weight`
has diminishing returns and stops short of certainty, so that frequency alone never makes a memory permanent.
Decay is computed on read and never stored: touching the memory again restores its weight in full.
Corroboration: repeating a statement always confirms it, but is evidence only from a new cause, scaled by
trust. One loop has one vote, one agent at most three a day, and what was derived from a memory never supports
it.
Trust is set by origin; something derived is never trusted more than its least trusted ancestor.
"""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from festinger.errors import BadInput
from festinger.ids import MemoryId, Origin

PRIOR_ALPHA = 1.0
PRIOR_BETA = 4.0

HIGHEST_CENTER = 0.95
"""No reinforcement lifts a center above this."""

CONTESTED_ABOVE = 5.0
UNINFORMED_BELOW = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """Beta(alpha, beta); a fresh memory has a low weight."""

    alpha: float = PRIOR_ALPHA
    beta: float = PRIOR_BETA

    def __post_init__(self) -> None:
        if 0 < self.alpha < math.inf and 0 < self.beta < math.inf:
            return
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not math.isfinite(value) or value <= 0:
                raise BadInput(f"The {name} of a weight must be a number above 0, not {value}.")

    @property
    def center(self) -> float:
        return self.alpha / (self.alpha + self.beta)

    @property
    def depth_weight(self) -> float:
        """Former name of `center`."""
        return self.center

    @property
    def variance(self) -> float:
        total = self.total_evidence
        return self.alpha * self.beta / (total**2 * (total + 1))

    @property
    def total_evidence(self) -> float:
        return self.alpha + self.beta

    @property
    def is_contested(self) -> bool:
        """Whether there is much evidence on both sides. Variance cannot tell: any evidence shrinks it."""
        return self.alpha > CONTESTED_ABOVE and self.beta > CONTESTED_ABOVE

    @property
    def is_uninformed(self) -> bool:
        return self.alpha < UNINFORMED_BELOW and self.beta < UNINFORMED_BELOW

    def observe(self, chance: random.Random) -> float:
        """Draw one sample from the distribution."""
        return chance.betavariate(self.alpha, self.beta)

    def reinforce(self, amount: float = 1.0) -> "Weight":
        return Weight(alpha=self.alpha + validate_amount(amount), beta=self.beta)

    def contradict(self, amount: float = 0.5) -> "Weight":
        return Weight(alpha=self.alpha, beta=self.beta + validate_amount(amount))


FRESH = Weight()
IMMUTABLE = Weight(alpha=50.0, beta=1.0)
"""Start weight of immutable memories; nothing else may start above the highest center."""


def validate_amount(amount: float) -> float:
    if not math.isfinite(amount) or amount < 0:
        raise BadInput(f"A weight moves by 0 or more, not by {amount}.")
    return amount


def reinforce_weight(weight: Weight, amount: float, *, immutable: bool = False, ceiling: float | None = None) -> Weight:
    """Raise a weight, by less the more evidence there is, and never past the highest center.

    `ceiling` is a lower center that this reinforcement may not pass either.
    """
    gain = validate_amount(amount) / max(1.0, math.log2(weight.total_evidence))
    highest = HIGHEST_CENTER if ceiling is None else min(HIGHEST_CENTER, ceiling)
    if immutable or weight.center >= highest:
        return weight
    at_most = highest * weight.beta / (1.0 - highest)
    return Weight(alpha=max(weight.alpha, min(weight.alpha + gain, at_most)), beta=weight.beta)


def weaken_weight(weight: Weight, amount: float, *, immutable: bool = False) -> Weight:
    """Lower a weight. Evidence against a memory counts in full each time."""
    validate_amount(amount)
    return weight if immutable else weight.contradict(amount)


def merge_weights(weight: Weight, duplicate: Weight, *, immutable: bool = False) -> Weight:
    """Add what two duplicates gathered beyond the prior."""
    if immutable:
        return weight
    alpha = weight.alpha + max(0.0, duplicate.alpha - PRIOR_ALPHA)
    beta = weight.beta + max(0.0, duplicate.beta - PRIOR_BETA)
    highest = HIGHEST_CENTER * beta / (1.0 - HIGHEST_CENTER)
    return Weight(alpha=max(weight.alpha, min(alpha, highest)), beta=beta)


START = 0.5
MOST_EVIDENCE = 20
PASSIVE_SPAN = 0.10
"""The farthest that passive signals move the confidence from its anchor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """The confidence and weight of one memory, with the evidence behind them."""

    confidence: float = START
    evidence_count: int = 0
    corroborations: int = 0
    contradictions: int = 0
    passive_count: int = 0
    confidence_anchor: float | None = None
    confidence_ceiling: float | None = None
    weight_ceiling: float | None = None
    weight: Weight = FRESH
    immutable: bool = False

    @property
    def as_beta(self) -> tuple[float, float]:
        """The confidence as a Beta distribution."""
        seen = min(self.evidence_count, MOST_EVIDENCE) + 1
        return self.confidence * seen, (1.0 - self.confidence) * seen


def apply_signal(belief: Belief, signal: float, *, cap: float | None = None, most: int = MOST_EVIDENCE) -> Belief:
    """Apply a deliberate signal, from 0 (false) to 1 (true).

    `cap` is a confidence that this signal may not exceed; a higher one stays.
    From `most` signals on, each one moves the confidence by the same fraction.
    """
    validate_signal(signal)
    seen = min(belief.evidence_count + 1, most)
    moved = belief.confidence + (signal - belief.confidence) / (seen + 1)
    confidence = _cap_increase(_clamp(moved), belief.confidence, cap)
    return replace(
        belief,
        confidence=confidence,
        confidence_anchor=confidence,
        evidence_count=belief.evidence_count + 1,
        corroborations=belief.corroborations + (signal >= 0.5),
        contradictions=belief.contradictions + (signal < 0.5),
    )


def apply_passive_signal(
    belief: Belief, signal: float, *, strength: float, span: float = PASSIVE_SPAN, most: int = MOST_EVIDENCE
) -> Belief:
    """Apply a signal inferred from events; `strength` is weight times credit."""
    validate_signal(signal)
    seen = min(belief.evidence_count + belief.passive_count + 1, most)
    moved = belief.confidence + strength * (signal - belief.confidence) / (seen + 1)
    anchor = belief.confidence if belief.confidence_anchor is None else belief.confidence_anchor
    held = min(max(moved, anchor - span), anchor + span)
    confidence = _cap_increase(_clamp(held), belief.confidence, belief.confidence_ceiling)
    return replace(belief, confidence=confidence, confidence_anchor=anchor, passive_count=belief.passive_count + 1)


def validate_signal(signal: float) -> float:
    if isinstance(signal, bool) or not isinstance(signal, int | float):
        raise TypeError(f"a signal is a number, not {type(signal).__name__}")
    if not 0.0 <= signal <= 1.0 or math.isnan(signal):
        raise ValueError(f"a signal lies between 0 and 1, {signal} does not")
    return float(signal)


def _clamp(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def _cap_increase(moved: float, before: float, cap: float | None) -> float:
    """Limit an increase to `cap`; a value that was higher before is not lowered to it."""
    if cap is None or moved <= before:
        return moved
    return min(moved, max(before, cap))


LOST_A_DAY = 0.01
STALE_AFTER_DAYS = 90
STALE_BELOW_READS = 3
LOST_WHEN_STALE = 1.0

DAY_SECONDS = 86_400.0


def decay_weight(weight: Weight, *, idle_days: float, reads: int, immutable: bool = False) -> Weight:
    """Return the weight after decay."""
    if immutable:
        return weight
    idle = max(0.0, idle_days)
    is_stale = idle >= STALE_AFTER_DAYS and reads < STALE_BELOW_READS
    return Weight(alpha=weight.alpha, beta=weight.beta + LOST_A_DAY * idle + (LOST_WHEN_STALE if is_stale else 0.0))


def idle_days(touched: Iterable[datetime | None], *, now: datetime) -> float:
    """Days since the latest of the given times, at least one of which is not None."""
    latest = max(filter(None, touched))
    return max(0.0, (now - latest).total_seconds() / DAY_SECONDS)


CAUSES_A_DAY = 3
"""Causes counted per agent, day and origin for one memory."""

TRUSTED_FROM = 0.55
"""Causes with less trust never lift a confidence above the cap."""

SUPPORT = 0.5
"""What a fully trusted cause adds to a weight, before diminishing returns."""


class SightingUncountedReason(StrEnum):
    """Why a sighting brought no new cause."""

    SAME_CAUSE = "same_cause"
    ENOUGH_TODAY = "enough_today"
    OWN_DERIVATION = "own_derivation"
    INTERNAL = "internal"
    """The agent thought it, or a job derived it: nobody outside said it."""
    HELD = "held"
    QUARANTINED = "quarantined"
    UNDONE = "undone"
    REPAIRED = "repaired"
    """Its source was withdrawn."""


def find_founding_sighting(memory: MemoryId, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the sighting, of those in order of time, that founds a memory: its own or the first that remains."""
    left = [
        row for row in rows if row["moved_by"] is None and row["uncounted_because"] != SightingUncountedReason.REPAIRED
    ]
    return next((row for row in left if row["id"] == memory), left[0] if left else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseCounts:
    """How often this cause has already counted for a memory."""

    of_cause: int = 0
    of_agent_today: int = 0


def find_uncounted_reason(counts: CauseCounts, *, is_own_derivation: bool = False) -> SightingUncountedReason | None:
    """Why a sighting does not count; None if it does."""
    if is_own_derivation:
        return SightingUncountedReason.OWN_DERIVATION
    if counts.of_cause:
        return SightingUncountedReason.SAME_CAUSE
    if counts.of_agent_today >= CAUSES_A_DAY:
        return SightingUncountedReason.ENOUGH_TODAY
    return None


def corroborate_belief(belief: Belief, *, trust: float, origin: Origin, cap: float) -> Belief:
    """Apply a newly counted cause. `cap` is the highest confidence that untrusted causes reach."""
    if origin is Origin.PERSON:
        belief = replace(belief, confidence_ceiling=None, weight_ceiling=None)
    bounds = [bound for bound in (belief.confidence_ceiling, cap if trust < TRUSTED_FROM else None) if bound]
    moved = apply_signal(belief, 0.5 + 0.4 * trust, cap=min(bounds, default=None))
    weight = reinforce_weight(belief.weight, SUPPORT * trust, immutable=belief.immutable, ceiling=belief.weight_ceiling)
    return replace(moved, weight=weight)


WORDED_BY_MODEL = 0.9
"""Factor on the trust in sources that a model paraphrased."""

DEFAULTS = {Origin.PERSON: 1.0, Origin.SYSTEM: 0.9, Origin.MODEL: 0.6, Origin.TOOL: 0.5, Origin.DOCUMENT: 0.4}


def compute_trust(
    origin: Origin, trusts: Mapping[Origin, float], *, sources: Iterable[float] = (), by_model: bool = False
) -> float:
    """Compute the initial trust of a statement. `sources` are the trusts of what it derives from.

    `by_model` says that a model worded it. A statement without sources has the trust of its origin.
    """
    lowest = min(sources, default=None)
    if lowest is None:
        if origin is Origin.JOB:
            raise BadInput(
                "A job cannot learn what derives from nothing.", hint="Name in `derived_from` what it was derived from."
            )
        return trusts[origin]
    if origin not in (Origin.MODEL, Origin.JOB):
        lowest = min(lowest, trusts[origin])
    return round_trust(lowest * WORDED_BY_MODEL if by_model else lowest)


def round_trust(trust: float) -> float:
    """Round to the six digits that the store keeps, so that a trust read back compares equal."""
    return round(trust, 6)
