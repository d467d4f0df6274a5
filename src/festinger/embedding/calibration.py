"""Measures labeled pairs of texts and proposes the thresholds of a model, with their curve.

Deterministic. `same` is the smallest cosine at which hardly any different pair would be merged, `check` the
largest that still lets nearly every same pair be examined. When no cosine meets the target there is no
threshold, and vectors alone never confirm. The same two methods serve names of subjects and meanings of
censors. Pairs that a guard would stop anyway (another number, a negation) are marked by the caller and do not
count against `same`. Saving a profile is a person's decision.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np
from numpy.typing import NDArray

from festinger.embedding.embedder import Embedder
from festinger.embedding.profiles import EmbedderProfile, EmbeddingPurpose, Threshold, ThresholdReading
from festinger.errors import BadInput

LEAST_PAIRS = 50
"""Per class; with fewer, one odd pair moves a threshold by more than the distance between thresholds."""

STEPS = 200
"""Points of the curve, from 0 to 1."""

KEPT_EVERY = 10
"""Every tenth point of the curve is stored with a profile: enough to see its shape."""

GRAIN = 10_000
"""Thresholds are whole ten-thousandths: machines do not agree on vectors any finer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationPair:
    """Two texts, and whether they say the same. `guarded`: something other than vectors keeps them apart."""

    a: str
    b: str
    same: bool
    guarded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPair:
    cosine: float
    same: bool
    guarded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationTargets:
    false_merges: float = 0.005
    """Share of the different pairs that may be at or above `same`."""
    kept: float = 0.95
    """Share of same pairs that must reach `check`, and of names of one subject that must reach `subject`."""
    mistaken: float = 0.05
    """Share of names of two subjects that may be at or above `subject`: what is said of one must not replace
    what was said of the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The effect of treating everything at or above `cosine` as the same."""

    cosine: float
    precision: float
    recall: float
    false_merges: float

    @property
    def f1(self) -> float:
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdProposal:
    same: float | None
    check: float
    auc: float
    curve: tuple[Point, ...]
    pairs: int


async def measure_pairs(embedder: Embedder, pairs: Sequence[CalibrationPair]) -> list[MeasuredPair]:
    """Return the cosine of every pair, from vectors made for comparing."""
    left = await embedder.embed([pair.a for pair in pairs], EmbeddingPurpose.COMPARE)
    right = await embedder.embed([pair.b for pair in pairs], EmbeddingPurpose.COMPARE)
    return [
        MeasuredPair(cosine=float(a @ b), same=pair.same, guarded=pair.guarded)
        for pair, a, b in zip(pairs, left, right, strict=True)
    ]


def propose_thresholds(measured: Sequence[MeasuredPair], bars: CalibrationTargets) -> ThresholdProposal:
    """Propose thresholds for what was measured."""
    same = _cosines(measured, same=True)
    different = _cosines(measured, same=False)
    if min(len(same), len(different)) < LEAST_PAIRS:
        raise BadInput(
            f"{len(same)} same and {len(different)} different pairs are too few to calibrate.",
            hint=f"Give at least {LEAST_PAIRS} of each.",
        )
    unguarded = _cosines([pair for pair in measured if not pair.guarded], same=False)
    if len(unguarded) < LEAST_PAIRS:
        raise BadInput(
            f"Only {len(unguarded)} different pairs are parted by vectors alone; guards part the others.",
            hint=f"Give at least {LEAST_PAIRS} that differ in more than a number, a name or a negation.",
        )
    return ThresholdProposal(
        same=_same_from(same, unguarded, bars.false_merges),
        check=_check_from(same, bars.kept),
        auc=_auc(same, different),
        curve=tuple(compute_point(same, different, cosine=step / STEPS) for step in range(STEPS + 1)),
        pairs=len(measured),
    )


def has_enough_pairs(measured: Sequence[MeasuredPair]) -> bool:
    """Whether there are enough pairs of both classes to derive a threshold."""
    same = sum(pair.same for pair in measured)
    return min(same, len(measured) - same) >= LEAST_PAIRS


