"""How much does a concept stand out?

A word is salient by how often it was met and novel once something is known about it; the larger of the two
decides whether it surfaces and is asked about. Common English never becomes salient. Counting is `encounters`'
matter, keeping the rows `vocabulary`'s.

What is an edge, and what is a statement before it is one?

Values: a concept is IN a parent, within a dimension; kind (ISA) and part (ISPART) are two flavours of that one
relation. What happens when a statement meets an edge is decided in `collision` and `corroboration`.

What does every deed of the world need, whatever it does?

How sure is the world of an edge after it was said again, or after it was acted on?

Distinct causes move confidence, repeats do not. Each origin has a cap that nothing but a person's word lifts.
The steps become smaller with the evidence that there already is.

Can an edge and an incoming statement both stand?

Pure decisions on one slot (a concept in a dimension), which has room for one parent. Two parents collide, and
the flavours of the two say what is probably wrong. A parent that already stands under the concept would close a
cycle, which one parent per slot does not prevent by itself. What is done about it is `state`'s matter.
"""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from festinger.clock import Clock, iso
from festinger.events.outbox import Outbox
from festinger.ids import TRUST_ORDER, Cause, NewId, Origin, SpaceId
from festinger.settings.beliefs import WorldSettings
from festinger.store.pool import Store, Transaction

CONCEPT_HALF_LIFE = timedelta(days=30)
NOVEL = 1.0

SALIENT_FROM = 2
"""The first count whose saliency is above 0."""


class SoasRow(NamedTuple):
    """One word of a space. A tuple, because a process keeps a hundred thousand of them."""

    id: int
    token: str
    encounter_count: int = 0
    last_seen: datetime | None = None
    saliency: float = 0.0
    novelty: float = 0.0
    trusted_seen: bool = False


def compute_saliency(encounters: int) -> float:
    return math.log10(encounters) if encounters >= SALIENT_FROM else 0.0


def effective_saliency(row: SoasRow) -> float:
    """What thresholds are compared with."""
    return max(row.saliency, row.novelty)


def decayed_saliency(row: SoasRow, age: timedelta) -> float:
    """Its rank in a recollection; `age` is how long ago its text was first seen in the session."""
    return float(effective_saliency(row) * 2 ** (-(age / CONCEPT_HALF_LIFE)))


EDGE_HALF_LIFE = timedelta(days=45)


class EdgeSource(StrEnum):
    """By which way an edge came into the world."""

    CLOUD_LLM = "cloud_llm"
    INFERRED = "inferred"
    FESTINGER = "festinger"
    GUTASK = "gutask"


class UrdEdge(NamedTuple):
    """One edge. A tuple, because a process keeps a million of them.

    `last_confirmed` of none is unknown and counts as recent.
    """

    id: int
    parent_id: int
    dim_id: int
    is_isa: bool
    confidence: float = 1.0
    last_confirmed: datetime | None = None
    source: str = EdgeSource.INFERRED
    origin: str = Origin.PERSON
    evidence_count: int = 0
    person_stated: bool = False
    unconfirmed: bool = False
    created_at: datetime | None = None
    version: int = 0

    @property
    def slot(self) -> tuple[int, int]:
        return self.id, self.dim_id

    @property
    def is_root(self) -> bool:
        """Whether it only stands for its dimension."""
        return self.id == self.parent_id == self.dim_id

    def as_json(self) -> dict[str, Any]:
        """Everything of it that must be known to put it back."""
        moments = {
            name: iso(value) if isinstance(value, datetime) else None
            for name in ("last_confirmed", "created_at")
            for value in [getattr(self, name)]
        }
        return {**self._asdict(), **moments, "source": str(self.source), "origin": str(self.origin)}


def edge_from_json(body: dict[str, Any]) -> UrdEdge:
    moments = {
        name: datetime.fromisoformat(body[name]) if body[name] else None for name in ("last_confirmed", "created_at")
    }
    return UrdEdge(**{**body, **moments})


