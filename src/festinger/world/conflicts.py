"""Manages the queue of statements that cannot both hold.

Opens items, counts their sightings, rebases them when the current edge changes, and shows them. A conflict
changes nothing in the world; it only marks the slot, and `decisions` decides it. A `ConflictCase` is read
without a lock and holds all that rules and models judge by: both statements with their causes, the ancestors
of their parents, the sentences around them and the existing dimensions. A verdict names the parent it was
made against, and is stale if another one is current when it is applied.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from festinger.clock import iso
from festinger.errors import NoSuchConflict
from festinger.ids import MemoryId, Origin, SpaceId, cause_columns
from festinger.records import row_mapper
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.world.graph import SETTLED_FOR
from festinger.world.model import CollisionType, UrdEdge, WorldDeps, collision_type
from festinger.world.write import (
    MEMBERSHIP,
    TYPE,
    ResolvedStatement,
    WorldChange,
    WorldChangeKind,
    is_in_wrong_dimension,
    load_ancestors,
)

Q = load_queries("festinger.world")

DELIBERATE = 10
"""The priority of deliberate statements."""

CAUSES_TO_ASK_AGAIN = 3
DECIDED_SHOWN_FOR = timedelta(days=7)

PENDING = "pending"
RESOLVED = "resolved"
DISMISSED = "dismissed"

SAME_BY_ITSELF = "same"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenConflictResult:
    """The conflict, or why there is none."""

    id: UUID | None
    is_crowded: bool = False


async def open_conflict(
    change: WorldChange,
    incoming: ResolvedStatement,
    *,
    existing: UrdEdge | None,
    kind: CollisionType,
    origin: Origin | None = None,
) -> OpenConflictResult:
    """Queue a collision, unless it was dismissed recently and nothing new supports it. `origin` is that of an
    edge which others stated too."""
    statement = incoming.statement
    if not statement.is_deliberate:
        if await _is_settled(change, incoming):
            return OpenConflictResult(id=None)
        columns = cause_columns(statement.cause)
        opened = await change.value("conflicts_of_cause", **columns)
        if opened >= change.terms.conflict_max_per_cause:
            return OpenConflictResult(id=None, is_crowded=True)
    priority = DELIBERATE if statement.is_deliberate else 0
    row = await change.one(
        "open_conflict",
        id=change.deps.new_id(),
        concept=incoming.concept.id,
        existing=existing.parent_id if existing else None,
        incoming=incoming.parent.id,
        dim=incoming.dim.id,
        type=kind.value,
        priority=priority,
        existing_is_isa=existing.is_isa if existing else None,
        incoming_is_isa=statement.is_isa,
        confidence=statement.confidence,
        source=statement.source.value,
        origin=(origin or statement.origin).value,
    )
    change.log(WorldChangeKind.QUEUE, incoming.concept.id, incoming.dim.id)
    if row["is_new"]:
        await change.tell(
            "conflict_opened",
            f"conflict:{row['id']}",
            conflict=str(row["id"]),
            about="edge",
            collision_type=kind.value,
            concept=incoming.concept.id,
            dim=incoming.dim.id,
            existing=existing.parent_id if existing else None,
            incoming=incoming.parent.id,
            priority=priority,
        )
    return OpenConflictResult(id=row["id"])


async def _is_settled(change: WorldChange, incoming: ResolvedStatement) -> bool:
    triple = {"concept": incoming.concept.id, "dim": incoming.dim.id, "parent": incoming.parent.id}
    at = await change.value("last_dismissal", **triple, since=change.now - SETTLED_FOR)
    if at is None:
        return False
    causes = await change.value("causes_since", **triple, since=at)
    return int(causes) < CAUSES_TO_ASK_AGAIN


async def open_memory_conflict(
    deps: WorldDeps,
    transaction: Transaction,
    space: SpaceId,
    *,
    old: MemoryId,
    new: MemoryId,
    judgement: UUID | None,
    kind: str = "contradicts",
    priority: int = 0,
) -> UUID:
    """Queue two memories that cannot both hold, within the caller's transaction."""
    row = await transaction.one(
        Q["open_memory_conflict"],
        space=space,
        id=deps.new_id(),
        type=kind,
        old=old,
        new=new,
        judgement=judgement,
        priority=priority,
        at=deps.clock(),
    )
    conflict: UUID = row["id"]
    if row["is_new"]:
        payload = {"conflict": str(conflict), "about": "memory", "collision_type": kind, "priority": priority}
        pair = {"concept": None, "dim": None, "existing": str(old), "incoming": str(new)}
        await deps.outbox.emit(
            transaction, "conflict_opened", space=space, subject=f"conflict:{conflict}", payload=payload | pair
        )
    return conflict


