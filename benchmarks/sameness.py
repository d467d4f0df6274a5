"""Ranks pairs by how likely they say the same, for the areas under curves of `dedup`.

A logistic score of the cosine, scaled between the profile's `check` and `same`, and of the overlap of words, word pairs
and letters. Its weights were fitted once on the calibration parts of PARADE and MSRP (4,716 pairs) with the bundled
embedder. The product decides nothing by it.
"""

import math
from collections import Counter
from collections.abc import Mapping

from festinger.judge.model import PairFeatures
from festinger.judge.rules.parse import StatementReading

_BIAS = -1.571
_NEARNESS = 2.553
_SHARED = 3.747
_OF_SHORTER = -1.033
_LETTERS = 1.635
_LENGTH = -0.283
_NEIGHBOURS = -1.997
_NUMBERS = -0.719

_ROW = 3
"""Letters per n-gram."""
_LONGEST = 2000
"""Characters whose letters are counted; more add nothing."""


def score_sameness(old: StatementReading, new: StatementReading, features: PairFeatures) -> float | None:
    """Score from 0 to 1 how likely both say the same; none where vectors may not be used."""
    nearness = _nearness(features)
    if nearness is None:
        return None
    shared, both = len(old.stemmed & new.stemmed), len(old.stemmed | new.stemmed)
    lengths = len(old.words), len(new.words)
    total = (
        _BIAS
        + _NEARNESS * nearness
        + _SHARED * shared / max(1, both)
        + _OF_SHORTER * shared / max(1, min(len(old.stemmed), len(new.stemmed)))
        + _LETTERS * _cosine(_letters(old.fold), _letters(new.fold))
        + _LENGTH * abs(lengths[0] - lengths[1]) / max(1, *lengths)
        + _NEIGHBOURS * _neighbours(old, new)
        + _NUMBERS * (old.amounts.numbers != new.amounts.numbers)
    )
    return 1 / (1 + math.exp(-total))


def _nearness(features: PairFeatures) -> float | None:
    """Scale the cosine between the profile's thresholds: 0 at `check`, 1 at `same`."""
    check, same = features.bars.check, features.bars.same
    if features.similarity is None or check is None or same is None or same <= check:
        return None
    return (features.similarity - check) / (same - check)


def _letters(text: str) -> Mapping[str, int]:
    cut = text[:_LONGEST]
    return Counter(cut[at : at + _ROW] for at in range(len(cut) - _ROW + 1))


def _cosine(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    product = sum(count * other[row] for row, count in one.items() if row in other)
    squares = sum(count * count for count in one.values()) * sum(count * count for count in other.values())
    return product / math.sqrt(squares) if squares else 0.0


def _neighbours(old: StatementReading, new: StatementReading) -> float:
    one, other = (set(zip(each.content, each.content[1:], strict=False)) for each in (old, new))
    return len(one & other) / max(1, min(len(one), len(other)))
