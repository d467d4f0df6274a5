"""Scores candidates: match by words and meaning, priors, and the evidence that they are relevant at all.

Pure: the same candidates at the same moment always score the same. Evidence is absolute (similarity, and
coverage of the cue, which counts less for texts so long that they touch on everything), so the best of many
bad hits is still bad. It is discounted if a cue names only things that nobody ever mentioned: the nearest hit
is then likely about somebody else. A short turn says little and a long one a little of everything; between
people, a turn that ends with a question leaves the answer to the next. Tags are names by which a cue can call
a memory, except labels with a colon such as `domain:code`. A text that repeats the question gets no credit
for that.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from statistics import median
from uuid import UUID

from festinger.embedding.profiles import EmbedderProfile, ThresholdName
from festinger.retrieval.association import AssociationPath
from festinger.retrieval.bm25 import (
    TermMatches,
    TermStatistics,
    blend_scores,
    bm25_score,
    rank_positions,
    rrf_score,
    term_coverage,
)
from festinger.retrieval.candidate import (
    MEMORY,
    TIME_BONUS,
    CueOutcome,
    Prior,
    RecallCandidate,
    apply_prior,
    matching_outcomes,
    outcome_bonus,
    person_bonus,
    recency_score,
)
from festinger.retrieval.query import ParsedCue, is_time_word
from festinger.retrieval.rank import RecallHit
from festinger.settings.memory_sections import RetrievalSettings
from festinger.text.hygiene import is_question

LABEL = ":"
SHORTEST = 2
MOST_BEARERS = 5
"""A tag on more memories is a class, not a name: `work` calls none of them."""

_WORD = re.compile(r"[^\W_]+")


def select_name_tags(tags: Iterable[str]) -> list[str]:
    return [tag for tag in tags if LABEL not in tag and len(normalize_words(tag)) >= SHORTEST]


def normalize_words(text: str) -> str:
    """Return the lowercase words of a text joined by single separators."""
    return " ".join(_WORD.findall(text.casefold()))


def names_in_text(tags: Sequence[str], words: str) -> tuple[str, ...]:
    """Return the names that occur whole in a text given as `normalize_words`."""
    if not tags:
        return ()
    return tuple(name for name in select_name_tags(tags) if f" {normalize_words(name)} " in f" {words} ")


def find_mentioned_tags(many: Sequence[Sequence[str]], text: str) -> list[tuple[str, ...]]:
    """Return for each memory, given by its tags, the names by which a text calls it and few others."""
    bearers = Counter(tag for tags in many for tag in tags)
    said = frozenset(names_in_text(tuple(bearers), normalize_words(text)))
    # Every second candidate has tags, and nearly none is called by them.
    return [tuple(tag for tag in tags if tag in said and bearers[tag] <= MOST_BEARERS) if said else () for tags in many]


WORDS_ALONE = 0.25
"""Coverage that is enough without vectors."""
OF_STRANGERS = 0.75
"""Factor on evidence if a cue asks about somebody whom nobody ever mentioned."""
FOR_BREADTH = 0.1
"""Coverage lost per e-fold of excess length. Tuned on the development half, together with ignoring the words
beside a turn: questions from another conversation that return nothing rise from .71 to .79 on BEAM and from
.98 to .99 on LoCoMo."""
OF_A_PART = 0.8
"""Largest share of a question that a hit can cover if it asks for an overview. On the development half, five
of ten questions for an order returned nothing without it, and foreign ones stay below."""
LOOKED_AT = 10
"""Best hits of which one must be good enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceThreshold:
    """What evidence must reach; without a reference cosine words alone decide."""

    threshold: float = WORDS_ALONE
    reference: float | None = None


def evidence_score(
    bar: EvidenceThreshold,
    *,
    cosine: float | None,
    coverage: float,
    breadth: float = 0.0,
    of_strangers: bool = False,
    of_a_part: bool = False,
) -> float:
    """Return the evidence from 0 to 1."""
    found = held = max(0.0, coverage - FOR_BREADTH * breadth)
    if bar.reference is not None:
        found = 0.5 * min(1.0, max(0.0, cosine or 0.0) / bar.reference) + 0.5 * held
    found = min(1.0, found / OF_A_PART) if of_a_part else found
    return (OF_STRANGERS if of_strangers else 1.0) * found


