"""Defines recall candidates, memories or turns as fetched, and the priors that adjust their match.

A prior rewards a candidate that is fresh, deeply held, a person's own words, from the asked speaker, inside
the time named by the cue, or that helped with such a question before; it penalizes one that says little or
misled. The match decides first: priors only order what matches about equally well.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from festinger.memory.confidence import Weight, decay_weight
from festinger.retrieval.bm25 import TermMatches, build_term_matches
from festinger.settings.memory_sections import RetrievalSettings

DAY_SECONDS = 86_400.0
LN_2 = 0.693
"""As the formula has it: half is left after one half-life, to three digits."""
RECENCY_SHARE, CENTER_SHARE = 0.6, 0.4
TIME_BONUS = 0.15
TRUSTED = 0.9
"""Trust from which content derived from a person's words counts as theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CueOutcome:
    """The outcome of a memory for some question, and how similar that is to the current one."""

    reward: float
    weight: float
    likeness: float
    cue: str
    """The hash of the question."""


@dataclass(slots=True, kw_only=True)
class Prior:
    """Everything for or against a hit except its match."""

    recency: float
    center: float
    person: float = 0.0
    speaker: float = 0.0
    time: float = 0.0
    helped: float = 0.0
    substance: float = 0.0
    confidence: float = 0.5

    @property
    def belief(self) -> float:
        """The factor that sinks what misled, but not what is merely unproven."""
        return min(1.0, 0.5 + self.confidence)


def recency_score(age_seconds: float, *, half_life_days: float) -> float:
    return math.exp(-LN_2 * max(0.0, age_seconds) / (half_life_days * DAY_SECONDS))


def apply_prior(match: float, prior: Prior, *, prior_share: float) -> float:
    fresh = RECENCY_SHARE * prior.recency + CENTER_SHARE * prior.center
    bonus = prior.person + prior.speaker + prior.time + prior.helped + prior.substance
    return ((1.0 - prior_share) * match + prior_share * fresh + bonus) * prior.belief


def person_bonus(origin: str, trust: float, *, settings: RetrievalSettings, asks_model: bool) -> float:
    """Prefer a person's words to a model's, unless the model's own words are asked for."""
    if asks_model:
        return 0.0
    is_persons = origin == "person" or (origin == "job" and trust >= TRUSTED)
    return settings.person_bonus if is_persons else 0.0


def matching_outcomes(lessons: Sequence[CueOutcome], *, bar: float | None) -> list[CueOutcome]:
    """Return outcomes for the same question: in the same words or, at `bar` or above, the same meaning."""
    return [each for each in lessons if each.likeness >= (1.0 if bar is None else bar)]


def outcome_bonus(lessons: Sequence[CueOutcome], *, most: float) -> float:
    """Return the bonus for having helped with such a question, or the penalty; at most `most`."""
    if not lessons:
        return 0.0
    gained = sum(each.reward * each.weight * each.likeness for each in lessons)
    known = sum(each.weight * each.likeness for each in lessons)
    return max(-most, min(most, most * gained / (1.0 + known)))


MEMORY, TURN = "memory", "turn"
MOST_REPEATED = 2
"""A memory of more turns summarizes them rather than repeating each."""
VECTOR_HEADER = 4
"""Bytes before the numbers of a vector, giving their count."""

Vector = NDArray[np.float32]


@dataclass(slots=True, kw_only=True, eq=False)
class RecallCandidate:
    """What was fetched of a memory or a turn. Nobody changes one, but setting forty frozen fields takes four
    times as long, and a recall makes a hundred of them."""

    type: str
    ref: UUID
    kind: str
    content: str
    compressed: str | None
    context: str | None
    origin: str
    trust: float
    confidence: float
    weight: Weight
    effective: Weight
    immutable: bool
    status: str
    event_time: datetime | None
    learned_at: datetime
    said_at: datetime
    """When its words were said, however much later they were learned."""
    last_accessed: datetime | None
    source: str | None
    session: str | None
    slot: tuple[str, str] | None
    tags: tuple[str, ...]
    version: int
    position: int
    """Its position among what was said or stored at one moment."""
    owner: str
    speaker: str | None
    disputed: bool
    derives_from: frozenset[UUID]
    held: TermMatches
    vector: Vector | None
    cosine: float | None = None
    """Cosine to the cue; for a turn the mean of first and best part, so that many parts are no advantage."""
    best: float | None = None
    """Cosine of its nearest part."""
    partners: tuple[tuple[UUID, float], ...] = ()
    """What it leads to, and how strongly; known only for seeds."""
    lessons: tuple[CueOutcome, ...] = ()
    disputes: frozenset[UUID] = frozenset()
    """Memories that it contradicts, where that is undecided."""
    causes: int = 1
    """Distinct causes that count for it; a turn has one."""

    @property
    def happened(self) -> datetime:
        return self.event_time or self.said_at

    @property
    def when(self) -> tuple[float, int]:
        """Sort key by time; within a session that has a single time, by the order in it."""
        return self.happened.timestamp(), self.position

    @property
    def is_memory(self) -> bool:
        return self.type == MEMORY

    @property
    def sums_up(self) -> bool:
        """Whether it summarizes turns rather than repeating them."""
        return self.is_memory and len(self.derives_from) > MOST_REPEATED


