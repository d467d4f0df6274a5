"""How likely is a memory true, after one more signal?

The one arithmetic of confidence, for outcomes and for corroboration alike: up to the twentieth signal the mean of
the start value and all signals, in any order; from then on each moves it by a twenty-first. What nobody said on
purpose moves it less and never far from where the last deliberate signal left it. Which signal something gives is
decided by its neighbours; keeping the result is `belief`'s matter.
"""

import math
from dataclasses import dataclass, replace

from festinger.memory.weight import FRESH, Weight

START = 0.5
MOST_EVIDENCE = 20
PASSIVE_SPAN = 0.10
"""How far signals that nobody gave on purpose move the confidence from its anchor, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """What is held of one memory: how likely it is true, how deeply it is held, and what that rests on."""

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
        """The confidence seen as a Beta distribution."""
        seen = min(self.evidence_count, MOST_EVIDENCE) + 1
        return self.confidence * seen, (1.0 - self.confidence) * seen


def signalled(
    belief: Belief, signal: float, *, cap: float | None = None, most: int = MOST_EVIDENCE
) -> Belief:
    """The belief after a signal that somebody gave on purpose, from 0 (false) to 1 (true).

    `cap` is a confidence that this signal may not lift it above; what is above already stays. `most` is the number
    of signals from which on each moves it alike.
    """
    checked_signal(signal)
    seen = min(belief.evidence_count + 1, most)
    moved = belief.confidence + (signal - belief.confidence) / (seen + 1)
    confidence = _below(_clamped(moved), belief.confidence, cap)
    return replace(
        belief,
        confidence=confidence,
        confidence_anchor=confidence,
        evidence_count=belief.evidence_count + 1,
        corroborations=belief.corroborations + (signal >= 0.5),
        contradictions=belief.contradictions + (signal < 0.5),
    )


def signalled_passively(
    belief: Belief, signal: float, *, strength: float, span: float = PASSIVE_SPAN, most: int = MOST_EVIDENCE
) -> Belief:
    """The belief after a signal that was only read from what happened; `strength` is weight times credit."""
    checked_signal(signal)
    seen = min(belief.evidence_count + belief.passive_count + 1, most)
    moved = belief.confidence + strength * (signal - belief.confidence) / (seen + 1)
    anchor = belief.confidence if belief.confidence_anchor is None else belief.confidence_anchor
    held = min(max(moved, anchor - span), anchor + span)
    confidence = _below(_clamped(held), belief.confidence, belief.confidence_ceiling)
    return replace(
        belief, confidence=confidence, confidence_anchor=anchor, passive_count=belief.passive_count + 1
    )


def checked_signal(signal: float) -> float:
    if isinstance(signal, bool) or not isinstance(signal, int | float):
        raise TypeError(f"a signal is a number, not {type(signal).__name__}")
    if not 0.0 <= signal <= 1.0 or math.isnan(signal):
        raise ValueError(f"a signal lies between 0 and 1, {signal} does not")
    return float(signal)


def _clamped(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def _below(moved: float, before: float, cap: float | None) -> float:
    """`moved`, but not lifted above `cap`: what stands higher already is not pulled down to it."""
    if cap is None or moved <= before:
        return moved
    return min(moved, max(before, cap))
