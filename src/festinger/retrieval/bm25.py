"""How well do the words of a cue match a text?

BM25 with statistics of our own, and which words are rare enough to search by. Words here are lexemes: stemmed and
without stopwords. Pure arithmetic; counting them is `counting`'s matter, reading them from a text the database's.

How do a match by words and a match by meaning become one?

By score: each is stretched over the candidates and both are blended, so that it counts how good a match is. Or by rank
alone (RRF), which throws that away and is kept to compare with.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

MOST_TERMS = 32
"""The rarest words of a cue that are searched by."""
COMMON_SHARE = 0.10
"""A word that stands in more than this share of the texts narrows a search and never begins one."""
FEW_TEXTS = 100
"""Among fewer texts every word may begin a search: there is nothing to be saved."""
MOST_PAIRED = 6
"""Words too common to search by alone that are searched by in pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TermStatistics:
    """How many texts there are, how long they are together, and in how many of them each word of a cue stands."""

    docs: int = 0
    total_len: int = 0
    df: Mapping[str, int]
    _idf: dict[str, float] = field(default_factory=dict, repr=False, compare=False)
    """What was computed once: every candidate asks for the same few words."""

    @property
    def average(self) -> float:
        return self.total_len / self.docs if self.docs and self.total_len else 1.0

    def idf(self, term: str) -> float:
        """How much a word says; one that was never counted says most."""
        if term not in self._idf:
            df = max(1, self.df.get(term, 0))
            self._idf[term] = math.log(1.0 + (max(self.docs, df) - df + 0.5) / (df + 0.5))
        return self._idf[term]


@dataclass(frozen=True, slots=True, kw_only=True)
class TermMatches:
    """The words of a cue that a text holds, each as often as it counts, and how long the text is."""

    counts: Mapping[str, float]
    length: int
    beside: frozenset[str] = frozenset()
    """Those that stand only right before or after it."""

    @property
    def inside(self) -> set[str]:
        """Those that stand in the text itself."""
        return {term for term, count in self.counts.items() if count} - self.beside


NOTHING_HELD = TermMatches(counts={}, length=0)


def build_term_matches(
    terms: Sequence[str] | None,
    own: Sequence[int] | None,
    beside: Sequence[int] | None,
    *,
    length: int,
    context_weight: float,
) -> TermMatches:
    """What a row says of its words: how often each stands in the text, and how often only beside it."""
    if not terms or not own:
        return TermMatches(counts={}, length=length)
    if not beside:
        return TermMatches(counts=dict(zip(terms, own, strict=True)), length=length)
    counts = {term: inside + context_weight * outside for term, inside, outside in zip(terms, own, beside, strict=True)}
    only_around = frozenset(term for term, inside in zip(terms, own, strict=True) if not inside)
    return TermMatches(counts=counts, length=length, beside=only_around)


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
    """Which share of what the words of a cue say stands in a text itself: what stands beside it speaks for its neighbour."""
    if not text.counts:
        return 0.0
    all_of_it = sum(statistics.idf(term) for term in terms)
    if not all_of_it:
        return 0.0
    inside = text.inside
    return sum(statistics.idf(term) for term in terms if term in inside) / all_of_it


def rarest_terms(terms: Sequence[str], statistics: TermStatistics, *, most: int = MOST_TERMS) -> list[str]:
    return sorted(terms, key=lambda term: (statistics.df.get(term, 0), term))[:most]


def pool_query(terms: Sequence[str], statistics: TermStatistics, *, pool: int) -> str:
    """Which texts are looked at closely, as a query of the index of words; empty for none.

    Those that hold one of the rarest words, until about `pool` of them are found; of the words that are then too many
    to search by alone, those texts that hold two. If no word is rare, those that hold all.
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
    pairs = _pair_queries(ranked[len(alone) :][:MOST_PAIRED], statistics, room=max(room, pool / 2))
    parts = [*map(quote_term, alone), *pairs]
    return " | ".join(parts) if parts else " & ".join(map(quote_term, ranked))


def quote_term(term: str) -> str:
    """A word as a query takes it, whatever characters it has."""
    escaped = term.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _pair_queries(terms: Sequence[str], statistics: TermStatistics, *, room: float) -> list[str]:
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


def blend_scores(
    meaning: Sequence[float | None] | None, words: Sequence[float] | None, *, words_share: float, guests: int = 0
) -> list[float]:
    """One match from both; from one where the other was not searched by."""
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
    """What places in some of so many arms are worth together: 1 for the first place in all of them."""
    return sum(1.0 / (k + place) for place in places) * (k + 1) / max(1, arms)


def rank_positions(scores: Mapping[Ref, float]) -> dict[Ref, int]:
    """The place of each, the best first; equal ones in the order in which they are given."""
    ordered = sorted(scores, key=lambda ref: -scores[ref])
    return {ref: place for place, ref in enumerate(ordered, 1)}
