"""How do a match by words and a match by meaning become one?

By score: each is stretched over the candidates and both are blended, so that it counts how good a match is. Or by rank
alone (RRF), which throws that away and is kept to compare with.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

Ref = TypeVar("Ref", bound=Hashable)


def scaled(scores: Sequence[float | None], *, guests: int = 0) -> list[float]:
    """Scores stretched from 0 for the lowest to 1 for the highest; all alike are 1, what is unknown is 0.

    The last `guests` of them take the scale of the others, so that their coming moves nobody.
    """
    known = [score for score in scores[: len(scores) - guests] if score is not None]
    if not known:
        return [0.0] * len(scores)
    low, high = min(known), max(known)
    if high == low:
        return [1.0 if score is not None and score >= high else 0.0 for score in scores]
    return [0.0 if score is None else min(1.0, max(0.0, (score - low) / (high - low))) for score in scores]


def blended(
    meaning: Sequence[float | None] | None,
    words: Sequence[float] | None,
    *,
    words_share: float,
    guests: int = 0,
) -> list[float]:
    """One match from both; from one where the other was not searched by."""
    if meaning is None:
        return scaled(words or (), guests=guests)
    if words is None:
        return scaled(meaning, guests=guests)
    return [
        (1.0 - words_share) * by_meaning + words_share * by_words
        for by_meaning, by_words in zip(
            scaled(meaning, guests=guests), scaled(words, guests=guests), strict=True
        )
    ]


def rrf(places: Iterable[int], *, arms: int, k: int) -> float:
    """What places in some of so many arms are worth together: 1 for the first place in all of them."""
    return sum(1.0 / (k + place) for place in places) * (k + 1) / max(1, arms)


def ranks(scores: Mapping[Ref, float]) -> dict[Ref, int]:
    """The place of each, the best first; equal ones in the order in which they are given."""
    ordered = sorted(scores, key=lambda ref: -scores[ref])
    return {ref: place for place, ref in enumerate(ordered, 1)}