def candidates_from_rows(
    rows: Sequence[Mapping[str, Any]], *, probe: Vector | None, now: datetime, context_weight: float
) -> list[RecallCandidate]:
    """Build candidates from fetched rows, with their similarity to a cue."""
    vectors = decode_vectors([row["vector"] for row in rows])
    return [
        _candidate_from_row(row, vector=vector, probe=probe, now=now, context_weight=context_weight)
        for row, vector in zip(rows, vectors, strict=True)
    ]


def _candidate_from_row(
    row: Mapping[str, Any], *, vector: Vector | None, probe: Vector | None, now: datetime, context_weight: float
) -> RecallCandidate:
    # One by one: a matrix product may round equal vectors unequally, and equal scores are ordered by time.
    first = float(vector @ probe) if vector is not None and probe is not None else None
    best = first if row["best"] is None else max(float(row["best"]), first or -1.0)
    weight = Weight(alpha=row["weight_alpha"], beta=row["weight_beta"])
    slot = (row["subject_key"], row["attribute_key"]) if row["attribute_key"] else None
    return RecallCandidate(
        type=row["type"],
        ref=row["ref"],
        kind=row["kind"],
        content=row["content"],
        compressed=row["compressed"],
        context=row["context"],
        origin=row["origin"],
        trust=float(row["trust"]),
        confidence=float(row["confidence"]),
        weight=weight,
        effective=_fade_weight(row, weight, now=now),
        immutable=row["immutable"],
        status=row["status"],
        event_time=row["event_time"],
        learned_at=row["learned_at"],
        said_at=row["said_at"] or row["learned_at"],
        last_accessed=row["last_accessed"],
        source=row["source"],
        session=row["session_id"],
        slot=slot,
        tags=tuple(row["tags"]),
        version=row["version"],
        position=row["place"],
        owner=row["owner"],
        speaker=row["speaker"].lower() if row["speaker"] else None,
        disputed=row["disputed"],
        disputes=frozenset(row["disputes"] or ()),
        derives_from=frozenset(filter(None, row["derives_from"])),
        held=build_term_matches(
            row["terms"], row["own"], row["beside"], length=row["len"] or 0, context_weight=context_weight
        ),
        vector=vector,
        cosine=None if first is None else (first + (best if best is not None else first)) / 2,
        best=best,
        partners=tuple(zip(row["partners"], row["strengths"], strict=True)) if row["partners"] else (),
        lessons=_outcomes_from_row(row),
        causes=row["causes"],
    )


def _fade_weight(row: Mapping[str, Any], weight: Weight, *, now: datetime) -> Weight:
    """Return the faded weight; turns have none that could fade."""
    if row["type"] == TURN:
        return weight
    latest, read, confirmed = row["learned_at"], row["last_accessed"], row["last_confirmed"]
    if read or confirmed:
        latest = max(filter(None, (latest, read, confirmed)))
    days = (now - latest).total_seconds() / DAY_SECONDS
    return decay_weight(weight, idle_days=days, reads=row["access_count"], immutable=row["immutable"])


def _outcomes_from_row(row: Mapping[str, Any]) -> tuple[CueOutcome, ...]:
    if row["rewards"] is None:
        return ()
    outcomes = zip(*(row[name] or () for name in ("rewards", "weights", "likenesses", "cues")), strict=True)
    return tuple(
        CueOutcome(reward=reward, weight=weight, likeness=float(likeness), cue=bytes(cue).hex()[:12])
        for reward, weight, likeness, cue in outcomes
    )


_HALVES = np.arange(1 << 16, dtype=np.uint16).view(">f2").astype(np.float32)
"""Every number of 16 bits as the database sends it: looking them up takes a quarter of the time of converting them."""


def decode_vectors(packed: Sequence[bytes | None]) -> list[Vector | None]:
    """Decode the vectors of one model as the database sends them, in one pass."""
    known = [each[VECTOR_HEADER:] for each in packed if each is not None]
    matrix = _HALVES[np.frombuffer(b"".join(known), dtype=np.uint16)].reshape(max(1, len(known)), -1)
    vectors = iter(matrix)
    return [None if each is None else next(vectors) for each in packed]
