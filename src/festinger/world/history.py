"""What did the world look like at an earlier moment?

Every edge that comes or goes leaves a row behind, so any earlier state can be rebuilt: rows that put an edge into its
slot and rows that take it out, in order. How sure the world was of an edge is known as of the last time that it came.
"""

from collections.abc import Iterable
from datetime import datetime

from festinger.ids import SpaceId
from festinger.store.queries import queries_of
from festinger.world.desk import Desk
from festinger.world.edge import UrdEdge
from festinger.world.world import Slot
from festinger.world.writing import Op

Q = queries_of("festinger.world")

COMES = (Op.ADD, Op.RESTORE)


def replayed(steps: Iterable[tuple[Op, UrdEdge]]) -> dict[Slot, UrdEdge]:
    """The edges that stand after all steps, roots left out."""
    standing: dict[Slot, UrdEdge] = {}
    for op, edge in steps:
        if op in COMES:
            standing[edge.slot] = edge
        else:
            standing.pop(edge.slot, None)
    return {slot: edge for slot, edge in standing.items() if not edge.is_root}


async def as_of(desk: Desk, space: SpaceId, moment: datetime) -> dict[Slot, UrdEdge]:
    """The edges that stood at a moment, by slot."""
    rows = await desk.store.all(Q["history_until"], space=space, until=moment)
    steps = [(Op(row.pop("op")), row) for row in rows]
    return replayed((op, _edge(row)) for op, row in steps)


def _edge(row: dict[str, object]) -> UrdEdge:
    return UrdEdge(**{name: value for name, value in row.items() if name != "n"})  # type: ignore[arg-type]
