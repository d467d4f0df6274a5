"""How is given back to the world what had been taken back?

Every slot, cause, vote, outcome and conflict becomes what it was, in one change of the world, unless others have built
on what stands there now. What was forgotten meanwhile stays forgotten.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from festinger.errors import UndoBlocked
from festinger.ids import SpaceId
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.world.conflicts import RESOLVED, rebase
from festinger.world.desk import Desk
from festinger.world.edge import UrdEdge, edge_from_json
from festinger.world.state import name_alike
from festinger.world.traces import REPAIR
from festinger.world.writing import Kind, Op, Writing, begin

Q = queries_of("festinger.world")

WITHDRAWN = "withdrawn"
"""The decision about a conflict of which one side was never said, for all that is left."""

Image = Mapping[str, Any]
"""A row, or a slot, as it was."""


async def give_back(desk: Desk, transaction: Transaction, space: SpaceId, kept: Mapping[str, Any]) -> None:
    """Let everything be as it was before it was taken back. Raises `UndoBlocked` where others have built on it."""
    change = await begin(desk, transaction, space, by=REPAIR)
    places: Sequence[Image] = kept.get("places", ())
    await _put_places_back(change, places)
    for name, query in (("causes", "return_cause"), ("outcomes", "return_outcome"), ("votes", "return_vote")):
        rows = [{"space": space, "image": json.dumps(image)} for image in kept.get(name, ())]
        if rows:
            await transaction.run_many(Q[query], rows)
    await transaction.run(Q["let_in_again"], space=space, ids=list(kept.get("waiting", ())), at=change.now)
    await transaction.run(Q["drop_disputes"], space=space, ids=list(kept.get("opened", ())))
    for image in kept.get("disputes", ()):
        await _return_dispute(change, image)
    calmed = list(kept.get("calmed", ()))
    await transaction.run(Q["confirm_concepts"], space=space, concepts=calmed)
    for concept in calmed:
        change.log(Kind.CONCEPT, concept)
    await calm(change, (place["concept"] for place in places))
    for place in places:
        await rebase(change, place["concept"], place["dim"])
    await change.finish()


async def _put_places_back(change: Writing, places: Sequence[Image]) -> None:
    present = [await change.slot(place["concept"], place["dim"]) for place in places]
    for place, edge in zip(places, present, strict=True):
        if (edge.as_json() if edge else None) != place["after"]:
            raise UndoBlocked(
                "Another edge stands there by now, or it was said again.",
                present=edge.as_json() if edge else None,
            )
    for edge in present:
        if edge is not None:
            await change.take(edge, op=Op.REMOVE, reason="undo")
    for place in places:
        edge = edge_from_json(place["before"]) if place["before"] else None
        if edge is not None and await _has_words(change, edge):
            await change.put(edge, op=Op.RESTORE, reason="undo")


async def _has_words(change: Writing, edge: UrdEdge) -> bool:
    """Whether nothing of an edge was forgotten meanwhile."""
    concepts = {edge.id, edge.parent_id, edge.dim_id}
    rows = await change.transaction.all(Q["rows_of_concepts"], space=change.space, concepts=sorted(concepts))
    return len(rows) == len(concepts)


async def _return_dispute(change: Writing, image: Image) -> None:
    row = await change.transaction.maybe(
        Q["return_dispute"], space=change.space, image=json.dumps(image), withdrawn=WITHDRAWN
    )
    change.log(Kind.QUEUE, image["concept_id"], image["dim_id"])
    for token in (row["aliases"] or ()) if row and row["status"] == RESOLVED else ():
        await name_alike(change, token, row["existing_parent_id"] if row else 0)


async def calm(change: Writing, concepts: Iterable[int]) -> list[int]:
    """Let concepts of which no edge is left surface no more; which did until now."""
    rows = await change.transaction.all(
        Q["calm_concepts"], space=change.space, concepts=sorted(set(concepts))
    )
    for row in rows:
        change.log(Kind.CONCEPT, row["id"])
    return [row["id"] for row in rows]
