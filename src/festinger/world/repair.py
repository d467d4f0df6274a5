"""Withdraws a bad source from the world, and reinstates it.

Its statements stop counting as causes, votes and outcomes. An edge that others would not have made moves to
history; what it displaced is restored, or what waited because of it comes in. Decisions in favor of what only
the bad source said are undone, conflicts that it opened are closed, and edges that others stated too are
replayed from them. The rows are kept, so that all of it can be reinstated at once, unless others have built
on the current state; what was forgotten meanwhile stays forgotten. Runs within the caller's transaction.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from festinger.errors import UndoBlocked
from festinger.ids import AgentId, Origin, SessionId, SpaceId
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.world.conflicts import (
    DELIBERATE,
    PENDING,
    RESOLVED,
    Conflict,
    close_conflict,
    conflict_from_row,
    open_conflict,
    recheck_slot_conflicts,
)
from festinger.world.edge_statements import (
    add_alias,
    can_surface_common_word,
    drop_aliases,
    emit_edge_event,
    mark_concept_confirmed,
)
from festinger.world.graph import Slot
from festinger.world.model import (
    REPAIR,
    EdgeSource,
    SoasRow,
    UrdEdge,
    WorldDeps,
    WorldStatement,
    collision_type,
    edge_from_json,
    is_replaceable,
)
from festinger.world.replay import (
    EdgeCreation,
    StatementWithCause,
    Triple,
    cause_statement_from_row,
    creation_from_conflict,
    edge_outcome_from_row,
    keep_untraced_movement,
    load_cause_statements,
    load_edge_creation,
    load_edge_outcomes,
    load_effective_causes,
    load_quarantine_votes,
    load_triple_rows,
    replay_edge,
    select_effective_causes,
    triple_from_row,
    triple_parameters,
    vote_from_row,
)
from festinger.world.write import (
    EdgeOp,
    ResolvedStatement,
    WorldChange,
    WorldChangeKind,
    check_slots_unchanged,
    lock_and_begin_change,
    restore_slots,
)

Q = load_queries("festinger.world")

WITHDRAWN = "withdrawn"
"""The decision on a conflict one side of which no remaining source stated."""

Image = Mapping[str, Any]
"""A row, or a slot, as it was."""


async def reinstate_source(deps: WorldDeps, transaction: Transaction, space: SpaceId, kept: Mapping[str, Any]) -> None:
    """Restore everything as before the withdrawal. Raises `UndoBlocked` where others have built on it."""
    change = await lock_and_begin_change(deps, transaction, space, by=REPAIR)
    places: Sequence[Image] = kept.get("places", ())
    await _restore_slots(change, places)
    for name, query in (("causes", "return_cause"), ("outcomes", "return_outcome"), ("votes", "return_vote")):
        rows = [{"space": space, "image": json.dumps(image)} for image in kept.get(name, ())]
        if rows:
            await transaction.run_many(Q[query], rows)
    await transaction.run(Q["let_in_again"], space=space, ids=list(kept.get("waiting", ())), at=change.now)
    await transaction.run(Q["drop_disputes"], space=space, ids=list(kept.get("opened", ())))
    for image in kept.get("disputes", ()):
        await _restore_conflict_row(change, image)
    calmed = list(kept.get("calmed", ()))
    await transaction.run(Q["confirm_concepts"], space=space, concepts=calmed)
    for concept in calmed:
        change.log(WorldChangeKind.CONCEPT, concept)
    await demote_orphan_concepts(change, (place["concept"] for place in places))
    for place in places:
        await recheck_slot_conflicts(change, place["concept"], place["dim"])
    await change.finish()


async def _restore_slots(change: WorldChange, places: Sequence[Image]) -> None:
    present = [await change.slot(place["concept"], place["dim"]) for place in places]
    for place, edge in zip(places, present, strict=True):
        if (edge.as_json() if edge else None) != place["after"]:
            raise UndoBlocked(
                "Another edge stands there by now, or it was said again.", present=edge.as_json() if edge else None
            )
    for edge in present:
        if edge is not None:
            await change.take(edge, op=EdgeOp.REMOVE, reason="undo")
    for place in places:
        edge = edge_from_json(place["before"]) if place["before"] else None
        if edge is not None and await _has_all_concepts(change, edge):
            await change.put(edge, op=EdgeOp.RESTORE, reason="undo")


async def _has_all_concepts(change: WorldChange, edge: UrdEdge) -> bool:
    """Whether nothing of an edge was forgotten meanwhile."""
    concepts = {edge.id, edge.parent_id, edge.dim_id}
    rows = await change.all("rows_of_concepts", concepts=sorted(concepts))
    return len(rows) == len(concepts)


async def _restore_conflict_row(change: WorldChange, image: Image) -> None:
    row = await change.maybe("return_dispute", image=json.dumps(image), withdrawn=WITHDRAWN)
    change.log(WorldChangeKind.QUEUE, image["concept_id"], image["dim_id"])
    for token in (row["aliases"] or ()) if row and row["status"] == RESOLVED else ():
        await add_alias(change, token, row["existing_parent_id"] if row else 0)


async def demote_orphan_concepts(change: WorldChange, concepts: Iterable[int]) -> list[int]:
    """Stop surfacing concepts without any edge; returns those that did until now."""
    rows = await change.all("calm_concepts", concepts=sorted(set(concepts)))
    for row in rows:
        change.log(WorldChangeKind.CONCEPT, row["id"])
    return [row["id"] for row in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFilter:
    """Where something came from; all given fields must match."""

    session: SessionId | None = None
    agent: AgentId | None = None
    origin: Origin | None = None
    messages: tuple[str, ...] | None = None
    since: datetime | None = None
    until: datetime | None = None

    def as_parameters(self) -> dict[str, Any]:
        return {
            "messages": None if self.messages is None else list(self.messages),
            "session": self.session,
            "agent": self.agent,
            "origin": self.origin.value if self.origin else None,
            "since": self.since,
            "until": self.until,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldWithdrawal:
    """What no longer counts, and the previous state of everything affected."""

    causes: tuple[Image, ...] = ()
    outcomes: tuple[Image, ...] = ()
    votes: tuple[Image, ...] = ()
    places: tuple[Image, ...] = ()
    """Slots, each with the edge before and after."""
    disputes: tuple[Image, ...] = ()
    waiting: tuple[str, ...] = ()
    """Admitted statements that are in quarantine again."""
    opened: tuple[str, ...] = ()
    """Conflicts about edges that gave way to earlier statements."""
    calmed: tuple[int, ...] = ()
    """Concepts about which nothing is known any more."""

    @property
    def rows(self) -> int:
        return len(self.causes) + len(self.outcomes) + len(self.votes)

    @property
    def triples(self) -> list[Triple]:
        return list(dict.fromkeys(triple_from_row(image) for image in self.causes))

    @property
    def messages(self) -> list[str]:
        ids = (image["message_id"] for image in (*self.causes, *self.votes))
        return sorted({message for message in ids if message})

    def as_json(self) -> dict[str, Any]:
        """Serialize for a change record: numbers and marks, no words."""
        return {name: list(getattr(self, name)) for name in self.__slots__}


@dataclass(slots=True, kw_only=True)
class _WorldRepair:
    change: WorldChange
    causes: Sequence[Image]
    outcomes: Sequence[Image]
    votes: Mapping[Triple, Sequence[Image]]
    before: dict[Slot, UrdEdge | None] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    freed: dict[Slot, None] = field(default_factory=dict)

    async def save_slot_before_change(self, slot: Slot) -> None:
        """Keep the edge of a slot before it is first touched."""
        if slot not in self.before:
            self.before[slot] = await self.change.slot(*slot)


async def withdraw_source(
    deps: WorldDeps, transaction: Transaction, space: SpaceId, whence: SourceFilter, *, by: str = REPAIR
) -> WorldWithdrawal:
    """Stop counting what came from a source. The caller calls `follow` after the commit."""
    change = await lock_and_begin_change(deps, transaction, space, by=by)
    causes = await _withdraw_rows(change, "take_causes", whence)
    # Outcomes are reported by somebody and belong to no message.
    outcomes = await _withdraw_rows(change, "take_outcomes", whence) if whence.messages is None else ()
    votes = await _withdraw_rows(change, "take_votes", whence)
    if not (causes or outcomes or votes):
        return WorldWithdrawal()
    let_in = await _find_admitting_votes(change, votes)
    work = _WorldRepair(change=change, causes=causes, outcomes=outcomes, votes=let_in)
    triples = list(dict.fromkeys([*map(triple_from_row, causes), *let_in]))
    disputes = await _snapshot_conflict_rows(work, triples)
    await _without(work, triples)
    await _fill_freed_slots(work)
    calmed = await demote_orphan_concepts(change, (slot[0] for slot in work.freed))
    for slot in work.before:
        await recheck_slot_conflicts(change, *slot)
    places = [await _place(work, slot) for slot in work.before]
    await change.finish()
    return WorldWithdrawal(
        causes=tuple(causes),
        outcomes=tuple(outcomes),
        votes=tuple(votes),
        places=tuple(places),
        disputes=tuple(disputes),
        waiting=tuple(work.waiting),
        opened=tuple(work.opened),
        calmed=tuple(calmed),
    )


async def _withdraw_rows(change: WorldChange, query: str, whence: SourceFilter) -> list[Image]:
    rows = await change.all(query, **whence.as_parameters())
    return [row["image"] for row in rows]


async def _find_admitting_votes(change: WorldChange, votes: Sequence[Image]) -> dict[Triple, list[Image]]:
    """Return the votes that helped to admit a triple, by triple."""
    ids = sorted({image["quarantine_id"] for image in votes})
    rows = await change.all("spoken_for", ids=ids)
    return {
        triple_from_row(row): [image for image in votes if image["quarantine_id"] == str(row["quarantine"])]
        for row in rows
        if row["status"] == "admitted"
    }


async def _snapshot_conflict_rows(work: _WorldRepair, touched: Iterable[Triple]) -> list[Image]:
    concepts = sorted({triple[0] for triple in touched})
    rows = await work.change.all("image_disputes", concepts=concepts)
    return [row["image"] for row in rows]


async def _without(work: _WorldRepair, triples: Iterable[Triple]) -> None:
    """Recompute each triple without the withdrawn rows: first those that are gone, then the others."""
    acted_on = map(triple_from_row, work.outcomes)
    lost = [triple for triple in triples if not await _check_support_or_requeue(work, triple)]
    for triple in lost:
        await _withdraw_triple_conflicts(work, triple)
    for triple in lost:
        await _remove_unsupported_edge(work, triple)
    for triple in dict.fromkeys([*triples, *acted_on]):
        if triple not in lost:
            await _weigh(work, triple)
            await _recompute_edge(work, triple)


async def _check_support_or_requeue(work: _WorldRepair, triple: Triple) -> bool:
    """Whether the rest would have made an edge; what only texts say returns to quarantine."""
    if await load_effective_causes(work.change, triple):
        return True
    rows = await load_triple_rows(work.change, "wait_in_quarantine", triple)
    work.waiting += [str(row["id"]) for row in rows]
    return False


async def _withdraw_triple_conflicts(work: _WorldRepair, triple: Triple) -> None:
    """Close the conflicts that a triple opened, and undo decisions in its favor, latest first."""
    for row in await load_triple_rows(work.change, "said_in_conflicts", triple):
        item = conflict_from_row(row)
        if item.status == PENDING or await _undo_decision_if_possible(work, item):
            resolution = {"decision": WITHDRAWN, "judge": "rule", "before": [], "after": []}
            was = {"was": dict(item.resolution) if item.resolution else None}
            await close_conflict(work.change, item.id, status=RESOLVED, resolution=resolution | was)
            work.change.log(WorldChangeKind.QUEUE, item.concept_id, item.dim_id)


async def _undo_decision_if_possible(work: _WorldRepair, item: Conflict) -> bool:
    """Undo a decision; returns false if it did nothing or others have built on it since."""
    change, resolution = work.change, dict(item.resolution or {})
    after, aliases = resolution.get("after", []), resolution.get("aliases", [])
    if not (after or aliases):
        return False
    try:
        await check_slots_unchanged(change, after)
    except UndoBlocked:
        return False
    for place in (*after, *resolution.get("before", [])):
        await work.save_slot_before_change((place["concept"], place["dim"]))
    await restore_slots(change, resolution, conflict=item.id)
    await drop_aliases(change, aliases)
    return True


async def _remove_unsupported_edge(work: _WorldRepair, triple: Triple) -> None:
    """Remove an edge without remaining causes from its slot, and restore what it displaced."""
    concept, parent, dim = triple
    present = await work.change.slot(concept, dim)
    if present is None or present.parent_id != parent:
        return
    await work.save_slot_before_change(present.slot)
    await work.change.take(present, reason=REPAIR, op=EdgeOp.REMOVE)
    await emit_edge_event(work.change, "edge_removed", present)
    work.freed[present.slot] = None
    await _restore_displaced_edge(work, triple)


async def _restore_displaced_edge(work: _WorldRepair, triple: Triple) -> None:
    """Restore the displaced edge, or the one before it, if the remaining causes would have made it."""
    concept, parent, dim = triple
    seen = {parent}
    while rows := await load_triple_rows(work.change, "displaced_by", (concept, parent, dim)):
        parent = rows[0]["parent_id"]
        if parent in seen:
            return
        seen.add(parent)
        birth = await load_edge_creation(work.change, (concept, parent, dim))
        if (
            birth
            and await load_effective_causes(work.change, (concept, parent, dim))
            and await _put(work, birth, op=EdgeOp.RESTORE)
        ):
            return


async def _fill_freed_slots(work: _WorldRepair) -> None:
    """Add edges that waited only because a slot was taken or a cycle would have closed."""
    if not work.freed:
        return
    concepts, dims = (list(column) for column in zip(*work.freed, strict=True))
    for birth in await _load_waiting_edges(work, concepts=concepts, dims=dims):
        if await _make_room_if_weak(work, birth.edge):
            await _put(work, birth, op=EdgeOp.ADD)


async def _load_waiting_edges(work: _WorldRepair, *, concepts: list[int], dims: list[int]) -> list[EdgeCreation]:
    """Return the edges that conflicts about these slots ask for, ordered by their remaining causes."""
    rows = await work.change.all("waiting_for_room", concepts=concepts, dims=dims)
    asked = []
    for birth in map(creation_from_conflict, rows):
        makers = await load_effective_causes(work.change, triple_from_row(birth.edge._asdict()))
        asked += [replace(birth, at=makers[0].at)] if makers else []
    return sorted(asked, key=lambda birth: birth.at)


async def _make_room_if_weak(work: _WorldRepair, asked: UrdEdge) -> bool:
    """Whether a slot is free for an edge; a restored weak edge gives way as it would have done."""
    change = work.change
    present = await change.slot(*asked.slot)
    if present is None or asked.slot not in work.freed:
        return present is None
    floor = change.terms.recollection_confidence_floor
    if not is_replaceable(present, confidence=asked.confidence, origin=asked.origin, floor=floor):
        return False
    if await change.would_cycle(asked.id, asked.parent_id, asked.dim_id):
        return False
    await change.take(present, reason="weak", op=EdgeOp.REPLACE)
    return True


async def _put(work: _WorldRepair, birth: EdgeCreation, *, op: EdgeOp) -> bool:
    """Put an edge as the remaining causes make it; false if it would close a cycle."""
    change, edge = work.change, birth.edge
    if await change.would_cycle(edge.id, edge.parent_id, edge.dim_id):
        return False
    triple = triple_from_row(edge._asdict())
    restored = await _told(work, triple, birth, with_taken=False)
    await work.save_slot_before_change(edge.slot)
    await change.put(restored, reason=REPAIR, op=op)
    await emit_edge_event(change, "edge_added", restored)
    await _make_known(work, edge.id, await load_cause_statements(work.change, triple))
    return True


async def _make_known(work: _WorldRepair, concept: int, heard: Iterable[StatementWithCause]) -> None:
    change = work.change
    row = await change.one("rows_of_concepts", concepts=[concept])
    is_common = change.deps.is_common(row["token"], change.terms.common_word_zipf)
    floor = change.terms.recollection_confidence_floor
    if not is_common or any(can_surface_common_word(each, floor=floor) for each in heard):
        await mark_concept_confirmed(change, SoasRow(**row))


async def _weigh(work: _WorldRepair, triple: Triple) -> None:
    """Reduce the weight of waiting conflicts about a triple to the remaining causes."""
    fewer = sum(triple_from_row(image) == triple for image in work.causes)
    for row in await load_triple_rows(work.change, "said_in_conflicts", triple):
        if row["status"] == PENDING:
            await work.change.run(
                "weigh_conflict", conflict=row["id"], deliberate=DELIBERATE, fewer=fewer, **triple_parameters(triple)
            )


async def _recompute_edge(work: _WorldRepair, triple: Triple) -> None:
    """Revalue an edge from the remaining causes."""
    concept, parent, dim = triple
    present = await work.change.slot(concept, dim)
    birth = await load_edge_creation(work.change, triple)
    if present is None or present.parent_id != parent or birth is None:
        return
    edge = await _told(work, triple, birth, with_taken=True)
    without = await _told(work, triple, birth, with_taken=False)
    retold = keep_untraced_movement(present, edge, without)
    if retold == present:
        return
    await work.save_slot_before_change(present.slot)
    retold = await work.change.update_edge_values(retold)
    if birth.is_plain and (first := await _find_earlier_waiting_edge(work, retold)):
        await _swap_with_waiting_edge(work, retold, first)


async def _find_earlier_waiting_edge(work: _WorldRepair, standing: UrdEdge) -> EdgeCreation | None:
    """Return the waiting edge that was stated before the current one would have been."""
    floor = work.change.terms.recollection_confidence_floor
    asked = await _load_waiting_edges(work, concepts=[standing.id], dims=[standing.dim_id])
    for birth in (each for each in asked if each.edge.id == standing.id):
        if standing.created_at is None or birth.at >= standing.created_at:
            return None
        edge = await _told(work, triple_from_row(birth.edge._asdict()), birth, with_taken=False)
        if not is_replaceable(edge, confidence=standing.confidence, origin=standing.origin, floor=floor):
            return birth
    return None


async def _swap_with_waiting_edge(work: _WorldRepair, standing: UrdEdge, first: EdgeCreation) -> None:
    """Swap the current edge and the waiting one."""
    change = work.change
    await change.take(standing, reason=REPAIR, op=EdgeOp.REPLACE)
    if not await _put(work, first, op=EdgeOp.ADD):
        await change.put(standing, reason=REPAIR, op=EdgeOp.RESTORE)
        return
    rows = await change.all("rows_of_concepts", concepts=[standing.id, standing.parent_id, standing.dim_id])
    words = {row["id"]: SoasRow(**row) for row in rows}
    kind = collision_type(existing_is_isa=first.edge.is_isa, incoming_is_isa=standing.is_isa)
    concept, parent, dim = (words[number] for number in (standing.id, standing.parent_id, standing.dim_id))
    statement = WorldStatement(
        concept=concept.token,
        parent=parent.token,
        dimension=dim.token,
        is_isa=standing.is_isa,
        confidence=standing.confidence,
        source=EdgeSource(standing.source),
        cause=(await load_cause_statements(change, triple_from_row(standing._asdict())))[0].cause,
    )
    incoming = ResolvedStatement(statement=statement, concept=concept, parent=parent, dim=dim)
    origin = Origin(standing.origin)
    opened = await open_conflict(change, incoming, existing=first.edge, kind=kind, origin=origin)
    if opened.id is not None:
        work.opened.append(str(opened.id))
        await _weigh(work, triple_from_row(standing._asdict()))


async def _told(work: _WorldRepair, triple: Triple, birth: EdgeCreation, *, with_taken: bool) -> UrdEdge:
    """Replay the edge from its traces, with or without the withdrawn ones."""
    taken = [cause_statement_from_row(image) for image in work.causes if triple_from_row(image) == triple]
    voices = await load_cause_statements(work.change, triple)
    votes = await load_quarantine_votes(work.change, triple)
    found = await load_edge_outcomes(work.change, triple)
    is_kept = all(each.is_kept for each in (*voices, *taken))
    doubted = () if with_taken else [each.at for each in taken]
    if with_taken:
        voices += taken
        votes += [vote_from_row(image) for image in work.votes.get(triple, ())]
        found += [edge_outcome_from_row(image) for image in work.outcomes if triple_from_row(image) == triple]
    believed = select_effective_causes(voices, votes, min_causes=work.change.terms.quarantine_min_causes)
    return replay_edge(birth, believed, found, is_believed=birth.is_believed(doubted, is_kept=is_kept))


async def _place(work: _WorldRepair, slot: Slot) -> Image:
    before, after = work.before[slot], await work.change.slot(*slot)
    return {
        "concept": slot[0],
        "dim": slot[1],
        "before": before.as_json() if before else None,
        "after": after.as_json() if after else None,
    }