def edge_freshness(edge: UrdEdge, now: datetime) -> float:
    """What an edge is worth when not all can be shown: its confidence, less with age."""
    if edge.last_confirmed is None:
        return edge.confidence
    return float(edge.confidence * 2 ** (-((now - edge.last_confirmed) / EDGE_HALF_LIFE)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallInfo:
    """Which model call wrote a statement."""

    model: str
    prompt_hash: str | None
    cost_usd: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldStatement:
    """What somebody says of a concept, in tokens."""

    concept: str
    parent: str
    dimension: str
    is_isa: bool
    confidence: float
    source: EdgeSource
    cause: Cause
    message: str | None = None
    written: ModelCallInfo | None = None
    from_quarantine: bool = False

    @property
    def origin(self) -> Origin:
        return self.cause.origin

    @property
    def is_deliberate(self) -> bool:
        """Whether it was given as a fact rather than found in a text."""
        return self.source is EdgeSource.GUTASK

    @property
    def is_of_person(self) -> bool:
        return self.origin is Origin.PERSON


class ExplanationScheduler(Protocol):
    async def __call__(
        self, transaction: Transaction, space: SpaceId, concept: int, *, tries: int = 1, at: datetime | None = None
    ) -> object: ...


SettleMemory = Callable[[Transaction, SpaceId, Any, Any], Awaitable[dict[str, Any]]]
"""Carries out a verdict on two memories within the transaction; what is kept of it. Given the conflict and the
verdict; what memories are is known above this room."""

UnsettleMemory = Callable[[Transaction, SpaceId, Any, str], Awaitable[None]]
"""Takes back, in somebody's name, what a verdict on the two memories of a conflict did."""

AskToLearn = Callable[[Transaction, SpaceId, str], Awaitable[object]]
Follow = Callable[[SpaceId], Awaitable[None]]


async def null_follow(_space: SpaceId) -> None:
    """For a process that keeps no world in memory."""


async def null_ask_to_learn(_transaction: Transaction, _space: SpaceId, _message: str) -> None:
    """For a wiring without background work."""


async def assume_writer(_space: SpaceId) -> bool:
    """For a wiring that leaves the question to the job."""
    return True


async def null_ask_to_write(
    transaction: Transaction, space: SpaceId, concept: int, *, tries: int = 1, at: datetime | None = None
) -> None:
    """For a wiring without background work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldDeps:
    store: Store
    outbox: Outbox
    clock: Clock
    new_id: NewId
    terms: Callable[[SpaceId], WorldSettings]
    """The settings that are in force for a space now."""
    is_common: Callable[[str, float], bool]
    """Whether a token is common English, from a Zipf frequency on."""
    ask_to_write: ExplanationScheduler = null_ask_to_write
    has_writer: Callable[[SpaceId], Awaitable[bool]] = assume_writer
    """Whether there is a model that could explain a name to a space."""
    """Has a concept that stands out explained, as durable work within the transaction."""
    ask_to_learn: AskToLearn = null_ask_to_learn
    """Has what a message asserted written, as durable work within the transaction."""
    follow: Follow = null_follow
    """Brings this process up to date with what was just committed."""
    settle_memory: SettleMemory | None = None
    unsettle_memory: UnsettleMemory | None = None


SIGNAL = 0.9
REFUTED = 0.1
MOST_EVIDENCE = 20
INFERRED_WEIGHT = 0.25

CAPS = {Origin.PERSON: 0.95, Origin.MODEL: 0.80}
OTHER_CAP = 0.70
"""Of text that nobody vouches for."""

STATED_MODEL_CUE = 0.60
"""What a model says in passing starts no higher."""
WRITTEN_BY_MODEL = 0.80
ADMITTED = 0.60


class NoteOutcome(StrEnum):
    ACTED = "acted"
    USED = "used"
    DISMISSED = "dismissed"
    DEFERRED = "deferred"
    CONTRADICTED = "contradicted"


def confidence_cap(origin: Origin) -> float:
    return CAPS.get(origin, OTHER_CAP)


def confidence_after_corroboration(confidence: float, *, evidence: int, origin: Origin) -> float:
    """Confidence after one more cause, `evidence` being those before."""
    moved = confidence + (SIGNAL - confidence) / (min(evidence + 1, MOST_EVIDENCE) + 1)
    return max(confidence, min(moved, confidence_cap(origin)))


def confidence_after_outcome(
    confidence: float, outcome: NoteOutcome, *, evidence: int, weight: float, origin: Origin
) -> float:
    """Confidence after what happened to a note that showed the edge."""
    signal = {NoteOutcome.ACTED: SIGNAL, NoteOutcome.CONTRADICTED: REFUTED}.get(outcome)
    if signal is None:
        return confidence
    moved = confidence + weight * (signal - confidence) / (min(evidence + 1, MOST_EVIDENCE) + 1)
    return moved if moved <= confidence else max(confidence, min(moved, confidence_cap(origin)))


LONGEST_CHAIN = 64

PLURAL_FROM = 4
"""Shorter words end in `s` without being plurals."""

_MARKS = str.maketrans("", "", "-_.")


class Collision(StrEnum):
    ISA_ISA = "isa_isa"
    ISPART_ISPART = "ispart_ispart"
    MISCLASSIFICATION = "misclassification"
    CYCLE = "cycle"
    RETRACTION = "retraction"


def collision_type(*, existing_is_isa: bool, incoming_is_isa: bool) -> Collision:
    """Two kinds: the dimension is too coarse. Two wholes: a contradiction. Mixed: the wrong dimension."""
    if existing_is_isa != incoming_is_isa:
        return Collision.MISCLASSIFICATION
    return Collision.ISA_ISA if existing_is_isa else Collision.ISPART_ISPART


def closes_cycle(concept: int, parent: int, parent_of: Callable[[int], int | None]) -> bool:
    """Whether the chain above `parent` meets the concept. A chain beyond the limit counts as one that does:
    nobody could walk it."""
    above: int | None = parent
    for _ in range(LONGEST_CHAIN):
        if above is None:
            return False
        if above == concept:
            return True
        above = parent_of(above)
    return above is not None


def is_ancestor(ancestor: int, concept: int, parent_of: Callable[[int], int | None]) -> bool:
    """Whether `ancestor` stands somewhere above the concept."""
    above = parent_of(concept)
    for _ in range(LONGEST_CHAIN):
        if above is None or above == ancestor:
            return above == ancestor
        above = parent_of(above)
    return False


def normalize_spelling(token: str) -> str:
    """A token without what people write now so, now otherwise."""
    bare = token.translate(_MARKS)
    is_plural = len(bare) >= PLURAL_FROM and bare.endswith("s") and not bare.endswith("ss")
    return bare[:-1] if is_plural else bare


def is_same_name(one: str, other: str) -> bool:
    return one != other and normalize_spelling(one) == normalize_spelling(other)


def trust_rank(origin: str) -> int:
    """How far an origin is trusted; more is better. A job's word is nobody's."""
    known = Origin(origin)
    return -TRUST_ORDER.index(known) if known in TRUST_ORDER else -len(TRUST_ORDER)


def is_replaceable(existing: UrdEdge, *, confidence: float, origin: str, floor: float) -> bool:
    """Whether an edge that is silent anyway makes way for a better one without a conflict."""
    return (
        existing.confidence < floor
        and not existing.person_stated
        and confidence > existing.confidence
        and trust_rank(origin) >= trust_rank(existing.origin)
    )
