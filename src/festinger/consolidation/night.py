"""Defines nights: runs that consolidate memories, with their steps, units of work and planned changes.

A night works through units. Each has a key made of what it reads, so that nothing is done twice. It first plans
its changes and stores the plan, then applies it: a killed night goes on with the same plan.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.errors import AlreadyRunning, NotFound
from festinger.ids import DEFAULT_AGENT, NO_SESSION, AgentId, Scope, SpaceId
from festinger.llm.model import Model
from festinger.memory.deps import MemoryDeps
from festinger.memory.model import Memory
from festinger.proposals.deps import ProposalDeps
from festinger.records import record_json, row_mapper
from festinger.retrieval.deps import RetrievalDeps
from festinger.settings.consolidation import ConsolidationSettings
from festinger.store.pool import Store, Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.consolidation")

SHARED = ""
"""In place of an agent: the memories that all agents of a space share."""


class NightStep(StrEnum):
    SURVEY = "survey"
    REFLECT = "reflect"
    TENSIONS = "tensions"
    REWRITE = "rewrite"
    PROMOTE = "promote"
    RECONSIDER = "reconsider"
    TUNE = "tune"


class NightTrigger(StrEnum):
    SCHEDULE = "schedule"
    IMPORTANCE = "importance"
    PERSON = "person"


class NightOp(StrEnum):
    """What a planned change does."""

    LEARN = "learn"
    ANNOTATE = "annotate"
    REINFORCE = "reinforce"
    ARCHIVE = "archive"
    PROPOSE = "propose"


class NightItemKind(StrEnum):
    LEARNED = "learned"
    CITED = "cited"
    ANNOTATED = "annotated"
    REINFORCED = "reinforced"
    WEAKENED = "weakened"
    ARCHIVED = "archived"
    SUPERSEDED = "superseded"
    PROPOSED = "proposed"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    op: NightOp
    memory: str | None = None
    text: str = ""
    kind: str = ""
    cites: tuple[str, ...] = ()
    """Memories that a text rests on."""
    same_as: str | None = None
    """The memory that says it already, and only gets the sources."""
    replaces: str | None = None
    notes: Mapping[str, Any] = field(default_factory=dict, hash=False)
    gain: float = 0.0
    evidence: tuple[str, ...] = ()
    """Sightings that a gain rests on; no later gain counts them again."""
    repeats: int = 0
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        return record_json(self)


planned_from_json = row_mapper(PlannedChange)


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    id: UUID
    agent_id: str
    trigger: NightTrigger
    state: str
    step: str
    only_step: str
    dry_run: bool
    counts: Mapping[str, int] = field(hash=False)
    survey: Mapping[str, Any] = field(hash=False)
    preview: tuple[Mapping[str, Any], ...] = field(hash=False)
    left_over: tuple[Mapping[str, Any], ...] = field(hash=False)
    model_calls: int
    cost_usd: Decimal | None
    started_at: datetime
    finished_at: datetime | None
    error: str | None


night_from_row = row_mapper(Night)


@dataclass(frozen=True, slots=True, kw_only=True)
class NightItem:
    """One thing that a night made or moved."""

    id: UUID
    unit_key: str
    step: str
    kind: NightItemKind
    memory_id: UUID
    change_id: UUID | None
    at: datetime
    undone_at: datetime | None


item_from_row = row_mapper(NightItem)


@dataclass(frozen=True, slots=True, kw_only=True)
class NightDeps:
    memory: MemoryDeps
    retrieval: RetrievalDeps
    proposals: ProposalDeps
    terms: Callable[[SpaceId], ConsolidationSettings]
    trust_level: Callable[[SpaceId], int]
    writer: Callable[[SpaceId], Awaitable[Model | None]]
    yield_turn: Callable[[], Awaitable[None]]
    """Waits for a moment without requests."""

    @property
    def store(self) -> Store:
        return self.memory.store


def unit_key(name: str, memories: Iterable[Memory], *more: str) -> str:
    """Return the key of a unit that reads these memories: their ids and words."""
    parts = sorted(f"{memory.id}:{memory.fold.hex()}" for memory in memories)
    return f"{name}:{hashlib.sha256(json.dumps([parts, more]).encode()).hexdigest()[:32]}"


def scope_of_night(space: SpaceId, agent: str) -> Scope:
    return Scope(space=space, agent=AgentId(agent) if agent else DEFAULT_AGENT, session=NO_SESSION)


async def begin_night(
    deps: NightDeps,
    transaction: Transaction,
    space: SpaceId,
    *,
    agent: str = SHARED,
    trigger: NightTrigger,
    dry_run: bool = False,
    only_step: str = "",
) -> UUID:
    """Create a night for a job to run. Raises `AlreadyRunning`."""
    row = await transaction.maybe(
        Q["begin_night"],
        space=space,
        id=deps.memory.new_uuid(),
        agent=agent,
        trigger=trigger.value,
        dry_run=dry_run,
        only_step=only_step,
        at=deps.memory.clock(),
    )
    if row is None:
        raise AlreadyRunning("A night of these memories is running already.")
    night: UUID = row["id"]
    return night


async def find_night(deps: NightDeps, space: SpaceId, night: UUID) -> Night:
    row = await deps.store.maybe(Q["find_night"], space=space, id=night)
    if row is None:
        raise NotFound(f"There is no night `{night}`.")
    return night_from_row(row)


async def page_nights(deps: NightDeps, space: SpaceId, *, limit: int = 50, before: UUID | None = None) -> list[Night]:
    """List nights, newest first."""
    rows = await deps.store.all(Q["nights"], space=space, before=before, limit=limit)
    return [night_from_row(row) for row in rows]


async def list_items(store: Store | Transaction, space: SpaceId, night: UUID) -> list[NightItem]:
    rows = await store.all(Q["items_of"], space=space, night=night)
    return [item_from_row(row) for row in rows]


async def find_due_agents(deps: NightDeps, space: SpaceId, *, importance: float | None = None) -> list[str]:
    """List whose memories are due: something is new since the last night, which is not of the last ten minutes.

    With `importance`, only where what is new is as important.
    """
    rows = await deps.store.all(Q["due_agents"], space=space, at=deps.memory.clock(), importance=importance)
    return [row["agent_id"] for row in rows]
