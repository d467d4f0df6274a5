"""Defines nights: runs that consolidate memories, with their units of work, planned changes and items.

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
from festinger.ids import SpaceId
from festinger.llm.model import Model
from festinger.memory.deps import MemoryDeps
from festinger.memory.model import Kind, Memory
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
    REFLECT = "reflect"
    TENSIONS = "tensions"
    REWRITE = "rewrite"
    PROMOTE = "promote"
    RECONSIDER = "reconsider"


class NightItemKind(StrEnum):
    """What a night does to a memory. What is cited, weakened or superseded follows from what is learned."""

    LEARNED = "learned"
    ANNOTATED = "annotated"
    REINFORCED = "reinforced"
    ARCHIVED = "archived"
    PROPOSED = "proposed"
    CITED = "cited"
    WEAKENED = "weakened"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    kind: NightItemKind
    memory: str = ""
    """The memory to change; for a text to learn, one that says it already and only gets the sources."""
    text: str = ""
    text_kind: str = ""
    cites: tuple[str, ...] = ()
    """Memories that a text rests on."""
    about: str = ""
    """What a tension or a narrative is about; it ends with it."""
    replaces: str = ""
    notes: Mapping[str, Any] = field(default_factory=dict, hash=False)
    gain: float = 0.0
    evidence: tuple[str, ...] = ()
    """Sightings that a gain rests on; no later gain counts them again."""
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        return record_json(self)


planned_from_json = row_mapper(PlannedChange)


def plan_text(kind: Kind, text: str, cites: Iterable[Memory], **more: Any) -> PlannedChange:
    """Plan to learn a text that rests on memories."""
    ids = tuple(str(each.id) for each in cites)
    return PlannedChange(kind=NightItemKind.LEARNED, text=text, text_kind=kind.value, cites=ids, **more)


def plan_change(kind: NightItemKind, memory: Memory, reason: str, **more: Any) -> PlannedChange:
    return PlannedChange(kind=kind, memory=str(memory.id), reason=reason, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class NightItem:
    """One thing that a night made or moved; `change` names it."""

    change: UUID
    kind: NightItemKind
    memory: UUID
    unit_key: str
    has_change: bool
    """Whether a change of the memory has that id; a new memory has none."""
    is_undone: bool
    before: str = ""
    after: str = ""
    reason: str = ""


item_from_row = row_mapper(NightItem)


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """A night; lists leave out what only a report has: its lines, its items and what the ceilings stopped."""

    id: UUID
    agent: str
    trigger: str
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
    lines: tuple[str, ...] = ()
    items: tuple[NightItem, ...] = ()
    safety: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)

    def as_json(self) -> dict[str, Any]:
        return record_json(self, hide=("only_step", "cost_usd")) | {
            "cost_usd": None if self.cost_usd is None else float(self.cost_usd)
        }


night_from_row = row_mapper(Night, agent="agent_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class NightDeps:
    memory: MemoryDeps
    retrieval: RetrievalDeps
    proposals: ProposalDeps
    terms: Callable[[SpaceId], ConsolidationSettings]
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


async def begin_night(
    deps: NightDeps,
    transaction: Transaction,
    space: SpaceId,
    *,
    agent: str = SHARED,
    trigger: str = "person",
    **more: Any,
) -> UUID:
    """Create a night, with `dry_run` and `only_step`, or return a killed one like it. Raises `AlreadyRunning`."""
    of = {"space": space, "agent": agent, "dry_run": False, "only_step": "", **more}
    night, at = deps.memory.new_uuid(), deps.memory.clock()
    await transaction.run(Q["end_lost_nights"], space=space, id=None, at=at)
    row = await transaction.maybe(Q["begin_night"], id=night, trigger=trigger, at=at, **of)
    row = row or await transaction.maybe(Q["killed_night"], **of)
    if row is None:
        raise AlreadyRunning("A night of these memories is running already.")
    return UUID(str(row["id"]))


async def find_night(deps: NightDeps, space: SpaceId, night: UUID) -> Night:
    row = await deps.store.maybe(Q["find_night"], space=space, id=night)
    if row is None:
        raise NotFound(f"There is no night `{night}`.")
    return night_from_row(row)


async def list_items(store: Store | Transaction, space: SpaceId, night: UUID) -> list[NightItem]:
    return [item_from_row(row) for row in await store.all(Q["items_of"], space=space, night=night)]


async def find_due_agents(deps: NightDeps, space: SpaceId, *, importance: float | None = None) -> list[str]:
    """List whose memories are due: something is new since the last night, which is not of the last ten minutes.

    With `importance`, only where what is new is as important.
    """
    rows = await deps.store.all(Q["due_agents"], space=space, at=deps.memory.clock(), importance=importance)
    return [row["agent_id"] for row in rows]
