"""Learns the direction in which the vectors of a statement and its negation differ.

The direction is the mean of the unit differences of such pairs. How far the difference of two texts points
along it, either way, hints at a negation that the words do not show. Half of the pairs train, the other half
tests; where the hint is too often wrong on held-out pairs, it is turned off. It is only a hint: callers pass
the pair to the next judge and never decide by it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np
from numpy.typing import NDArray

from festinger.embedding.calibration import LEAST_PAIRS, CalibrationPair
from festinger.embedding.embedder import Embedder
from festinger.embedding.profiles import EmbedderProfile, EmbeddingPurpose, Threshold, ThresholdReading
from festinger.errors import BadInput

NEAR = 0.7
"""Cosine from which two texts are close enough to be each other's negation."""
LEAST_PRECISION = 0.8
DIGITS = 6
"""Decimals of a stored direction: half precision, in which vectors are stored, has three."""

Rows = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class OppositionSample:
    """The differences of near pairs, and which of them are negations."""

    differences: Rows
    negations: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """What was learned. Without a bar it is turned off; `precision` says why."""

    vector: tuple[float, ...]
    bar: float | None
    precision: float
    """Share of negations among the held-out pairs that it flagged."""
    recall: float
    pairs: int


async def measure_opposition(embedder: Embedder, pairs: Sequence[CalibrationPair]) -> OppositionSample:
    """Return the differences of pairs, from vectors made for comparing."""
    left = await embedder.embed([pair.a for pair in pairs], EmbeddingPurpose.COMPARE)
    right = await embedder.embed([pair.b for pair in pairs], EmbeddingPurpose.COMPARE)
    a, b = (np.array(side, dtype=np.float64) for side in (left, right))
    return select_near_pairs(a, b, [pair.negation for pair in pairs])


def apply_direction(profile: EmbedderProfile, found: Direction, *, data: str, at: date) -> EmbedderProfile:
    """Return `profile` with the direction; if it was too often wrong it is off, and the reading says so."""
    how = f"held-out precision {found.precision:.2f}, recall {found.recall:.2f}"
    if found.bar is None:
        how += f"; turned off, because the precision is below {LEAST_PRECISION}"
    reading = ThresholdReading(value=found.bar, data=data, at=at, how=how)
    return replace(
        profile,
        readings={**profile.readings, Threshold.OPPOSITION: reading},
        direction=found.vector if found.bar is not None else (),
    )


def select_near_pairs(left: Rows, right: Rows, negations: Sequence[bool]) -> OppositionSample:
    """Keep those pairs of unit vectors that are close enough to examine."""
    near = np.einsum("ij,ij->i", left, right) >= NEAR
    return OppositionSample(
        differences=normalize_rows((right - left)[near]), negations=np.array(negations, dtype=np.bool_)[near]
    )


def has_enough_samples(found: OppositionSample) -> bool:
    """Whether there are enough near pairs of both classes to train and test with."""
    taught, _ = _halves(found)
    return min(int(taught.negations.sum()), int((~taught.negations).sum())) >= LEAST_PAIRS // 2


def learn_direction(found: OppositionSample) -> Direction:
    """Learn the direction and its bar. Raises `BadInput` for too few pairs."""
    if not has_enough_samples(found):
        raise BadInput(
            f"{int(found.negations.sum())} negations and {int((~found.negations).sum())} other pairs are near "
            "enough; that is too few to learn a direction.",
            hint=f"Give at least {LEAST_PAIRS} of each whose texts are near each other.",
        )
    taught, kept = _halves(found)
    vector = np.round(normalize_rows(taught.differences[taught.negations].mean(axis=0, keepdims=True))[0], DIGITS)
    bar = _bar(project_onto(taught.differences, vector), taught.negations)
    precision, recall = _quality(project_onto(kept.differences, vector), kept.negations, bar)
    return Direction(
        vector=tuple(float(number) for number in vector),
        bar=bar if precision >= LEAST_PRECISION else None,
        precision=precision,
        recall=recall,
        pairs=len(found.negations),
    )


def project_onto(differences: Rows, direction: Rows) -> Rows:
    """Return how far each difference points along a direction, either way."""
    return np.asarray(np.abs(differences @ direction), dtype=np.float64)


def normalize_rows(rows: Rows) -> Rows:
    """Scale rows to unit length; zero rows stay zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0), dtype=np.float64)


def _halves(found: OppositionSample) -> tuple[OppositionSample, OppositionSample]:
    """Split the sample: every second pair of each class trains, the others test."""
    teaches = np.zeros(len(found.negations), dtype=np.bool_)
    for is_negation in (True, False):
        teaches[np.flatnonzero(found.negations == is_negation)[::2]] = True
    return (
        OppositionSample(differences=found.differences[teaches], negations=found.negations[teaches]),
        OppositionSample(differences=found.differences[~teaches], negations=found.negations[~teaches]),
    )


def _bar(scores: Rows, negations: NDArray[np.bool_]) -> float:
    """Return the lowest score from which enough are negations; 1.0, beyond all of them, if there is none."""
    order = np.argsort(-scores, kind="stable")
    right = np.cumsum(negations[order]) / np.arange(1, len(order) + 1)
    good = np.flatnonzero(right >= LEAST_PRECISION)
    return round(float(scores[order][good[-1]]), 4) if len(good) else 1.0


def _quality(scores: Rows, negations: NDArray[np.bool_], bar: float) -> tuple[float, float]:
    found = scores >= bar
    right = int((found & negations).sum())
    precision = right / int(found.sum()) if found.any() else 0.0
    return precision, right / max(1, int(negations.sum()))
