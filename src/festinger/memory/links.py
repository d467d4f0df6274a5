"""How are memories joined?

Links are written and undone within a transaction of the caller's. What derives from what is followed here as far as
it goes; cycles are cut.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.ids import MemoryId, SpaceId
from festinger.memory.memory import Memory
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.memory")

DEPTH = 10
"""How far a line is followed for somebody to read."""
WHOLE_LINE = 1000
"""How far it is followed where trust depends on it."""


class Link(StrEnum):
    DERIVES_FROM = "derives_from"
    """An insight, and its source."""
    SUPERSEDES = "supersedes"
    """What is true now, and what was."""
    REFINES = "refines"
    CONTRADICTS = "contradicts"
    SAME_AS = "same_as"
    ABOUT = "about"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ancestor:
    """Something that a memory derives from: a memory, or a turn, which has no trust of its own here."""

    id: UUID
    depth: int
    trust: float | None


async def join(
    transaction: Transaction,
    space: SpaceId,
    memory: UUID,
    relation: Link,
    *,
    to: Iterable[UUID],
    at: datetime,
    judgements: Mapping[Any, UUID] | None = None,
) -> None:
    targets = list(dict.fromkeys(to))
    if targets:
        await transaction.run(
            Q["put_links"],
            **{"from": memory},
            space=space,
            to=targets,
            judgements=[(judgements or {}).get(target) for target in targets],
            relation=relation.value,
            at=at,
        )


async def part(
    transaction: Transaction,
    space: SpaceId,
    memory: UUID,
    relation: Link,
    *,
    to: Sequence[UUID],
    at: datetime,
) -> None:
    """Undo a link; that it was there stays known."""
    await transaction.run(
        Q["undo_links"], **{"from": memory}, space=space, to=list(to), relation=relation.value, at=at
    )


async def linked(transaction: Transaction, space: SpaceId, memory: UUID, relation: Link) -> list[MemoryId]:
    rows = await transaction.all(Q["links_from"], space=space, memory=memory, relation=relation.value)
    return [row["to_id"] for row in rows]


async def derivation(
    transaction: Transaction, space: SpaceId, memories: Iterable[UUID], *, depth: int = WHOLE_LINE
) -> list[Ancestor]:
    """Everything that these derive from."""
    rows = await transaction.all(Q["derivation"], space=space, memories=list(memories), depth=depth)
    return [Ancestor(**row) for row in rows]


async def lower_trust(
    transaction: Transaction, memory: Memory, *, trust: float, at: datetime
) -> list[MemoryId]:
    """Trust a memory less, and with it everything that derives from it; whose trust fell."""
    rows = await transaction.all(Q["derived"], space=memory.space_id, memory=memory.id, depth=WHOLE_LINE)
    fallen = await transaction.all(
        Q["lower_trust"],
        space=memory.space_id,
        memories=[memory.id, *(row["id"] for row in rows)],
        trust=trust,
        at=at,
    )
    return [row["id"] for row in fallen]