async def recheck_slot_conflicts(change: WorldChange, concept: int, dim: int) -> None:
    """Set waiting items of a slot against its current edge; those fulfilled by it close."""
    waiting = await change.all("pending_in_slot", concept=concept, dim=dim)
    if not waiting:
        return
    edge = await change.slot(concept, dim)
    for row in waiting:
        if _is_fulfilled(row, edge):
            resolution = {"decision": SAME_BY_ITSELF, "judge": "rule", "before": [], "after": []}
            await close_conflict(change, row["id"], status=RESOLVED, resolution=resolution)
        elif row["collision_type"] != CollisionType.RETRACTION:
            await _set_conflict_edge(change, row["id"], edge)
    change.log(WorldChangeKind.QUEUE, concept, dim)


def _is_fulfilled(row: Mapping[str, Any], edge: UrdEdge | None) -> bool:
    """Whether the item's request is met: its parent is current or, for a retraction, no longer is."""
    stands = edge is not None and row["incoming_parent_id"] == edge.parent_id
    return not stands if row["collision_type"] == CollisionType.RETRACTION else stands


async def _set_conflict_edge(change: WorldChange, conflict: UUID, edge: UrdEdge | None) -> None:
    row = await change.one("conflict", id=conflict)
    kind = row["collision_type"]
    if edge is not None and kind != CollisionType.CYCLE:
        kind = collision_type(existing_is_isa=edge.is_isa, incoming_is_isa=row["incoming_is_isa"])
    await change.run(
        "rebase_conflict",
        id=conflict,
        existing=edge.parent_id if edge else None,
        is_isa=edge.is_isa if edge else None,
        type=str(kind),
    )


