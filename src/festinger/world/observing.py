"""What does an outcome do to the edge that a note showed?

Acting on it speaks for the edge, finding it contradicted against it, once a cause; using, dismissing or deferring it
says nothing. What a program reports outright has full weight, what was only inferred a quarter at most, and nothing any
more once somebody tells outright, or a second look shows the contrary, within the same conversation. Which outcome it
was is `outcomes`' matter.
"""

from festinger.ids import Cause, Origin, SpaceId
from festinger.store.queries import queries_of
from festinger.world.corroboration import INFERRED_WEIGHT, Outcome, observed
from festinger.world.desk import Desk
from festinger.world.edge import UrdEdge
from festinger.world.recollection import Note
from festinger.world.writing import Writing, writing

Q = queries_of("festinger.world")

MOVING = (Outcome.ACTED, Outcome.CONTRADICTED)
PASSIVE_SPAN = 0.10
"""How far inferred outcomes may carry an edge away from where statements have put it."""


async def observe(
    desk: Desk,
    space: SpaceId,
    note: Note,
    outcome: Outcome,
    *,
    cause: Cause,
    weight: float = 1.0,
    is_explicit: bool = True,
) -> UrdEdge | None:
    """Move what the world thinks of an edge; the edge, or none if it stands no more or nothing moved."""
    if outcome not in MOVING:
        return None
    async with writing(desk, space, by="outcome", cause=cause) as change:
        return await observe_in(change, note, outcome, cause=cause, weight=weight, is_explicit=is_explicit)


async def observe_in(
    change: Writing, note: Note, outcome: Outcome, *, cause: Cause, weight: float, is_explicit: bool
) -> UrdEdge | None:
    """The same within a change of the caller's."""
    if outcome not in MOVING:
        return None
    row = await change.transaction.maybe(
        Q["find_edge"],
        space=change.space,
        concept=note.concept,
        parent=note.parent,
        dimension=note.dimension,
    )
    if row is None:
        return None
    edge = await _without_inferred(change, UrdEdge(**row), outcome, because=cause, is_explicit=is_explicit)
    if edge is None:
        return None
    share = weight if is_explicit else min(weight, INFERRED_WEIGHT)
    confidence = await _confidence(change, edge, outcome, share=share, is_explicit=is_explicit)
    moved = confidence - edge.confidence
    if not await _is_new(
        change, edge, outcome, because=cause, moved=moved, share=share, is_explicit=is_explicit
    ):
        return None
    is_confirmed = is_explicit and outcome is Outcome.ACTED
    confirmed = change.now if is_confirmed else edge.last_confirmed
    return await change.revalue(edge._replace(confidence=confidence, last_confirmed=confirmed))


async def _without_inferred(
    change: Writing, edge: UrdEdge, outcome: Outcome, *, because: Cause, is_explicit: bool
) -> UrdEdge | None:
    """The edge without what was inferred before in this conversation and no longer counts; none if this does not
    count either, because somebody told outright."""
    before = await change.transaction.one(
        Q["replace_inferred"],
        space=change.space,
        concept=edge.id,
        parent=edge.parent_id,
        dim=edge.dim_id,
        agent=because.agent,
        session=because.session,
        day=because.day,
        outcome=outcome.value,
        is_explicit=is_explicit,
    )
    if before["told"] and not is_explicit:
        return None
    return edge._replace(confidence=edge.confidence - before["moved"])


async def _confidence(
    change: Writing, edge: UrdEdge, outcome: Outcome, *, share: float, is_explicit: bool
) -> float:
    origin = Origin(edge.origin)
    moved = observed(edge.confidence, outcome, evidence=edge.evidence_count, weight=share, origin=origin)
    if is_explicit:
        return moved
    so_far = await change.transaction.value(
        Q["passive_movement"], space=change.space, concept=edge.id, parent=edge.parent_id, dim=edge.dim_id
    )
    anchor = edge.confidence - so_far
    return float(min(max(moved, anchor - PASSIVE_SPAN), anchor + PASSIVE_SPAN))


async def _is_new(
    change: Writing,
    edge: UrdEdge,
    outcome: Outcome,
    *,
    because: Cause,
    moved: float,
    share: float,
    is_explicit: bool,
) -> bool:
    row = await change.transaction.maybe(
        Q["add_outcome"],
        space=change.space,
        concept=edge.id,
        parent=edge.parent_id,
        dim=edge.dim_id,
        agent=because.agent,
        session=because.session,
        day=because.day,
        origin=because.origin.value,
        outcome=outcome.value,
        is_explicit=is_explicit,
        moved=moved,
        weight=share,
        at=change.now,
    )
    return row is not None
