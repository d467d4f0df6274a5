"""How do a match by words and a match by meaning become one?

By score: each is stretched over the candidates and both are blended, so that it counts how good a match is. Or by rank
alone (RRF), which throws that away and is kept to compare with.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

Ref = TypeVar("Ref", bound=Hashable)


def scaled(scores: Sequence[float | None]) -> list[float]:
    """Scores stretched from 0 for the lowest to 1 for the highest; all alike are 1, what is unknown is 0."""
    known = [score for score in scores if score is not None]
    if not known:
        return [0.0] * len(scores)
    low, high = min(known), max(known)
    if high == low:
        return [0.0 if score is None else 1.0 for score in scores]
    return [0.0 if score is None else (score - low) / (high - low) for score in scores]


def blended(
    meaning: Sequence[float | None] | None, words: Sequence[float] | None, *, words_share: float
) -> list[float]:
    """One match from both; from one where the other was not searched by."""
    if meaning is None:
        return scaled(words or ())
    if words is None:
        return scaled(meaning)
    return [
        (1.0 - words_share) * by_meaning + words_share * by_words
        for by_meaning, by_words in zip(scaled(meaning), scaled(words), strict=True)
    ]


def rrf(ranks: Mapping[str, Mapping[Ref, int]], ref: Ref, *, k: int) -> float:
    """What places among the arms are worth together: 1 for the first place in all of them."""
    if not ranks:
        return 0.0
    found = sum(1.0 / (k + places[ref]) for places in ranks.values() if ref in places)
    return found * (k + 1) / len(ranks)


def ranks(scores: Mapping[Ref, float]) -> dict[Ref, int]:
    """The place of each, the best first; equal ones in the order in which they are given."""
    ordered = sorted(scores, key=lambda ref: -scores[ref])
    return {ref: place for place, ref in enumerate(ordered, 1)}
