"""Defines the values of the judge: statements, pairs, relations, guards and judgements.

Values only: `rules`, `pair_reader` and `llm` make judgements, `records` stores them. `old_ref`
and `new_ref` are ids of whatever the caller judges: memories, proposals, notes.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from uuid import UUID

from festinger.ids import Origin
from festinger.text.normalize import fold

ACCEPT = 0.8
"""Confidence at which a judge ends the cascade (`judge.accept`)."""


class Relation(StrEnum):
    """How the new statement relates to the old one."""

    SAME = "same"
    UPDATE = "update"
    CONTRADICTS = "contradicts"
    REFINES = "refines"
    UNRELATED = "unrelated"
    UNSURE = "unsure"


class CurrentSide(StrEnum):
    """Which of the two holds now."""

    NEW = "new"
    OLD = "old"
    BOTH = "both"


class GuardKind(StrEnum):
    """Why two statements are not the same, however close their wording is."""

    NUMBER = "number"
    UNIT = "unit"
    DATE = "date"
    NEGATION = "negation"
    ANTONYM = "antonym"
    QUANTIFIER = "quantifier"
    NAME = "name"
    ORDER = "order"
    SLOT = "slot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    relation: Relation
    current: CurrentSide = CurrentSide.BOTH
    confidence: float
    judge: str
    """`rules@1`, `onnx:<model>`, `llm:<provider:model>`, `person:<name>` or `time`."""
    reasoning: str
    guards: tuple[GuardKind, ...] = ()
    prompt_hash: str | None = None
    final: bool = True
    """Whether the cascade has ended; if not, the pair waits and is retried."""
    tentative: bool = False
    """Whether it goes by the form of the words, so that the reader is asked as well."""
    leaning: Relation | None = None
    """What a judge that is not sure takes for likeliest, if it takes anything."""

    @property
    def by_person(self) -> bool:
        return self.judge.startswith(PERSON)


PERSON = "person:"
TIME = "time"
"""Settles what no other judge was sure of for long."""


def unsure_judgement(
    judge: str,
    reasoning: str,
    *,
    guards: tuple[GuardKind, ...] = (),
    leaning: Relation | None = None,
    current: CurrentSide = CurrentSide.BOTH,
) -> Judgement:
    """No judge was sure: both statements stay and the pair waits. `current` is the one to go by until then."""
    return Judgement(
        relation=Relation.UNSURE,
        current=current,
        # Of a pair that rather reads as two, the later does not stand for the earlier.
        confidence=0.0 if leaning is Relation.UNRELATED else 0.5,
        judge=judge,
        reasoning=reasoning,
        guards=guards,
        final=False,
        leaning=leaning,
    )


def person_judgement(
    name: str, relation: Relation, *, current: CurrentSide = CurrentSide.BOTH, reasoning: str
) -> Judgement:
    """Build a person's decision, which overrides every judge and is never asked again."""
    return Judgement(relation=relation, current=current, confidence=1.0, judge=f"{PERSON}{name}", reasoning=reasoning)


class Cardinality(StrEnum):
    """How many values an attribute of one subject can have."""

    ONE = "one"
    """One at a time, and it may change: where a person lives."""
    FIXED = "fixed"
    """One forever: where a person was born."""
    MANY = "many"
    """Several at once: what a person likes."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """The value that a statement gives for an attribute of a subject; all three are folded keys."""

    subject: str
    attribute: str
    value: str
    holding: Cardinality = Cardinality.UNKNOWN

    @property
    def place(self) -> tuple[str, str]:
        """The key shared by statements about the same attribute of the same subject."""
        return self.subject, self.attribute


WRITTEN = frozenset({Origin.DOCUMENT, Origin.TOOL})
"""Origins of texts that nobody said in person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeStatement:
    """A text, with when and by whom it was said. Times are aware; `order` rises with the order of saying."""

    text: str
    subject: str | None = None
    slot: Slot | None = None
    """Parsed from the text if not given."""
    event_time: datetime | None = None
    said_at: datetime | None = None
    order: int | None = None
    origin: Origin = Origin.PERSON
    unstated: str = ""
    """The subject, if the text leaves it out: `The port is 8080`, said of the staging server."""

    @property
    def full_text(self) -> str:
        return f"{self.unstated}: {self.text}" if self.unstated else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityThresholds:
    """Cosine thresholds of the embedder's profile; none where vectors alone may not decide."""

    same: float | None = None
    check: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairFeatures:
    """What is known about a pair besides its words."""

    similarity: float | None = None
    """Plain cosine of `compare` vectors; none without an embedder."""
    bars: SimilarityThresholds = SimilarityThresholds()
    same_subject: bool | None = None
    """Whether the caller knows both subjects as one (a concept of `world`, an alias); none if unknown."""


NOTHING_KNOWN = PairFeatures()


def is_newer_statement(old: JudgeStatement, new: JudgeStatement) -> bool | None:
    """Whether `new` describes a later state than `old`; none if their order is unknown.

    Event time counts before the time of saying: yesterday's news does not replace today's.
    """
    if old.event_time and new.event_time and old.event_time != new.event_time:
        return new.event_time > old.event_time
    if old.order is not None and new.order is not None and old.order != new.order:
        return new.order > old.order
    if old.said_at and new.said_at and old.said_at != new.said_at:
        return new.said_at > old.said_at
    return None


HASH_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementPair:
    """Two statements, the older one first, with their ids."""

    old_ref: UUID
    new_ref: UUID
    old: JudgeStatement
    new: JudgeStatement
    features: PairFeatures = NOTHING_KNOWN

    @property
    def hashes(self) -> tuple[bytes, bytes]:
        return text_hash(self.old.full_text), text_hash(self.new.full_text)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairJudgement:
    """A judgement of a pair, and how long it took."""

    pair: StatementPair
    judgement: Judgement
    latency_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgementRecord:
    """A stored judgement."""

    id: UUID
    old_ref: UUID
    new_ref: UUID
    judgement: Judgement
    attempts: int
    next_try: datetime | None
    latency_ms: float
    at: datetime
    overruled_by: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingPair:
    """A pair that no judge was sure of yet."""

    id: UUID
    old_ref: UUID
    new_ref: UUID
    attempts: int = 0
    current: CurrentSide = CurrentSide.BOTH
    """The one to go by until it is decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonDecision:
    """A person's decision on a pair, and the texts it was made on."""

    old_ref: UUID
    new_ref: UUID
    hashes: tuple[bytes, bytes]
    relation: Relation


@lru_cache(maxsize=4096)
def text_hash(text: str) -> bytes:
    """Hash a text ignoring case, quote style and spacing."""
    return sha256(fold(text).encode("utf-8", "surrogatepass")).digest()[:HASH_BYTES]