def has_enough_evidence(bar: EvidenceThreshold, found: Sequence[float]) -> bool:
    """Whether one of the best hits, given in order, is good enough."""
    return any(each >= bar.threshold for each in found[:LOOKED_AT])


CUT = 3
"""Letters that a stem is shorter than its word at most; its last letter may differ."""


def has_only_unknown_names(
    names: Iterable[str],
    terms: Sequence[str],
    *,
    statistics: Iterable[TermStatistics],
    candidates: Sequence[RecallCandidate],
) -> bool:
    """Whether no name in a cue was ever mentioned, by the counts and the candidates; `terms` are stems."""
    named = {term for term in terms for name in names if is_stem(term, name)}
    if not named or any(each.df.get(term) for each in statistics for term in named):
        return False
    # What was said a moment ago is not counted yet, but it is found.
    return not any(each.held.counts.get(term) for each in candidates for term in named)


def is_stem(term: str, word: str) -> bool:
    """Whether the database may have derived this term from a word."""
    return term == word or (word.startswith(term[:-1]) and 0 <= len(word) - len(term) <= CUT)


SHORT, LONG = 150, 800
"""Characters between which a turn has the length of a typical answer."""
FOR_LENGTH = 0.03
"""Penalty per e-fold of being shorter or longer. Tuned on the development half, like all of these: recall@10
rises from .749 to .761 on LoCoMo and from .635 to .663 on BEAM."""
FOR_ASKING = 0.1
"""Raises recall@10 on LoCoMo from .749 to .767."""

_ASKS = re.compile(r"\?[\s\"'”’)\]]*\Z")


def log_excess_length(text: str) -> float:
    """Return how much longer a text is than one about a single thing, in e-folds."""
    return math.log(max(len(text) / LONG, 1.0))


def substance_penalty(each: RecallCandidate) -> float:
    """Return the penalty, 0 or less, for a turn that says little."""
    if each.is_memory:
        return 0.0
    beyond = math.log(max(SHORT / max(1, len(each.content)), 1.0)) + log_excess_length(each.content)
    leaves_it = each.speaker is not None and _ASKS.search(each.content) is not None
    return -FOR_LENGTH * beyond - (FOR_ASKING if leaves_it else 0.0)


VECTOR_ARM, WORDS_ARM, TIME_ARM = "vector", "words", "time"
NOTHING_REACHED: Mapping[UUID, AssociationPath] = {}
STRONG_COVERAGE = 0.6
"""Share of a cue's words that wakes a dormant memory; also the minimum coverage of one called by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The thresholds of the embedder's profile; none where vectors alone may not decide."""

    bar: EvidenceThreshold = field(default_factory=EvidenceThreshold)
    same: float | None = None
    cluster: float | None = None
    check: float | None = None
    dormant: float | None = None


