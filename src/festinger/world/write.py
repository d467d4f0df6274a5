"""Runs changes of the world under the write lock of a space, and manages its words and dimensions.

The lock is the row that counts the space's versions. Changes and edge history are gathered and written at the
end, with one version bump and one notification; then this process follows its own log like any other. A
failed transaction leaves no trace, neither in the tables nor in memory. Words get rows when an edge first
needs them or their counts are written. A dimension is a word with a root: an edge to itself, which keeps its
slot from ever being written. Six dimensions exist from the start. `SlotChanges` records each slot before and
after a decision, for undo.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.errors import NotFound, Refused, UndoBlocked
from festinger.ids import Cause, Origin, SpaceId
from festinger.settings.memory_sections import WorldSettings
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.world.graph import Slot
from festinger.world.model import LONGEST_CHAIN, EdgeSource, SoasRow, UrdEdge, WorldDeps, WorldStatement, edge_from_json

Q = load_queries("festinger.world")


class WorldChangeKind(StrEnum):
    """What a log line says has changed."""

    EDGE = "edge"
    CONCEPT = "concept"
    QUEUE = "queue"
    ALIAS = "alias"
    FORGOTTEN = "forgotten"


class EdgeOp(StrEnum):
    """What happened to an edge. The first two put it into its slot, the others remove it."""

    ADD = "add"
    RESTORE = "restore"
    REPLACE = "replace"
    MOVE = "move"
    REMOVE = "remove"


@dataclass(slots=True, kw_only=True)
class WorldChange:
    deps: WorldDeps
    transaction: Transaction
    space: SpaceId
    version: int
    """The version that this change creates."""
    now: datetime
    terms: WorldSettings
    by: str
    cause: Cause | None = None
    changed: dict[tuple[WorldChangeKind, int | None, int | None], None] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)

    def log(self, kind: WorldChangeKind, concept: int | None, dim: int | None = None) -> None:
        """Have the other processes reload this."""
        self.changed[kind, concept, dim] = None

    def keep(self, op: EdgeOp, edge: UrdEdge, *, reason: str, conflict: UUID | None = None) -> None:
        """Record in the history what happens to an edge."""
        self.log(WorldChangeKind.EDGE, edge.id, edge.dim_id)
        row = edge._asdict() | {"version": self.version, "n": len(self.history) + 1, "op": op.value}
        row |= {"reason": reason, "conflict": conflict, "by": self.by, "at": self.now, "space": self.space}
        self.history.append(row | {"created_at": edge.created_at or self.now})

    async def tell(self, name: str, subject: str, **payload: Any) -> None:
        """Emit an event."""
        await self.deps.outbox.emit(
            self.transaction,
            name,
            space=self.space,
            subject=subject,
            payload=payload,
            agent=self.cause.agent if self.cause else None,
            session=self.cause.session if self.cause else None,
        )

    async def all(self, query: str, **parameters: Any) -> list[dict[str, Any]]:
        """Run a query of the world. It gets the space, time, version and author of the change beside its parameters."""
        return await self.transaction.all(Q[query], **self._context | parameters)

    async def maybe(self, query: str, **parameters: Any) -> dict[str, Any] | None:
        return await self.transaction.maybe(Q[query], **self._context | parameters)

    async def one(self, query: str, **parameters: Any) -> dict[str, Any]:
        return await self.transaction.one(Q[query], **self._context | parameters)

    async def value(self, query: str, **parameters: Any) -> Any:
        return await self.transaction.value(Q[query], **self._context | parameters)

    async def run(self, query: str, **parameters: Any) -> int:
        return await self.transaction.run(Q[query], **self._context | parameters)

    @property
    def _context(self) -> dict[str, Any]:
        return {"space": self.space, "at": self.now, "version": self.version, "by": self.by}

    async def slot(self, concept: int, dim: int) -> UrdEdge | None:
        """Return the current edge of a slot from the table."""
        row = await self.maybe("slot", concept=concept, dim=dim)
        return UrdEdge(**row) if row else None

    async def chain(self, concept: int, dim: int) -> list[int]:
        return await load_ancestors(self.transaction, self.space, concept, dim)

    async def would_cycle(self, concept: int, parent: int, dim: int) -> bool:
        above = await self.chain(parent, dim)
        return concept == parent or concept in above or len(above) >= LONGEST_CHAIN

    async def put(self, edge: UrdEdge, *, reason: str, op: EdgeOp = EdgeOp.ADD, conflict: UUID | None = None) -> bool:
        """Put an edge into its slot; false if the slot is taken after all."""
        stored = edge._replace(version=self.version, created_at=edge.created_at or self.now)
        if not await self.maybe("put_edge", **stored._asdict()):
            return False
        self.keep(op, stored, reason=reason, conflict=conflict)
        return True

    async def take(self, edge: UrdEdge, *, reason: str, op: EdgeOp, conflict: UUID | None = None) -> None:
        """Move an edge from its slot to history."""
        await self.run("clear_slot", concept=edge.id, dim=edge.dim_id)
        self.keep(op, edge, reason=reason, conflict=conflict)

    async def update_edge_values(self, edge: UrdEdge) -> UrdEdge:
        """Store the current values of an edge."""
        stored = edge._replace(version=self.version)
        await self.run("move_edge_values", **stored._asdict())
        self.log(WorldChangeKind.EDGE, edge.id, edge.dim_id)
        return stored

    async def finish(self) -> None:
        """Write what was gathered; nothing if nothing changed."""
        if not self.changed:
            return
        kinds, concepts, dims = zip(*self.changed, strict=True)
        await self.run("log_change", kinds=list(kinds), concepts=list(concepts), dims=list(dims))
        if self.history:
            await self.transaction.run_many(Q["keep_history"], self.history)
        await self.run("raise_world")


@asynccontextmanager
async def open_change(
    deps: WorldDeps, space: SpaceId, *, by: str, cause: Cause | None = None, patient: bool = False
) -> AsyncIterator[WorldChange]:
    """Change the world of a space; on exit this process has seen the change."""
    async with deps.store.transaction(patient=patient) as transaction:
        change = await lock_and_begin_change(deps, transaction, space, by=by, cause=cause)
        yield change
        await change.finish()
    if change.changed:
        await deps.follow(space)


async def lock_and_begin_change(
    deps: WorldDeps, transaction: Transaction, space: SpaceId, *, by: str, cause: Cause | None = None
) -> WorldChange:
    """Take the write lock of a space within the caller's transaction; the caller then calls `finish`, and
    `follow` after the commit."""
    return WorldChange(
        deps=deps,
        transaction=transaction,
        space=space,
        version=await lock_world(transaction, space) + 1,
        now=deps.clock(),
        terms=deps.terms(space),
        by=by,
        cause=cause,
    )


async def load_ancestors(transaction: Transaction, space: SpaceId, concept: int, dim: int) -> list[int]:
    rows = await transaction.all(Q["ancestors"], space=space, concept=concept, dim=dim, limit=LONGEST_CHAIN)
    return [row["parent_id"] for row in rows]


async def lock_world(transaction: Transaction, space: SpaceId) -> int:
    """Take the write lock of a space until the transaction ends; returns the current version. Callers that
    hold other locks take this one first."""
    row = await transaction.maybe(Q["lock_world"], space=space) or await _create_lock(transaction, space)
    return int(row["version"])


async def _create_lock(transaction: Transaction, space: SpaceId) -> Any:
    try:
        await transaction.run(Q["begin_world"], space=space)
    except Refused as error:
        raise NotFound(f"There is no space `{space}`.", hint="`festinger spaces list` shows them.") from error
    return await transaction.one(Q["lock_world"], space=space)


SEED_DIMENSIONS = ("type", "membership", "runs-on", "tech", "owned-by", "geography")
TYPE = "type"
MEMBERSHIP = "membership"


def is_in_wrong_dimension(dimension: str | None, *, is_isa: bool) -> bool:
    """Whether an edge of this flavor does not fit a seed dimension: `type` holds kinds, the others hold
    parts. Other dimensions hold either."""
    return dimension in SEED_DIMENSIONS and is_isa != (dimension == TYPE)


async def load_concept_rows(transaction: Transaction, space: SpaceId, tokens: Iterable[str]) -> dict[str, SoasRow]:
    """Return the existing rows of words, by the name asked for."""
    rows = await transaction.all(Q["rows_of_tokens"], space=space, tokens=list(tokens))
    # An alias means its concept, even if the name had a row of its own before.
    rows.sort(key=lambda row: bool(row.pop("is_alias")))
    return {row.pop("name"): SoasRow(**row) for row in rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedStatement:
    """A statement whose words have rows."""

    statement: WorldStatement
    concept: SoasRow
    parent: SoasRow
    dim: SoasRow


async def resolve_known_words(change: WorldChange, statement: WorldStatement) -> ResolvedStatement | None:
    """Find the rows of a statement's words without creating any; none if one is missing."""
    tokens = (statement.concept, statement.parent, statement.dimension)
    rows = await load_concept_rows(change.transaction, change.space, tokens)
    return resolve_statement(statement, rows) if rows.keys() >= set(tokens) else None


