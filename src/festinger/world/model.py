"""Defines concepts, edges and statements, the package's dependencies, and pure decisions about them.

A concept is IN a parent within a dimension; kind (ISA) and part (ISPART) are two flavors of that relation. A
word is salient by how often it is encountered and novel once something is known about it; the larger decides
whether it surfaces. Common English never becomes salient. Distinct causes move confidence, repeats do not;
steps shrink with the evidence, and each origin has a cap that only a person's statement lifts. A slot (a
concept in a dimension) has one parent: two collide, and their flavors tell what is probably wrong. A parent
below the concept would close a cycle.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from festinger.clock import Clock, iso
from festinger.events.outbox import Outbox
from festinger.ids import TRUST_ORDER, Cause, NewId, Origin, SpaceId
from festinger.settings.memory_sections import WorldSettings
from festinger.store.pool import Store, Transaction

CONCEPT_HALF_LIFE = timedelta(days=30)


class SoasRow(NamedTuple):
    """One word of a space. A tuple, because a process keeps a hundred thousand of them."""

    id: int
    token: str
    encounter_count: int = 0
    last_seen: datetime | None = None
    saliency: float = 0.0
    novelty: float = 0.0
    trusted_seen: bool = False


def effective_saliency(row: SoasRow) -> float:
    """Return the value compared with thresholds."""
    return max(row.saliency, row.novelty)


def decayed_saliency(row: SoasRow, age: timedelta) -> float:
    """Return its rank in a recollection; `age` is how long ago its text was first seen in the session."""
    return float(effective_saliency(row) * 2 ** (-(age / CONCEPT_HALF_LIFE)))


EDGE_HALF_LIFE = timedelta(days=45)


class EdgeSource(StrEnum):
    """How an edge came into the world."""

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
        """Whether it only represents its dimension."""
        return self.id == self.parent_id == self.dim_id

    def as_json(self) -> dict[str, Any]:
        """Return everything needed to restore it."""
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


def edge_display_rank(edge: UrdEdge, now: datetime) -> float:
    """Return the rank of an edge when not all fit: its confidence, less with age."""
    if edge.last_confirmed is None:
        return edge.confidence
    return float(edge.confidence * 2 ** (-((now - edge.last_confirmed) / EDGE_HALF_LIFE)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallInfo:
    model: str
    prompt_hash: str | None
    cost_usd: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldStatement:
    """A statement about a concept, in tokens."""

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
"""Applies a verdict on two memories within the transaction and returns what to keep of it. Receives the
conflict and the verdict; what memories are is known only above this package."""

UnsettleMemory = Callable[[Transaction, SpaceId, Any, str], Awaitable[None]]
"""Undoes, in somebody's name, what a verdict on the two memories of a conflict did."""

AskToLearn = Callable[[Transaction, SpaceId, str], Awaitable[object]]
Follow = Callable[[SpaceId], Awaitable[None]]


