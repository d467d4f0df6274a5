"""Scores word matches by BM25, selects the search terms, and fuses word and vector scores.

Words are lexemes: stemmed and without stopwords. Pure arithmetic; `index.terms` counts words and the database
splits texts. Fusion by score scales both over the candidates and blends them, so that the quality of a match
counts; fusion by rank alone (RRF) discards that and is kept for comparison.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

MOST_TERMS = 32
"""The rarest words of a cue used for searching."""
COMMON_SHARE = 0.10
"""A word in more than this share of the texts only narrows a search."""
FEW_TEXTS = 100
"""Among fewer texts any word may start a search, since there is nothing to save."""
MOST_PAIRED = 6
"""Words too common to search by alone that are searched in pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TermStatistics:
    """How many texts there are, their total length, and how many contain each word of a cue."""

    docs: int = 0
    total_len: int = 0
    df: Mapping[str, int]
    _idf: dict[str, float] = field(default_factory=dict, repr=False, compare=False)
    _worth: dict[tuple[str, ...], tuple[list[tuple[str, float]], float]] = field(
        default_factory=dict, repr=False, compare=False
    )
    """Caches: every candidate asks for the same few words."""

    @property
    def average(self) -> float:
        return self.total_len / self.docs if self.docs and self.total_len else 1.0

    def idf(self, term: str) -> float:
        """Return how much a word says; one never counted says most."""
        if term not in self._idf:
            df = max(1, self.df.get(term, 0))
            self._idf[term] = math.log(1.0 + (max(self.docs, df) - df + 0.5) / (df + 0.5))
        return self._idf[term]

    def worth(self, terms: tuple[str, ...]) -> tuple[list[tuple[str, float]], float]:
        """Return how much each of these words says, and all of them together."""
        if terms not in self._worth:
            each = [(term, self.idf(term)) for term in terms]
            self._worth[terms] = each, sum(idf for _, idf in each)
        return self._worth[terms]


@dataclass(slots=True, kw_only=True)
class TermMatches:
    """The words of a cue in a text with their weighted counts, and the length of the text."""

    counts: Mapping[str, float]
    length: int
    nearby: frozenset[str] = frozenset()
    """Words found only in the neighboring turns."""

    @property
    def inside(self) -> set[str]:
        """Words found in the text itself."""
        return {term for term, count in self.counts.items() if count} - self.nearby


NOTHING_HELD = TermMatches(counts={}, length=0)


def build_term_matches(
    terms: Sequence[str] | None,
    own: Sequence[int] | None,
    nearby: Sequence[int] | None,
    *,
    length: int,
    context_weight: float,
) -> TermMatches:
    """Build the matches of a row: how often each word is in the text, and how often only beside it."""
    if not terms or not own:
        return TermMatches(counts={}, length=length)
    if not nearby:
        return TermMatches(counts=dict(zip(terms, own, strict=True)), length=length)
    counts = {term: inside + context_weight * outside for term, inside, outside in zip(terms, own, nearby, strict=True)}
    only_around = frozenset(term for term, inside in zip(terms, own, strict=True) if not inside)
    return TermMatches(counts=counts, length=length, nearby=only_around)


def bm25_score(text: TermMatches, statistics: TermStatistics, *, k1: float, b: float) -> float:
    if not text.counts:
        return 0.0
    length = 1.0 - b + b * text.length / statistics.average
    return sum(
        statistics.idf(term) * count * (k1 + 1.0) / (count + k1 * length)
        for term, count in sorted(text.counts.items())
        if count > 0
    )


def term_coverage(text: TermMatches, statistics: TermStatistics, terms: Sequence[str]) -> float:
    """Return the share of the cue's information in the text itself; words beside it belong to neighbors."""
    if not text.counts:
        return 0.0
    worth, all_of_it = statistics.worth(tuple(terms))
    if not all_of_it:
        return 0.0
    counts, nearby = text.counts, text.nearby
    return sum([idf for term, idf in worth if counts.get(term) and term not in nearby]) / all_of_it


def rarest_terms(terms: Sequence[str], statistics: TermStatistics, *, most: int = MOST_TERMS) -> list[str]:
    return sorted(terms, key=lambda term: (statistics.df.get(term, 0), term))[:most]


def build_pool_tsquery(terms: Sequence[str], statistics: TermStatistics, *, pool: int) -> str:
    """Build the word-index query for the texts to score closely; empty for none.

    It takes the texts with one of the rarest words until about `pool` are found; of the words that are then
    too common to search by alone, the texts with two of them. If no word is rare, the texts with all.
    """
    ranked = rarest_terms(terms, statistics)
    if not ranked:
        return ""
    room = float(pool)
    alone: list[str] = []
    for term in ranked:
        expected = max(1, statistics.df.get(term, 0))
        is_common = statistics.docs >= FEW_TEXTS and expected > COMMON_SHARE * statistics.docs
        if is_common or (alone and expected > room):
            break
        alone.append(term)
        room -= expected
    pairs = _build_pair_queries(ranked[len(alone) :][:MOST_PAIRED], statistics, room=max(room, pool / 2))
    parts = [*map(quote_term, alone), *pairs]
    return " | ".join(parts) if parts else " & ".join(map(quote_term, ranked))


def quote_term(term: str) -> str:
    """Quote a word for a query, whatever characters it has."""
    escaped = term.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _build_pair_queries(terms: Sequence[str], statistics: TermStatistics, *, room: float) -> list[str]:
    found: list[tuple[float, str]] = []
    for place, one in enumerate(terms):
        for other in terms[place + 1 :]:
            expected = statistics.df.get(one, 1) * statistics.df.get(other, 1) / max(1, statistics.docs)
            found.append((expected, f"({quote_term(one)} & {quote_term(other)})"))
    kept = []
    for expected, query in sorted(found):
        room -= expected
        if room < 0:
            break
        kept.append(query)
    return kept


Ref = TypeVar("Ref", bound=Hashable)


def scale_scores(scores: Sequence[float | None], *, guests: int = 0) -> list[float]:
    """Scale scores from 0 for the lowest to 1 for the highest; equal ones are 1, unknown ones 0.

    The last `guests` scores use the scale of the others, so that adding them changes nothing.
    """
    known = [score for score in scores[: len(scores) - guests] if score is not None]
    if not known:
        return [0.0] * len(scores)
    low, high = min(known), max(known)
    if high == low:
        return [1.0 if score is not None and score >= high else 0.0 for score in scores]
    return [0.0 if score is None else min(1.0, max(0.0, (score - low) / (high - low))) for score in scores]


def blend_scores(
    meaning: Sequence[float | None] | None, words: Sequence[float] | None, *, words_share: float, guests: int = 0
) -> list[float]:
    """Blend both scores, or return one where the other was not searched."""
    if meaning is None:
        return scale_scores(words or (), guests=guests)
    if words is None:
        return scale_scores(meaning, guests=guests)
    return [
        (1.0 - words_share) * by_meaning + words_share * by_words
        for by_meaning, by_words in zip(
            scale_scores(meaning, guests=guests), scale_scores(words, guests=guests), strict=True
        )
    ]


def rrf_score(places: Iterable[int], *, arms: int, k: int) -> float:
    """Score the ranks in some of so many arms: 1 for the first rank in all of them."""
    return sum(1.0 / (k + place) for place in places) * (k + 1) / max(1, arms)


def rank_positions(scores: Mapping[Ref, float]) -> dict[Ref, int]:
    """Return the rank of each, best first; ties keep the given order."""
    ordered = sorted(scores, key=lambda ref: -scores[ref])
    return {ref: place for place, ref in enumerate(ordered, 1)}