def propose_subject(measured: Sequence[MeasuredPair], bars: CalibrationTargets) -> float | None:
    """Return the cosine from which two names are one subject; none if that would confuse too many."""
    same, different = _cosines(measured, same=True), _cosines(measured, same=False)
    found = _check_from(same, bars.kept)
    return found if compute_point(same, different, cosine=found).false_merges <= bars.mistaken else None


def propose_censor(measured: Sequence[MeasuredPair], bars: CalibrationTargets) -> float | None:
    """Return the lowest cosine at which a censor spares what it does not mean; none if it matches nothing."""
    same, different = _cosines(measured, same=True), _cosines(measured, same=False)
    return _same_from(same, different, bars.false_merges)


def measure_quality(measured: Sequence[MeasuredPair], cosine: float | None) -> Point | None:
    """Return the quality of treating everything at or above `cosine` as the same, with guards applied; none
    without a cosine."""
    if cosine is None:
        return None
    # Whatever a guard separates is below every threshold.
    seen = [replace(pair, cosine=-2.0) if pair.guarded else pair for pair in measured]
    return compute_point(_cosines(seen, same=True), _cosines(seen, same=False), cosine=cosine)


def compute_point(same: NDArray[np.float64], different: NDArray[np.float64], *, cosine: float) -> Point:
    found = int((same >= cosine).sum())
    wrong = int((different >= cosine).sum())
    return Point(
        cosine=cosine,
        precision=found / (found + wrong) if found + wrong else 1.0,
        recall=found / len(same),
        false_merges=wrong / len(different),
    )


def apply_proposed_thresholds(
    profile: EmbedderProfile, proposal: ThresholdProposal, *, data: str, at: date, bars: CalibrationTargets
) -> EmbedderProfile:
    """Return `profile` with the proposed thresholds."""
    merges = f"at most {bars.false_merges:.1%} of the different pairs at or above"
    looked_at = f"at least {bars.kept:.0%} of the same pairs at or above"
    readings = {
        **profile.readings,
        Threshold.SAME: ThresholdReading(value=proposal.same, data=data, at=at, how=merges),
        Threshold.CHECK: ThresholdReading(value=proposal.check, data=data, at=at, how=looked_at),
    }
    kept = proposal.curve[::KEPT_EVERY]
    curve = tuple((at.cosine, at.precision, at.recall, at.false_merges) for at in kept)
    return replace(profile, readings=readings, curve=curve)


def _cosines(measured: Sequence[MeasuredPair], *, same: bool) -> NDArray[np.float64]:
    return np.sort(np.array([pair.cosine for pair in measured if pair.same is same], dtype=np.float64))


def _same_from(same: NDArray[np.float64], different: NDArray[np.float64], bar: float) -> float | None:
    """Return the smallest value that meets the target; none if no same pair reaches it."""
    allowed = int(len(different) * bar)
    if allowed >= len(different):
        return _at_or_below(float(same[0]))
    threshold = _just_above(float(different[len(different) - allowed - 1]))
    return threshold if threshold <= 1 and (same >= threshold).any() else None


def _check_from(same: NDArray[np.float64], bar: float) -> float:
    """Return the largest value that still meets the target."""
    dropped = int(len(same) * (1 - bar) + 1e-9)
    return _at_or_below(float(same[dropped]))


def _just_above(cosine: float) -> float:
    # Counted in whole steps and then compared: rounding the product alone may land on the cosine itself.
    step = math.floor(cosine * GRAIN)
    while step / GRAIN <= cosine:
        step += 1
    return step / GRAIN


def _at_or_below(cosine: float) -> float:
    step = math.ceil(cosine * GRAIN)
    while step / GRAIN > cosine:
        step -= 1
    return step / GRAIN


def _auc(same: NDArray[np.float64], different: NDArray[np.float64]) -> float:
    """Return the probability that a same pair scores above a different one; ties count half."""
    below = np.searchsorted(different, same, side="left")
    ties = np.searchsorted(different, same, side="right") - below
    return float((below + ties / 2).sum() / (len(same) * len(different)))