async def null_follow(_space: SpaceId) -> None:
    """Do nothing, for a process that keeps no world in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldDeps:
    store: Store
    outbox: Outbox
    clock: Clock
    new_id: NewId
    terms: Callable[[SpaceId], WorldSettings]
    """The settings in force for a space."""
    is_common: Callable[[str, float], bool]
    """Whether a token is common English, from a given Zipf frequency."""
    ask_to_write: ExplanationScheduler
    """Schedules the explanation of a salient concept, as durable work within the transaction."""
    has_writer: Callable[[SpaceId], bool]
    """Whether there is a model that could explain names of a space."""
    ask_to_learn: AskToLearn
    """Schedules writing the claims of a message, as durable work within the transaction."""
    follow: Follow
    """Brings this process up to date with what was just committed."""
    settle_memory: SettleMemory | None = None
    unsettle_memory: UnsettleMemory | None = None


SIGNAL = 0.9
REFUTED = 0.1
MOST_EVIDENCE = 20
INFERRED_WEIGHT = 0.25

CAPS = {Origin.PERSON: 0.95, Origin.MODEL: 0.80}
OTHER_CAP = 0.70
"""Cap for text that nobody vouches for."""

STATED_MODEL_CUE = 0.60
"""Initial confidence limit for what a model says in passing."""
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
    """Return the confidence after one more cause; `evidence` is the number before."""
    moved = confidence + (SIGNAL - confidence) / (min(evidence + 1, MOST_EVIDENCE) + 1)
    return max(confidence, min(moved, confidence_cap(origin)))


def confidence_after_outcome(
    confidence: float, outcome: NoteOutcome, *, evidence: int, weight: float, origin: Origin
) -> float:
    """Return the confidence after an outcome of a note that showed the edge."""
    signal = {NoteOutcome.ACTED: SIGNAL, NoteOutcome.CONTRADICTED: REFUTED}.get(outcome)
    if signal is None:
        return confidence
    moved = confidence + weight * (signal - confidence) / (min(evidence + 1, MOST_EVIDENCE) + 1)
    return moved if moved <= confidence else max(confidence, min(moved, confidence_cap(origin)))


LONGEST_CHAIN = 64
REPAIR = "repair"
"""The history reason for edges changed by withdrawing a source."""

PLURAL_FROM = 4
"""Shorter words end in `s` without being plurals."""

_MARKS = str.maketrans("", "", "-_.")


class StatementEffect(StrEnum):
    ADDED = "added"
    CORROBORATED = "corroborated"
    REPLACED = "replaced"
    CONFLICT = "conflict"
    SETTLED = "settled"
    """It was dismissed recently and says nothing new."""
    CROWDED = "crowded"
    """Its cause has opened as many conflicts as allowed."""


class CollisionType(StrEnum):
    ISA_ISA = "isa_isa"
    ISPART_ISPART = "ispart_ispart"
    MISCLASSIFICATION = "misclassification"
    CYCLE = "cycle"
    RETRACTION = "retraction"


def collision_type(*, existing_is_isa: bool, incoming_is_isa: bool) -> CollisionType:
    """Two kinds: the dimension is too coarse. Two wholes: a contradiction. Mixed: the wrong dimension."""
    if existing_is_isa != incoming_is_isa:
        return CollisionType.MISCLASSIFICATION
    return CollisionType.ISA_ISA if existing_is_isa else CollisionType.ISPART_ISPART


def closes_cycle(concept: int, parent: int, parent_of: Callable[[int], int | None]) -> bool:
    """Whether the chain above `parent` meets the concept. A chain beyond the limit counts as a cycle."""
    above: int | None = parent
    for _ in range(LONGEST_CHAIN):
        if above is None:
            return False
        if above == concept:
            return True
        above = parent_of(above)
    return above is not None


def strip_marks_and_plural(token: str) -> str:
    """Return a token without spelling variants: marks and a plural `s`."""
    bare = token.translate(_MARKS)
    is_plural = len(bare) >= PLURAL_FROM and bare.endswith("s") and not bare.endswith("ss")
    return bare[:-1] if is_plural else bare


def is_spelling_variant(one: str, other: str) -> bool:
    return one != other and strip_marks_and_plural(one) == strip_marks_and_plural(other)


def trust_rank(origin: str) -> int:
    """Rank how far an origin is trusted; higher is better. A job is trusted least."""
    known = Origin(origin)
    return -TRUST_ORDER.index(known) if known in TRUST_ORDER else -len(TRUST_ORDER)


def is_replaceable(existing: UrdEdge, *, confidence: float, origin: str, floor: float) -> bool:
    """Whether an edge too weak to surface gives way to a better one without a conflict."""
    return (
        existing.confidence < floor
        and not existing.person_stated
        and confidence > existing.confidence
        and trust_rank(origin) >= trust_rank(existing.origin)
    )
