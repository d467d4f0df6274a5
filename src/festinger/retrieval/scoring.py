"""How good is each candidate?

Match by words and by meaning, what speaks for it beside that, and the evidence that it is relevant at all. Everything
comes in as arguments; the same candidates at the same moment always score the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from festinger.embedding.profiles import Profile, Threshold
from festinger.retrieval.calling import callings
from festinger.retrieval.candidate import MEMORY, Candidate
from festinger.retrieval.cue import Cue, is_time_word
from festinger.retrieval.fusing import blended, ranks, rrf
from festinger.retrieval.gate import Bar, evidence
from festinger.retrieval.hit import Hit
from festinger.retrieval.spreading import Reached
from festinger.retrieval.strangers import asks_of_strangers
from festinger.retrieval.substance import breadth, substance
from festinger.retrieval.weighing import (
    TIME_BONUS,
    Lesson,
    Prior,
    helped,
    person_bonus,
    recency,
    telling,
    weighted,
)
from festinger.retrieval.words import Statistics, bm25, coverage
from festinger.settings.retrieval import RetrievalSettings

VECTOR_ARM, WORDS_ARM, TIME_ARM = "vector", "words", "time"
NOTHING_REACHED: Mapping[UUID, Reached] = {}
STRONG_COVERAGE = 0.6
"""Share of a cue's words that wakes a dormant memory; so much counts at least what a cue calls by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """What the embedder's profile says; nothing where vectors alone may not decide."""

    bar: Bar = field(default_factory=Bar)
    same: float | None = None
    cluster: float | None = None
    check: float | None = None
    dormant: float | None = None


def thresholds_of(profile: Profile | None) -> Thresholds:
    if profile is None:
        return Thresholds()
    reference, abstain = profile.threshold(Threshold.ABSTAIN_REF), profile.threshold(Threshold.ABSTAIN)
    is_measured = reference is not None and abstain is not None
    return Thresholds(
        bar=Bar(threshold=abstain or 0.0, reference=reference) if is_measured else Bar(),
        same=profile.threshold(Threshold.SAME),
        cluster=profile.threshold(Threshold.CLUSTER),
        check=profile.threshold(Threshold.CHECK),
        dormant=profile.threshold(Threshold.DORMANT),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The cue as it is searched: its words and what they are worth in each source, and whether it has a vector."""

    cue: Cue
    terms: tuple[str, ...]
    statistics: Mapping[str, Statistics]
    has_vector: bool
    now: datetime


def words_scores(candidates: Sequence[Candidate], asked: Asked, settings: RetrievalSettings) -> list[float]:
    return [
        bm25(each.held, asked.statistics[each.type], k1=settings.bm25_k1, b=settings.bm25_b)
        for each in candidates
    ]


def scored(
    candidates: Sequence[Candidate],
    asked: Asked,
    *,
    found: Mapping[str, Sequence[UUID]],
    settings: RetrievalSettings,
    thresholds: Thresholds,
    reached: Mapping[UUID, Reached] = NOTHING_REACHED,
) -> list[Hit]:
    """Every candidate with its score, in no order."""
    candidates, guests = with_guests_last(candidates, found)
    by_words = words_scores(candidates, asked, settings)
    by_meaning = [each.cosine for each in candidates]
    places = arm_ranks(candidates, by_words, found)
    arms = sum(map(bool, found.values()))
    fused = [rrf(stood.values(), arms=arms, k=settings.rrf_k) for stood in places]
    match = fused
    if settings.fusion == "scores":
        match = blended(
            by_meaning if asked.has_vector else None,
            by_words if asked.terms else None,
            words_share=settings.words_share,
            guests=guests,
        )
    of_strangers = asks_of_strangers(
        asked.cue.proper, asked.terms, statistics=asked.statistics.values(), candidates=candidates
    )
    called = callings([each.tags for each in candidates], asked.cue.text)
    hits = []
    for place, each in enumerate(candidates):
        lessons = telling(each.lessons, bar=thresholds.check)
        prior = prior_of(each, asked, settings=settings, lessons=lessons)
        way = reached.get(each.ref)
        covered = coverage_of(each, asked)
        hits.append(
            Hit(
                candidate=each,
                score=weighted(match[place], prior, prior_share=settings.prior_share),
                match=match[place],
                rrf=fused[place],
                bm25=by_words[place],
                coverage=covered,
                evidence=evidence(
                    thresholds.bar,
                    cosine=each.best,
                    coverage=max(covered, STRONG_COVERAGE) if called[place] else covered,
                    breadth=breadth(each.content),
                    of_strangers=of_strangers,
                    of_a_part=asked.cue.asks_overview,
                ),
                called=called[place],
                prior=prior,
                places=places[place],
                is_dormant=is_dormant(each, settings) and not wakes(each, covered, thresholds),
                lessons=tuple(lessons),
                company=way.score if way else 0.0,
                hops=tuple(map(str, way.way)) if way else (),
            )
        )
    return hits