def resolve_statement(statement: WorldStatement, rows: Mapping[str, SoasRow]) -> ResolvedStatement:
    return ResolvedStatement(
        statement=statement,
        concept=rows[statement.concept],
        parent=rows[statement.parent],
        dim=rows[statement.dimension],
    )


async def ensure_concepts(change: WorldChange, tokens: Iterable[str]) -> tuple[Mapping[str, SoasRow], tuple[str, ...]]:
    """Return the rows of words, creating missing ones, and which were created."""
    wanted = list(dict.fromkeys(tokens))
    found = await load_concept_rows(change.transaction, change.space, wanted)
    missing = [token for token in wanted if token not in found]
    if not missing:
        return found, ()
    rows = await change.all("add_tokens", tokens=missing)
    return await load_concept_rows(change.transaction, change.space, wanted), tuple(row["token"] for row in rows)


async def ensure_dimension_roots(change: WorldChange, rows: Iterable[SoasRow]) -> None:
    """Give dimensions without a root one."""
    wanted = {row.id: row for row in rows}
    found = await change.all("roots_among", concepts=list(wanted))
    rooted = {row["dim_id"] for row in found}
    for row in (row for dim, row in wanted.items() if dim not in rooted):
        await change.put(_build_root_edge(row.id), reason="root", op=EdgeOp.ADD)
        await change.tell("dimension_created", f"concept:{row.id}", dim_id=row.id, token=row.token, by=change.by)


