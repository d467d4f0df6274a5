"""What stood in which slot before a decision, and what after?

`Places` gathers it while a decision is carried out; the item of the queue keeps it, and undoing reads it back.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from festinger.errors import UndoBlocked
from festinger.world.edge import UrdEdge, edge_from_json
from festinger.world.world import Slot
from festinger.world.writing import Op, Writing


@dataclass(slots=True, kw_only=True)
class Places:
    """The slots that a decision touched."""

    before: dict[Slot, UrdEdge | None] = field(default_factory=dict)
    after: dict[Slot, UrdEdge | None] = field(default_factory=dict)
    aliases: list[str] = field(default_factory=list)
    """Names that it gave."""

    def slots(self) -> Iterator[Slot]:
        yield from self.after

    async def take(self, change: Writing, edge: UrdEdge, *, op: Op, conflict: UUID, reason: str) -> None:
        """Take an edge out of its slot."""
        await change.take(edge, op=op, reason=reason, conflict=conflict)
        self.before.setdefault(edge.slot, edge)
        self.after[edge.slot] = None

    async def put(self, change: Writing, edge: UrdEdge, *, conflict: UUID, reason: str) -> bool:
        """Let an edge stand in its slot; false if the slot is taken."""
        if not await change.put(edge, reason=reason, conflict=conflict):
            return False
        self.before.setdefault(edge.slot, None)
        self.after[edge.slot] = edge
        return True

    def as_json(self) -> dict[str, Any]:
        return {
            "before": [_place(slot, edge) for slot, edge in self.before.items()],
            "after": [_place(slot, edge) for slot, edge in self.after.items()],
            "aliases": list(self.aliases),
        }


async def check_untouched(change: Writing, after: Sequence[Mapping[str, Any]]) -> None:
    """Refuse to undo where another edge stands by now."""
    for place in after:
        present = await change.slot(place["concept"], place["dim"])
        expected = edge_from_json(place["edge"]).parent_id if place["edge"] else None
        if (present.parent_id if present else None) != expected:
            raise UndoBlocked(
                "Another edge stands there by now.", present=present.as_json() if present else None
            )


async def put_back(change: Writing, resolution: Mapping[str, Any], *, conflict: UUID) -> None:
    """Let every slot be as it was before."""
    for place in resolution.get("after", []):
        present = await change.slot(place["concept"], place["dim"])
        if present is not None:
            await change.take(present, op=Op.REMOVE, reason="undo", conflict=conflict)
    for place in resolution.get("before", []):
        if place["edge"]:
            edge = edge_from_json(place["edge"])
            await change.put(edge, op=Op.RESTORE, reason="undo", conflict=conflict)


def _place(slot: Slot, edge: UrdEdge | None) -> dict[str, Any]:
    return {"concept": slot[0], "dim": slot[1], "edge": edge.as_json() if edge else None}