def coverage_of(each: Candidate, asked: Asked) -> float:
    """Which share of what a cue says a candidate holds. What lies in the time that the cue names says that by when it
    happened, and not by its words."""
    terms = asked.terms
    if is_inside(each, asked.cue):
        terms = tuple(term for term in terms if not is_time_word(term)) or terms
    return coverage(each.held, asked.statistics[each.type], terms)


def with_guests_last(
    candidates: Sequence[Candidate], found: Mapping[str, Sequence[UUID]]
) -> tuple[list[Candidate], int]:
    """The candidates with those at the end that no way of searching found, and how many those are."""
    searched_for = {ref for refs in found.values() for ref in refs}
    guests = [each for each in candidates if each.ref not in searched_for]
    return [each for each in candidates if each.ref in searched_for] + guests, len(guests)


def arm_ranks(
    candidates: Sequence[Candidate], by_words: Sequence[float], found: Mapping[str, Sequence[UUID]]
) -> list[dict[str, int]]:
    """Of each candidate its place in each arm that found it."""
    at = {each.ref: number for number, each in enumerate(candidates)}
    by_meaning = [each.cosine or 0.0 for each in candidates]
    places: list[dict[str, int]] = [{} for _ in candidates]
    for arm, refs in found.items():
        scores = by_words if arm == WORDS_ARM else by_meaning
        stood = (at[ref] for ref in refs if ref in at)
        for number, rank in ranks({number: scores[number] for number in stood}).items():
            places[number][arm] = rank
    return places


def is_inside(each: Candidate, cue: Cue) -> bool:
    """Whether it happened in the time that a cue names."""
    return cue.span is not None and cue.span.start <= each.happened < cue.span.end


def prior_of(
    each: Candidate, asked: Asked, *, settings: RetrievalSettings, lessons: Sequence[Lesson] = ()
) -> Prior:
    touched = each.last_accessed or each.said_at
    cue = asked.cue
    return Prior(
        recency=recency(
            (asked.now - touched).total_seconds(), half_life_days=settings.recency_half_life_days
        ),
        center=each.effective.center,
        person=person_bonus(
            each.origin, each.trust, settings=settings, asks_model=cue.asks_model or cue.asks_summary
        ),
        speaker=settings.speaker_bonus if each.type != MEMORY and each.speaker in cue.names else 0.0,
        time=TIME_BONUS * cue.span.certainty if cue.span is not None and is_inside(each, cue) else 0.0,
        helped=helped(lessons, most=settings.helped_max),
        substance=substance(each) if settings.substance and not cue.asks_summary else 0.0,
        confidence=each.confidence,
    )


def is_dormant(each: Candidate, settings: RetrievalSettings) -> bool:
    """Whether it sleeps: faded, of a kind that may, and no person's word."""
    may = each.kind in settings.dormant_kinds and each.origin != "person" and not each.immutable
    return may and each.is_memory and each.effective.center < settings.dormant_below


def wakes(each: Candidate, covered: float, thresholds: Thresholds) -> bool:
    """Whether a cue is strong enough to wake it."""
    is_near = thresholds.dormant is not None and each.best is not None and each.best >= thresholds.dormant
    return is_near or covered >= STRONG_COVERAGE