async def bootstrap_dimensions(deps: WorldDeps, space: SpaceId) -> None:
    """Create the dimensions that every space has, if missing."""
    async with open_change(deps, space, by="festinger") as change:
        rows, _ = await ensure_concepts(change, SEED_DIMENSIONS)
        await ensure_dimension_roots(change, [rows[token] for token in SEED_DIMENSIONS])


async def list_dimensions(deps: WorldDeps, space: SpaceId) -> dict[str, int]:
    return {row["token"]: row["id"] for row in await deps.store.all(Q["dimensions"], space=space)}


def _build_root_edge(dim: int) -> UrdEdge:
    return UrdEdge(id=dim, parent_id=dim, dim_id=dim, is_isa=True, source=EdgeSource.FESTINGER, origin=Origin.JOB)


@dataclass(slots=True, kw_only=True)
class SlotChanges:
    """The slots that a decision touched."""

    before: dict[Slot, UrdEdge | None] = field(default_factory=dict)
    after: dict[Slot, UrdEdge | None] = field(default_factory=dict)
    aliases: list[str] = field(default_factory=list)
    """Aliases that it added."""

    def slots(self) -> Iterator[Slot]:
        yield from self.after

    async def take(self, change: WorldChange, edge: UrdEdge, *, op: EdgeOp, conflict: UUID, reason: str) -> None:
        await change.take(edge, op=op, reason=reason, conflict=conflict)
        self.before.setdefault(edge.slot, edge)
        self.after[edge.slot] = None

    async def put(self, change: WorldChange, edge: UrdEdge, *, conflict: UUID, reason: str) -> bool:
        """Put an edge into its slot; false if the slot is taken."""
        if not await change.put(edge, reason=reason, conflict=conflict):
            return False
        self.before.setdefault(edge.slot, None)
        self.after[edge.slot] = edge
        return True

    def as_json(self) -> dict[str, Any]:
        return {
            "before": [_slot_json(slot, edge) for slot, edge in self.before.items()],
            "after": [_slot_json(slot, edge) for slot, edge in self.after.items()],
            "aliases": list(self.aliases),
        }


async def check_slots_unchanged(change: WorldChange, after: Sequence[Mapping[str, Any]]) -> None:
    """Refuse to undo if another edge is current by now."""
    for place in after:
        present = await change.slot(place["concept"], place["dim"])
        expected = edge_from_json(place["edge"]).parent_id if place["edge"] else None
        if (present.parent_id if present else None) != expected:
            raise UndoBlocked("Another edge stands there by now.", present=present.as_json() if present else None)


async def restore_slots(change: WorldChange, resolution: Mapping[str, Any], *, conflict: UUID) -> None:
    for place in resolution.get("after", []):
        present = await change.slot(place["concept"], place["dim"])
        if present is not None:
            await change.take(present, op=EdgeOp.REMOVE, reason="undo", conflict=conflict)
    for place in resolution.get("before", []):
        if place["edge"]:
            edge = edge_from_json(place["edge"])
            await change.put(edge, op=EdgeOp.RESTORE, reason="undo", conflict=conflict)


def _slot_json(slot: Slot, edge: UrdEdge | None) -> dict[str, Any]:
    return {"concept": slot[0], "dim": slot[1], "edge": edge.as_json() if edge else None}