def thresholds_from_profile(profile: EmbedderProfile | None) -> Thresholds:
    if profile is None:
        return Thresholds()
    reference, abstain = profile.threshold(ThresholdName.ABSTAIN_REF), profile.threshold(ThresholdName.ABSTAIN)
    is_measured = reference is not None and abstain is not None
    return Thresholds(
        bar=EvidenceThreshold(threshold=abstain or 0.0, reference=reference) if is_measured else EvidenceThreshold(),
        same=profile.threshold(ThresholdName.SAME),
        cluster=profile.threshold(ThresholdName.CLUSTER),
        check=profile.threshold(ThresholdName.CHECK),
        dormant=profile.threshold(ThresholdName.DORMANT),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringContext:
    """The cue as searched: its words and their statistics per source, and whether it has a vector."""

    cue: ParsedCue
    terms: tuple[str, ...]
    statistics: Mapping[str, TermStatistics]
    has_vector: bool
    now: datetime


def bm25_scores(
    candidates: Sequence[RecallCandidate], asked: ScoringContext, settings: RetrievalSettings
) -> list[float]:
    return [
        bm25_score(each.held, asked.statistics[each.type], k1=settings.bm25_k1, b=settings.bm25_b)
        for each in candidates
    ]


def score_candidates(
    candidates: Sequence[RecallCandidate],
    asked: ScoringContext,
    *,
    found: Mapping[str, Sequence[UUID]],
    settings: RetrievalSettings,
    thresholds: Thresholds,
    reached: Mapping[UUID, AssociationPath] = NOTHING_REACHED,
) -> list[RecallHit]:
    """Score every candidate, in no order."""
    candidates, guests = move_associated_last(candidates, found)
    by_words = bm25_scores(candidates, asked, settings)
    by_meaning = [each.cosine for each in candidates]
    places = arm_ranks(candidates, by_words, found)
    arms = sum(map(bool, found.values()))
    fused = [rrf_score(stood.values(), arms=arms, k=settings.rrf_k) for stood in places]
    match = fused
    if settings.fusion == "scores":
        match = blend_scores(
            by_meaning if asked.has_vector else None,
            by_words if asked.terms else None,
            words_share=settings.words_share,
            guests=guests,
        )
    of_strangers = has_only_unknown_names(
        asked.cue.proper, asked.terms, statistics=asked.statistics.values(), candidates=candidates
    )
    called = find_mentioned_tags([each.tags for each in candidates], asked.cue.text)
    hits = []
    for place, each in enumerate(candidates):
        lessons = matching_outcomes(each.lessons, bar=thresholds.check) if each.lessons else ()
        prior = build_prior(each, asked, settings=settings, lessons=lessons)
        way = reached.get(each.ref) if reached else None
        covered = cue_coverage(each, asked)
        hits.append(
            RecallHit(
                candidate=each,
                score=apply_prior(match[place], prior, prior_share=settings.prior_share),
                match=match[place],
                rrf=fused[place],
                bm25=by_words[place],
                coverage=covered,
                evidence=evidence_score(
                    thresholds.bar,
                    cosine=each.best,
                    coverage=max(covered, STRONG_COVERAGE) if called[place] else covered,
                    breadth=log_excess_length(each.content),
                    of_strangers=of_strangers,
                    of_a_part=asked.cue.asks_summary_or_order,
                ),
                called=called[place],
                prior=prior,
                ranks=places[place],
                is_dormant=is_dormant(each, settings) and not can_wake_dormant(each, covered, thresholds),
                lessons=tuple(lessons),
                company=way.score if way else 0.0,
                hops=tuple(map(str, way.way)) if way else (),
            )
        )
    return hits


def cue_coverage(each: RecallCandidate, asked: ScoringContext) -> float:
    """Return the share of the cue's information that a candidate holds. One in the time that the cue names
    covers the time words by when it happened."""
    terms = _drop_time_words(asked.terms) if is_in_cue_span(each, asked.cue) else asked.terms
    return term_coverage(each.held, asked.statistics[each.type], terms)


@lru_cache(maxsize=256)
def _drop_time_words(terms: tuple[str, ...]) -> tuple[str, ...]:
    """Return the terms that name no time; all, if each does."""
    return tuple(term for term in terms if not is_time_word(term)) or terms


def move_associated_last(
    candidates: Sequence[RecallCandidate], found: Mapping[str, Sequence[UUID]]
) -> tuple[list[RecallCandidate], int]:
    """Move candidates that no arm found to the end; returns them all and how many were moved."""
    searched_for = {ref.int for refs in found.values() for ref in refs}
    guests = [each for each in candidates if each.ref.int not in searched_for]
    return [each for each in candidates if each.ref.int in searched_for] + guests, len(guests)


def arm_ranks(
    candidates: Sequence[RecallCandidate], by_words: Sequence[float], found: Mapping[str, Sequence[UUID]]
) -> list[dict[str, int]]:
    """Return each candidate's rank in each arm that found it."""
    at = {each.ref.int: number for number, each in enumerate(candidates)}
    by_meaning = [each.cosine or 0.0 for each in candidates]
    places: list[dict[str, int]] = [{} for _ in candidates]
    for arm, refs in found.items():
        scores = by_words if arm == WORDS_ARM else by_meaning
        stood = (at[ref.int] for ref in refs if ref.int in at)
        for number, rank in rank_positions({number: scores[number] for number in stood}).items():
            places[number][arm] = rank
    return places


def is_in_cue_span(each: RecallCandidate, cue: ParsedCue) -> bool:
    """Whether it happened in the time that a cue names."""
    return cue.span is not None and cue.span.start <= each.happened < cue.span.end


def build_prior(
    each: RecallCandidate, asked: ScoringContext, *, settings: RetrievalSettings, lessons: Sequence[CueOutcome] = ()
) -> Prior:
    touched = each.last_accessed or each.said_at
    cue = asked.cue
    return Prior(
        recency=recency_score((asked.now - touched).total_seconds(), half_life_days=settings.recency_half_life_days),
        center=each.effective.center,
        person=person_bonus(each.origin, each.trust, settings=settings, asks_model=cue.asks_model or cue.asks_summary),
        speaker=settings.speaker_bonus if each.type != MEMORY and each.speaker in cue.names else 0.0,
        time=TIME_BONUS * cue.span.certainty if cue.span is not None and is_in_cue_span(each, cue) else 0.0,
        helped=outcome_bonus(lessons, most=settings.helped_max),
        substance=substance_penalty(each) if settings.substance and not cue.asks_summary else 0.0,
        confidence=each.confidence,
    )


def is_dormant(each: RecallCandidate, settings: RetrievalSettings) -> bool:
    """Whether it is dormant: faded, of a kind that may be, and not a person's words."""
    may = each.kind in settings.dormant_kinds and each.origin != "person" and not each.immutable
    return may and each.is_memory and each.effective.center < settings.dormant_below


def can_wake_dormant(each: RecallCandidate, covered: float, thresholds: Thresholds) -> bool:
    """Whether a cue is strong enough to wake it."""
    is_near = thresholds.dormant is not None and each.best is not None and each.best >= thresholds.dormant
    return is_near or covered >= STRONG_COVERAGE


LEAST_WORDS = 4
"""Words of a question from which a text with all of them in order repeats it."""

_ECHO_WORD = re.compile(r"\w+")


def discount_question_repeats(candidates: Sequence[RecallCandidate], cue: str) -> list[RecallCandidate]:
    """Return the candidates with those that repeat the question discounted.

    A page that contains the question matches it better than any answer does. The question's words are
    subtracted from its counts, its cosine is capped at the median, and a text that says nothing else is
    dropped.
    """
    asked = _ECHO_WORD.findall(cue.casefold())
    if len(asked) < LEAST_WORDS or not is_question(cue):
        return list(candidates)
    question, longest = f" {' '.join(asked)} ", max(asked, key=len)
    rests = [_text_beyond_cue(each.content, question, longest) for each in candidates]
    if not any(rest is not None for rest in rests):
        return list(candidates)
    plain = [each.cosine for each, rest in zip(candidates, rests, strict=True) if rest is None]
    known = [cosine for cosine in plain if cosine is not None]
    usual = median(known) if known else None
    kept = []
    for each, rest in zip(candidates, rests, strict=True):
        if rest is None:
            kept.append(each)
        elif rest:
            kept.append(_discount_echo(each, asked, usual))
    return kept


def _text_beyond_cue(content: str, question: str, longest: str) -> str | None:
    """Return the text without the question; none if it does not repeat it. `longest` is a word of it."""
    folded = content.casefold()
    if longest not in folded:
        return None
    text = f" {' '.join(_ECHO_WORD.findall(folded))} "
    return text.replace(question, " ").strip() if question in text else None


def _discount_echo(each: RecallCandidate, asked: Sequence[str], usual: float | None) -> RecallCandidate:
    times = Counter({term: sum(is_stem(term, word) for word in asked) for term in each.held.counts})
    counts = {term: max(0.0, count - times[term]) for term, count in each.held.counts.items()}
    return replace(
        each,
        held=TermMatches(counts=counts, length=each.held.length, nearby=each.held.nearby),
        cosine=_cap_cosine(each.cosine, usual),
        best=_cap_cosine(each.best, usual),
    )


def _cap_cosine(cosine: float | None, usual: float | None) -> float | None:
    return None if cosine is None or usual is None else min(cosine, usual)
