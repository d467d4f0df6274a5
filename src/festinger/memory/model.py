"""Defines memories, their kinds and states.

A memory is one statement with its provenance, state, confidence and weight. Values only: nothing here does
I/O.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.ids import DEFAULT_AGENT, NO_SESSION, AgentId, MemoryId, Origin, Scope, SessionId, SpaceId
from festinger.memory.confidence import Belief, Weight
from festinger.records import parse_choice, record_json, row_mapper


class Kind(StrEnum):
    FACT = "fact"
    EPISODIC = "episodic"
    PROCEDURAL = "procedural"
    PREFERENCE = "preference"
    REFLECTION = "reflection"
    CORRECTION = "correction"
    INSIGHT = "insight"
    NARRATIVE = "narrative"
    TENSION = "tension"


ALIASES = {"semantic": Kind.FACT}
"""Other names accepted on input."""

CLAIMS = frozenset([Kind.FACT, Kind.PREFERENCE, Kind.PROCEDURAL, Kind.CORRECTION, Kind.INSIGHT])
"""Kinds that state how things are; these are compared with each other."""


class Status(StrEnum):
    ACTIVE = "active"
    """It is recalled."""
    HELD = "held"
    """It contradicts an active memory and waits for a decision."""
    QUARANTINED = "quarantined"
    """Nobody vouches for it; only a person releases it."""
    SUPERSEDED = "superseded"
    """Something newer replaced it."""
    MERGED = "merged"
    """It was merged into a duplicate."""
    ARCHIVED = "archived"


LIVE = (Status.ACTIVE, Status.HELD, Status.QUARANTINED)
"""States with which new statements are compared."""

REPLACED = (Status.SUPERSEDED, Status.MERGED)


class LearnAction(StrEnum):
    """What learning did. `echoed` and `refused` are decided before anything is judged."""

    STORED = "stored"
    CONFIRMED = "confirmed"
    ECHOED = "echoed"
    REFINED = "refined"
    SUPERSEDED = "superseded"
    CONFLICTED = "conflicted"
    PENDING = "pending"
    QUARANTINED = "quarantined"
    REFUSED = "refused"


class CandidateStatus(StrEnum):
    """The states in which a memory is a candidate."""

    ACTIVE = "active"
    HELD = "held"
    QUARANTINED = "quarantined"


class SourceTag(StrEnum):
    """How a memory came in."""

    EXTERNAL_USER = "external_user"
    EXTERNAL_DOCUMENT = "external_document"
    TOOL = "tool"
    INTERNAL_DMN = "internal_dmn"
    INTERNAL_CONSOLIDATION = "internal_consolidation"
    INTERNAL_GUT = "internal_gut"
    SCHEDULED = "scheduled"


INTERNAL = frozenset([SourceTag.INTERNAL_DMN, SourceTag.INTERNAL_CONSOLIDATION, SourceTag.INTERNAL_GUT])
"""Tags of what nobody outside said; it is never evidence."""

DERIVED = (Kind.INSIGHT, Kind.NARRATIVE, Kind.TENSION)
"""Kinds that consolidation makes; they rest on what was said, never on each other."""


def parse_kind(name: str) -> Kind:
    """Parse a kind. Raises `BadInput` with the list of kinds."""
    lowered = name.strip().lower()
    if lowered in ALIASES:
        return ALIASES[lowered]
    return parse_choice(Kind, lowered, "kind of memory", hint="The kinds are")


def comparable_kinds(kind: Kind) -> tuple[Kind, ...]:
    """The kinds that a statement of this kind may be the same as, update or contradict."""
    return tuple(sorted(CLAIMS)) if kind in CLAIMS else (kind,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A memory row; defaults match those of the table."""

    space_id: SpaceId
    id: MemoryId
    seq: int
    agent_id: AgentId | None
    kind: Kind
    content: str
    content_contextualized: str | None = None
    compressed: str | None = None
    subject: str | None
    subject_key: str | None
    attribute_key: str | None
    value_key: str | None
    fold: bytes
    gist: bytes
    origin: Origin
    trust: float
    source: str | None
    source_tag: str
    source_confidence: float
    session_id: SessionId | None
    episode_id: UUID | None
    turn_id: UUID | None
    status: Status
    pending: bool
    superseded_by: MemoryId | None = None
    superseded_at: datetime | None = None
    valid_from: datetime | None
    valid_to: datetime | None = None
    immutable: bool
    confidence: float
    evidence_count: int = 0
    corroborations: int = 0
    contradictions: int = 0
    passive_count: int = 0
    confidence_anchor: float | None = None
    confidence_ceiling: float | None = None
    weight_ceiling: float | None = None
    confirmation_count: int = 0
    last_confirmed: datetime | None = None
    cause_count: int = 1
    weight_alpha: float
    weight_beta: float
    access_count: int = 0
    last_accessed: datetime | None = None
    access_times: tuple[datetime, ...] = ()
    utility_score: float = 0.0
    event_time: datetime | None
    event_day: date | None
    tags: tuple[str, ...]
    metadata: Mapping[str, Any] = field(hash=False)
    version: int = 1
    created_at: datetime
    updated_at: datetime

    @property
    def weight(self) -> Weight:
        return Weight(alpha=self.weight_alpha, beta=self.weight_beta)

    @property
    def belief(self) -> Belief:
        own = {each.name: getattr(self, each.name) for each in fields(Belief) if each.name != "weight"}
        return Belief(**own, weight=self.weight)

    @property
    def standing(self) -> CandidateStatus:
        """Its state for decisions; only live memories have one."""
        return CandidateStatus(self.status.value)

    @property
    def is_live(self) -> bool:
        return self.status in LIVE

    def as_json(self) -> dict[str, Any]:
        """Return the public JSON, without hashes and `seq`."""
        return record_json(self, hide=("fold", "gist", "seq"))


memory_from_row = row_mapper(Memory)


def scope_of_memory(memory: Memory) -> Scope:
    """Return the scope of a memory's first speaker."""
    agent, session = memory.agent_id or DEFAULT_AGENT, memory.session_id or NO_SESSION
    return Scope(space=memory.space_id, agent=agent, session=session)


def belief_columns(belief: Belief) -> dict[str, Any]:
    """Convert a belief to its columns."""
    own = {each.name: getattr(belief, each.name) for each in fields(Belief) if each.name not in ("weight", "immutable")}
    return own | {"weight_alpha": belief.weight.alpha, "weight_beta": belief.weight.beta}
