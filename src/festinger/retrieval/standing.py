"""How does what was shown of memories stand today?

Whoever shows memories for longer than a moment asks this before showing them again. A memory that was replaced or merged
is answered by the one that stands in its place; one that nobody may see any more is not answered at all.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from festinger.memory.learn.supersede import LONGEST_CHAIN
from festinger.memory.model import Place
from festinger.retrieval.desk import Desk
from festinger.store.queries import queries_of

Q = queries_of("festinger.retrieval")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A memory as it stands, in the place of one that was asked for."""

    id: UUID
    text: str
    compressed: str | None
    version: int
    disputed: bool


async def standings(desk: Desk, place: Place, memories: Collection[UUID]) -> dict[UUID, Standing]:
    """What stands in the place of each of these; what is missing is gone. Raises `StoreDown`."""
    async with desk.store.transaction(hot=True) as transaction:
        rows = await transaction.all(
            Q["standings"],
            space=place.space,
            agent=place.agent,
            memories=sorted(memories),
            depth=LONGEST_CHAIN,
        )
    return {row["asked"]: standing_of(row) for row in rows}


def standing_of(row: Mapping[str, Any]) -> Standing:
    return Standing(
        id=row["id"],
        text=row["content"],
        compressed=row["compressed"],
        version=row["version"],
        disputed=row["disputed"],
    )
