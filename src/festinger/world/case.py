"""What must be known of a conflict to decide it?

Reads, without a lock, everything that rules and models judge by: both statements with their causes, what stands
above their parents, the sentences around them and the dimensions that there are. A verdict says against which
parent it was made, and is stale if another one stands by the time it is carried out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from festinger.ids import SpaceId
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.world.collision import LONGEST_CHAIN
from festinger.world.conflicts import Conflict, conflict_of
from festinger.world.desk import Desk
from festinger.world.edge import UrdEdge
from festinger.world.vocabulary import MEMBERSHIP, TYPE, is_misplaced

Q = queries_of("festinger.world")

SENTENCES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    conflict: Conflict
    existing: UrdEdge | None
    above_existing: Sequence[int]
    """What stands above the parent that stands, in this dimension."""
    above_incoming: Sequence[int]
    existing_causes: Sequence[Mapping[str, Any]]
    incoming_causes: Sequence[Mapping[str, Any]]
    sentences: Sequence[Mapping[str, Any]]
    dimensions: Sequence[str]
    free_dimension: str | None
    """Where the misplaced edge belongs by its flavour, if that slot is free and it closes no cycle there."""

    @property
    def is_existing_misplaced(self) -> bool:
        """Whether the edge that stands, not the incoming one, is in the wrong dimension."""
        return self.existing is not None and is_misplaced(
            self.conflict.dimension, is_isa=self.existing.is_isa
        )


async def due(desk: Desk, space: SpaceId, *, limit: int, memories: bool = False) -> list[Conflict]:
    """The conflicts that wait, most urgent first; those of memories too if they are asked for."""
    abouts = ["edge", "memory"] if memories else ["edge"]
    rows = await desk.store.all(Q["due_conflicts"], space=space, abouts=abouts, limit=limit)
    return [conflict_of(row) for row in rows]


async def case_of(desk: Desk, space: SpaceId, conflict: Conflict) -> Case:
    async with desk.store.transaction() as transaction:
        return await _Reader(transaction=transaction, space=space, conflict=conflict).case()


async def note_attempt(
    desk: Desk, space: SpaceId, conflict: UUID, *, reason: str, is_try: bool = True
) -> None:
    """Keep that a run could not decide, and why; where nobody tried, it counts as none."""
    await desk.store.run(Q["note_attempt"], space=space, id=conflict, reason=reason[:200], tries=int(is_try))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    transaction: Transaction
    space: SpaceId
    conflict: Conflict

    async def case(self) -> Case:
        item = self.conflict
        row = await self.transaction.maybe(
            Q["slot"], space=self.space, concept=item.concept_id, dim=item.dim_id
        )
        existing = UrdEdge(**row) if row else None
        incoming_causes = await self._causes(item.incoming_parent_id)
        existing_causes = await self._causes(existing.parent_id) if existing else []
        dimensions = await self.transaction.all(Q["dimensions"], space=self.space)
        return Case(
            conflict=item,
            existing=existing,
            above_existing=await self._above(existing.parent_id) if existing else (),
            above_incoming=await self._above(item.need_incoming()),
            existing_causes=existing_causes,
            incoming_causes=incoming_causes,
            sentences=await self._sentences([*existing_causes, *incoming_causes]),
            dimensions=[row["token"] for row in dimensions],
            free_dimension=await self._free({row["token"]: row["id"] for row in dimensions}, existing),
        )

    async def _above(self, concept: int, dim: int | None = None) -> list[int]:
        rows = await self.transaction.all(
            Q["ancestors"],
            space=self.space,
            concept=concept,
            dim=self.conflict.dim_id if dim is None else dim,
            limit=LONGEST_CHAIN,
        )
        return [row["parent_id"] for row in rows]

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

    async def _free(self, dimensions: Mapping[str, int], existing: UrdEdge | None) -> str | None:
        item = self.conflict
        is_isa, parent = bool(item.incoming_is_isa), item.need_incoming()
        if existing is not None and is_misplaced(item.dimension, is_isa=existing.is_isa):
            is_isa, parent = existing.is_isa, existing.parent_id
        name = TYPE if is_isa else MEMBERSHIP
        dim, concept = dimensions.get(name), self.conflict.need_concept()
        if dim is None or dim == concept:
            return None
        taken = await self.transaction.maybe(Q["slot"], space=self.space, concept=concept, dim=dim)
        closes = concept in await self._above(parent, dim)
        return None if taken or closes else name
