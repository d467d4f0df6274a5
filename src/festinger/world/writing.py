"""How does the world change?

Every change runs under the write lock of its space, which is the row that counts its versions. What changed and
what became of each edge is gathered and written at the end, with one rise of the version and one word to the
other processes; then this process follows its own log like any other. A transaction that fails leaves no trace,
neither in the tables nor in memory.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.errors import NotFound, Refused
from festinger.ids import Cause, SpaceId
from festinger.settings.beliefs import WorldSettings
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.world.collision import LONGEST_CHAIN
from festinger.world.desk import Desk
from festinger.world.edge import UrdEdge

Q = queries_of("festinger.world")


class Kind(StrEnum):
    """What a line of the log says has changed."""

    EDGE = "edge"
    CONCEPT = "concept"
    QUEUE = "queue"
    ALIAS = "alias"
    FORGOTTEN = "forgotten"


class Op(StrEnum):
    """What became of an edge. The first two put it into its slot, the others take it out."""

    ADD = "add"
    RESTORE = "restore"
    REPLACE = "replace"
    MOVE = "move"
    REMOVE = "remove"


@dataclass(slots=True, kw_only=True)
class Writing:
    """One change in progress."""

    desk: Desk
    transaction: Transaction
    space: SpaceId
    version: int
    """The version that this change makes."""
    now: datetime
    terms: WorldSettings
    by: str
    cause: Cause | None = None
    changed: dict[tuple[Kind, int | None, int | None], None] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    places: int = 0
    """Places of history that were taken by other ways than `keep`."""

    def log(self, kind: Kind, concept: int | None, dim: int | None = None) -> None:
        """Have the other processes look again at this."""
        self.changed[kind, concept, dim] = None

    def keep(self, op: Op, edge: UrdEdge, *, reason: str, conflict: UUID | None = None) -> None:
        """Write down what becomes of an edge."""
        self.log(Kind.EDGE, edge.id, edge.dim_id)
        row = edge._asdict() | {
            "version": self.version,
            "n": self.places + len(self.history) + 1,
            "op": op.value,
        }
        row |= {"reason": reason, "conflict": conflict, "by": self.by, "at": self.now, "space": self.space}
        self.history.append(row | {"created_at": edge.created_at or self.now})

    async def tell(self, name: str, subject: str, **payload: Any) -> None:
        """Write down what happened, for whoever wants to hear of it."""
        await self.desk.outbox.emit(
            self.transaction,
            name,
            space=self.space,
            subject=subject,
            payload=payload,
            agent=self.cause.agent if self.cause else None,
            session=self.cause.session if self.cause else None,
        )

    async def slot(self, concept: int, dim: int) -> UrdEdge | None:
        """The edge that stands in a slot, as the table has it."""
        row = await self.transaction.maybe(Q["slot"], space=self.space, concept=concept, dim=dim)
        return UrdEdge(**row) if row else None

    async def chain(self, concept: int, dim: int) -> list[int]:
        """What stands above a concept in a dimension."""
        rows = await self.transaction.all(
            Q["ancestors"], space=self.space, concept=concept, dim=dim, limit=LONGEST_CHAIN
        )
        return [row["parent_id"] for row in rows]

    async def would_cycle(self, concept: int, parent: int, dim: int) -> bool:
        above = await self.chain(parent, dim)
        return concept == parent or concept in above or len(above) >= LONGEST_CHAIN

    async def put(self, edge: UrdEdge, *, reason: str, op: Op = Op.ADD, conflict: UUID | None = None) -> bool:
        """Let an edge stand in its slot; false if the slot is taken after all."""
        stored = edge._replace(version=self.version, created_at=edge.created_at or self.now)
        if not await self.transaction.maybe(Q["put_edge"], space=self.space, **stored._asdict()):
            return False
        self.keep(op, stored, reason=reason, conflict=conflict)
        return True

    async def take(self, edge: UrdEdge, *, reason: str, op: Op, conflict: UUID | None = None) -> None:
        """Take an edge out of its slot, into history."""
        await self.transaction.run(Q["clear_slot"], space=self.space, concept=edge.id, dim=edge.dim_id)
        self.keep(op, edge, reason=reason, conflict=conflict)

    async def revalue(self, edge: UrdEdge) -> UrdEdge:
        """Keep what an edge is held to be worth now."""
        stored = edge._replace(version=self.version)
        await self.transaction.run(Q["move_edge_values"], space=self.space, **stored._asdict())
        self.log(Kind.EDGE, edge.id, edge.dim_id)
        return stored

    async def finish(self) -> None:
        """Write what was gathered; nothing if nothing changed."""
        if not self.changed:
            return
        kinds, concepts, dims = zip(*self.changed, strict=True)
        await self.transaction.run(
            Q["log_change"],
            space=self.space,
            version=self.version,
            kinds=[kind.value for kind in kinds],
            concepts=list(concepts),
            dims=list(dims),
            at=self.now,
        )
        if self.history:
            await self.transaction.run_many(Q["keep_history"], self.history)
        await self.transaction.run(Q["raise_world"], space=self.space, version=self.version)


@asynccontextmanager
async def writing(
    desk: Desk, space: SpaceId, *, by: str, cause: Cause | None = None, patient: bool = False
) -> AsyncIterator[Writing]:
    """Change the world of a space. Afterwards this process has seen the change."""
    async with desk.store.transaction(patient=patient) as transaction:
        change = await begin(desk, transaction, space, by=by, cause=cause)
        yield change
        await change.finish()
    if change.changed:
        await desk.follow(space)


async def begin(
    desk: Desk, transaction: Transaction, space: SpaceId, *, by: str, cause: Cause | None = None
) -> Writing:
    """Take the write lock of a space within a transaction of the caller's, who then calls `finish`, and
    `follow` once it is committed."""
    return Writing(
        desk=desk,
        transaction=transaction,
        space=space,
        version=await hold(transaction, space) + 1,
        now=desk.clock(),
        terms=desk.terms(space),
        by=by,
        cause=cause,
    )


async def hold(transaction: Transaction, space: SpaceId) -> int:
    """Take the write lock of a space until the transaction ends; the version that the space has. Whoever holds other
    locks beside it takes this one first."""
    row = await transaction.maybe(Q["lock_world"], space=space) or await _first_lock(transaction, space)
    return int(row["version"])


async def _first_lock(transaction: Transaction, space: SpaceId) -> Any:
    try:
        await transaction.run(Q["begin_world"], space=space)
    except Refused as error:
        raise NotFound(f"There is no space `{space}`.", hint="`festinger spaces list` shows them.") from error
    return await transaction.one(Q["lock_world"], space=space)