async def close_conflict(
    change: WorldChange, conflict: UUID, *, status: str, resolution: Mapping[str, Any], about: str = "edge"
) -> None:
    """Record how a conflict was decided, and by whom."""
    await change.run("decide_conflict", id=conflict, status=status, resolution=json.dumps(resolution))
    await change.tell(
        "conflict_decided",
        f"conflict:{conflict}",
        conflict=str(conflict),
        about=about,
        status=status,
        decision=resolution["decision"],
        decided_by=change.by,
        before=resolution["before"],
        after=resolution["after"],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """One item of the queue, with its words."""

    id: UUID
    about: str
    concept_id: int | None
    dim_id: int | None
    existing_parent_id: int | None
    incoming_parent_id: int | None
    concept: str | None
    dimension: str | None
    existing_parent: str | None
    incoming_parent: str | None
    collision_type: str
    status: str
    priority: int
    existing_is_isa: bool | None
    incoming_is_isa: bool | None
    incoming_confidence: float | None
    incoming_source: str | None
    incoming_origin: str | None
    sightings: int
    attempts: int
    reason: str
    decided_by: str | None
    resolution: Mapping[str, Any] | None
    old_memory: UUID | None
    new_memory: UUID | None
    judgement_id: UUID | None
    created_at: datetime
    resolved_at: datetime | None

    def require_concept_id(self) -> int:
        assert self.concept_id is not None, "an edge's conflict has a concept"
        return self.concept_id

    def require_dimension_id(self) -> int:
        assert self.dim_id is not None, "an edge's conflict has a dimension"
        return self.dim_id

    def require_incoming_parent_id(self) -> int:
        assert self.incoming_parent_id is not None, "an edge's conflict has an incoming parent"
        return self.incoming_parent_id

    @property
    def is_persons(self) -> bool:
        """Whether a person made the incoming statement."""
        return self.incoming_origin == Origin.PERSON


conflict_from_row = row_mapper(Conflict)


async def find_conflict(transaction: Transaction, space: SpaceId, conflict: UUID) -> Conflict:
    """Find one conflict. Nobody else decides it while the caller holds the world lock."""
    missing = NoSuchConflict(f"There is no conflict `{conflict}`.")
    return conflict_from_row(await transaction.one(Q["conflict"], missing, space=space, id=conflict))


async def load_slot_conflicts_since(
    transaction: Transaction, space: SpaceId, *, concept: int, dim: int, since: datetime, limit: int = 50
) -> list[Conflict]:
    """Load the conflicts about one dimension of one concept, decided or not, oldest first."""
    rows = await transaction.all(
        Q["conflicts_of_slot"], space=space, concept=concept, dim=dim, since=since, limit=limit
    )
    return [conflict_from_row(row) for row in rows]


async def load_conflicts(
    deps: WorldDeps,
    space: SpaceId,
    *,
    statuses: Sequence[str] | None = None,
    concept: int | None = None,
    after: Conflict | None = None,
    limit: int = 50,
) -> list[Conflict]:
    """Load the queue, most urgent first; without `statuses`, waiting ones and those decided last week."""
    rows = await deps.store.all(
        Q["conflicts"],
        space=space,
        statuses=list(statuses) if statuses is not None else None,
        decided_since=deps.clock() - DECIDED_SHOWN_FOR if statuses is None else None,
        concept=concept,
        priority=after.priority if after else None,
        created_at=after.created_at if after else None,
        after=after.id if after else None,
        limit=limit,
    )
    return [conflict_from_row(row) for row in rows]


async def count_pending(deps: WorldDeps, space: SpaceId) -> int:
    return int(await deps.store.value(Q["count_pending"], space=space))


async def edge_conflict_json(deps: WorldDeps, space: SpaceId, conflict: Conflict) -> dict[str, Any]:
    existing = await _existing_json(deps, space, conflict)
    incoming = {
        "parent": conflict.incoming_parent,
        "is_isa": conflict.incoming_is_isa,
        "confidence": conflict.incoming_confidence,
        "source": conflict.incoming_source,
        "origin": conflict.incoming_origin,
        "last_confirmed": None,
        "causes": await _causes(deps, space, conflict, conflict.incoming_parent_id),
    }
    return {
        "id": str(conflict.id),
        "about": conflict.about,
        "concept": conflict.concept,
        "dimension": conflict.dimension,
        "existing": existing,
        "incoming": incoming,
        "collision_type": conflict.collision_type,
        "status": conflict.status,
        "priority": conflict.priority,
        "sightings": conflict.sightings,
        "resolution": conflict.resolution,
        "created_at": iso(conflict.created_at),
        "resolved_at": iso(conflict.resolved_at) if conflict.resolved_at else None,
    }


async def _existing_json(deps: WorldDeps, space: SpaceId, conflict: Conflict) -> dict[str, Any] | None:
    if conflict.existing_parent_id is None:
        return None
    row = await deps.store.maybe(
        Q["slot"], space=space, concept=conflict.require_concept_id(), dim=conflict.require_dimension_id()
    )
    edge = UrdEdge(**row).as_json() if row and row["parent_id"] == conflict.existing_parent_id else {}
    return {
        "parent": conflict.existing_parent,
        "is_isa": conflict.existing_is_isa,
        **{name: edge.get(name) for name in ("confidence", "source", "origin", "last_confirmed")},
        "causes": await _causes(deps, space, conflict, conflict.existing_parent_id),
    }


async def _causes(deps: WorldDeps, space: SpaceId, conflict: Conflict, parent: int | None) -> list[dict[str, Any]]:
    rows = await deps.store.all(
        Q["causes_of"], space=space, concept=conflict.concept_id, parent=parent, dim=conflict.dim_id
    )
    return [
        {"agent": row["agent"], "session": row["session_id"], "day": row["day"].isoformat(), "origin": row["origin"]}
        for row in rows
    ]


SENTENCES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictCase:
    conflict: Conflict
    existing: UrdEdge | None
    above_existing: Sequence[int]
    """The ancestors of the current parent in this dimension."""
    above_incoming: Sequence[int]
    existing_causes: Sequence[Mapping[str, Any]]
    incoming_causes: Sequence[Mapping[str, Any]]
    sentences: Sequence[Mapping[str, Any]]
    dimensions: Sequence[str]
    free_dimension: str | None
    """The dimension that fits the misplaced edge's flavor, if that slot is free and closes no cycle."""

    @property
    def is_existing_misplaced(self) -> bool:
        """Whether the current edge, not the incoming one, is in the wrong dimension."""
        return self.existing is not None and is_in_wrong_dimension(self.conflict.dimension, is_isa=self.existing.is_isa)


async def list_pending_conflicts(
    deps: WorldDeps, space: SpaceId, *, limit: int, memories: bool = False
) -> list[Conflict]:
    """List the waiting conflicts, most urgent first; those of memories only if asked for."""
    abouts = ["edge", "memory"] if memories else ["edge"]
    rows = await deps.store.all(Q["due_conflicts"], space=space, abouts=abouts, limit=limit)
    return [conflict_from_row(row) for row in rows]


async def load_conflict_case(deps: WorldDeps, space: SpaceId, conflict: Conflict) -> ConflictCase:
    async with deps.store.transaction() as transaction:
        return await _CaseReader(transaction=transaction, space=space, conflict=conflict).case()


async def record_undecided_attempt(
    deps: WorldDeps, space: SpaceId, conflict: UUID, *, reason: str, is_try: bool = True
) -> None:
    """Record that a run could not decide, and why; `is_try` is false if no judge was asked."""
    await deps.store.run(Q["note_attempt"], space=space, id=conflict, reason=reason[:200], tries=int(is_try))


@dataclass(frozen=True, slots=True, kw_only=True)
class _CaseReader:
    transaction: Transaction
    space: SpaceId
    conflict: Conflict

    async def case(self) -> ConflictCase:
        item = self.conflict
        row = await self.transaction.maybe(Q["slot"], space=self.space, concept=item.concept_id, dim=item.dim_id)
        existing = UrdEdge(**row) if row else None
        incoming_causes = await self._causes(item.incoming_parent_id)
        existing_causes = await self._causes(existing.parent_id) if existing else []
        dimensions = await self.transaction.all(Q["dimensions"], space=self.space)
        return ConflictCase(
            conflict=item,
            existing=existing,
            above_existing=await self._load_ancestor_ids(existing.parent_id, item.require_dimension_id())
            if existing
            else (),
            above_incoming=await self._load_ancestor_ids(
                item.require_incoming_parent_id(), item.require_dimension_id()
            ),
            existing_causes=existing_causes,
            incoming_causes=incoming_causes,
            sentences=await self._sentences([*existing_causes, *incoming_causes]),
            dimensions=[row["token"] for row in dimensions],
            free_dimension=await self._find_free_dimension({row["token"]: row["id"] for row in dimensions}, existing),
        )

    async def _load_ancestor_ids(self, concept: int, dim: int) -> list[int]:
        return await load_ancestors(self.transaction, self.space, concept, dim)

    async def _causes(self, parent: int | None) -> list[dict[str, Any]]:
        item = self.conflict
        return await self.transaction.all(
            Q["causes_of"], space=self.space, concept=item.concept_id, parent=parent, dim=item.dim_id
        )

    async def _sentences(self, causes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        messages = [cause["message_id"] for cause in causes if cause["message_id"]]
        return await self.transaction.all(
            Q["sentences_of_messages"],
            space=self.space,
            concept=self.conflict.concept_id,
            messages=messages,
            limit=SENTENCES,
        )

    async def _find_free_dimension(self, dimensions: Mapping[str, int], existing: UrdEdge | None) -> str | None:
        item = self.conflict
        is_isa, parent = bool(item.incoming_is_isa), item.require_incoming_parent_id()
        if existing is not None and is_in_wrong_dimension(item.dimension, is_isa=existing.is_isa):
            is_isa, parent = existing.is_isa, existing.parent_id
        name = TYPE if is_isa else MEMBERSHIP
        dim, concept = dimensions.get(name), self.conflict.require_concept_id()
        if dim is None or dim == concept:
            return None
        taken = await self.transaction.maybe(Q["slot"], space=self.space, concept=concept, dim=dim)
        closes = concept in await self._load_ancestor_ids(parent, dim)
        return None if taken or closes else name
