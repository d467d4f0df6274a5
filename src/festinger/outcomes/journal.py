"""What was done with a memory, and which ones helped or misled?"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from festinger.clock import iso
from festinger.ids import Cause, MemoryId, Origin, SpaceId
from festinger.outcomes.desk import Desk
from festinger.outcomes.outcome import How
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.world.corroboration import Outcome

Q = queries_of("festinger.outcomes")

MOST_TOLD = 100
"""Outcomes that the reasons of a belief list."""
OFTEN = 10
"""Surfaced so often without any use, a memory is worth a look."""

Document = dict[str, Any]


async def page(
    desk: Desk,
    space: SpaceId,
    *,
    memory: UUID | None = None,
    how: How | None = None,
    after: UUID | None = None,
    limit: int = 50,
) -> list[Document]:
    """Outcomes, newest first."""
    last = await desk.store.maybe(Q["find_outcome"], space=space, id=after) if after else None
    rows = await desk.store.all(
        Q["outcomes"],
        space=space,
        memory=memory,
        how=how.value if how else None,
        at=last["at"] if last else None,
        after=after if last else None,
        limit=limit,
    )
    return [document_of(row) for row in rows]


async def outcomes_of(desk: Desk, space: SpaceId, memory: MemoryId) -> tuple[Document, ...]:
    """What was done with a memory, newest first, for whoever asks why it is believed."""
    return tuple(await page(desk, space, memory=memory, limit=MOST_TOLD))


async def contradicting_causes(
    transaction: Transaction, space: SpaceId, memory: MemoryId, *, limit: int = MOST_TOLD
) -> list[Cause]:
    """From which distinct causes a memory was found contradicted."""
    rows = await transaction.all(Q["contradicting_causes"], space=space, memory=memory, limit=limit)
    return [
        Cause(agent=row["agent_id"], session=row["session_id"], day=row["day"], origin=Origin(row["origin"]))
        for row in rows
    ]


def document_of(row: Mapping[str, Any]) -> Document:
    """An outcome as every door shows it: with cause, how it is known, and what it did."""
    return {
        "id": str(row["id"]),
        "memory": str(row["memory_id"]),
        "turn": str(row["turn_id"]) if row["turn_id"] else None,
        "recall": str(row["recall_id"]) if row["recall_id"] else None,
        "outcome": row["outcome"],
        "how": row["how"],
        "cause": {
            "agent": row["agent_id"],
            "session": row["session_id"],
            "day": row["day"].isoformat(),
            "origin": row["origin"],
        },
        "reporter": row["reporter"],
        "q": row["q"],
        "weight": row["w"],
        "credit": row["credit"],
        "confidence": [row["confidence_before"], row["confidence_after"]],
        "center": row["center_after"],
        "evidence": row["evidence"],
        "counted": row["counted"],
        "uncounted_because": row["uncounted_because"],
        "replaced_by": str(row["replaced_by"]) if row["replaced_by"] else None,
        "at": iso(row["at"]),
    }


async def lists(desk: Desk, space: SpaceId, *, limit: int = 10) -> dict[str, list[Document]]:
    """Which memories helped most, which misled most, and which were often shown and never used."""
    return {
        "helpful": await _often(desk, space, Outcome.ACTED, limit),
        "misleading": await _often(desk, space, Outcome.CONTRADICTED, limit),
        "idle": [
            {"memory": str(row["memory_id"]), "times": row["times"]}
            for row in await desk.store.all(Q["idle_surfaced"], space=space, times=OFTEN, limit=limit)
        ],
    }


async def _often(desk: Desk, space: SpaceId, outcome: Outcome, limit: int) -> list[Document]:
    rows = await desk.store.all(Q["most_often"], space=space, outcome=outcome.value, limit=limit)
    return [{"memory": str(row["memory_id"]), "times": row["times"]} for row in rows]
