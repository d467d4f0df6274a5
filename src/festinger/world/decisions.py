"""Applies decisions about conflicts to the world, and undoes them.

Each decision is one transaction: the edges, their history, the queue item, the log and the event. The item
keeps each slot before and after, so that a decision can be undone at any time unless its slots have changed
since. Whether a rule, model or person may decide is checked elsewhere (`consolidation`, the interfaces).
"""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.errors import AlreadyDecided, BadDecision, Refused, Stale, UndoBlocked
from festinger.ids import Origin, SpaceId
from festinger.text.tokens import tokenize
from festinger.world.conflicts import (
    DISMISSED,
    PENDING,
    RESOLVED,
    Conflict,
    close_conflict,
    find_conflict,
    recheck_slot_conflicts,
)
from festinger.world.edge_statements import add_alias, drop_aliases, mark_concept_confirmed
from festinger.world.model import (
    CollisionType,
    EdgeSource,
    SettleMemory,
    UrdEdge,
    WorldDeps,
    confidence_after_corroboration,
)
from festinger.world.write import (
    EdgeOp,
    SlotChanges,
    WorldChange,
    WorldChangeKind,
    check_slots_unchanged,
    ensure_concepts,
    ensure_dimension_roots,
    open_change,
    restore_slots,
)


class ConflictDecision(StrEnum):
    UPDATE = "update"
    DECOMPOSE = "decompose"
    RECLASSIFY = "reclassify"
    SAME = "same"
    DISMISS = "dismiss"


class ConflictJudge(StrEnum):
    RULE = "rule"
    MODEL = "model"
    PERSON = "person"


ALLOWED = {
    CollisionType.ISA_ISA: (
        ConflictDecision.DECOMPOSE,
        ConflictDecision.UPDATE,
        ConflictDecision.SAME,
        ConflictDecision.DISMISS,
    ),
    CollisionType.ISPART_ISPART: (ConflictDecision.UPDATE, ConflictDecision.SAME, ConflictDecision.DISMISS),
    CollisionType.MISCLASSIFICATION: (ConflictDecision.RECLASSIFY, ConflictDecision.DISMISS),
    CollisionType.CYCLE: (ConflictDecision.UPDATE, ConflictDecision.DISMISS),
    CollisionType.RETRACTION: (ConflictDecision.UPDATE, ConflictDecision.DISMISS),
}
"""What rules and models may decide for each collision. A person may decide anything that can be applied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictVerdict:
    """What was decided, by whom and why."""

    decision: str
    judge: ConflictJudge
    by: str
    existing_dimension: str | None = None
    new_dimension: str | None = None
    dimension: str | None = None
    reasoning: str = ""
    confidence: float | None = None
    model: str | None = None
    prompt_hash: str | None = None
    run: UUID | None = None
    texts: tuple[str, ...] = ()
    """Rewritten texts of two memories, if they are split."""
    against: int | None = None
    """The current parent when it was judged; if it has changed, the verdict is stale."""


async def decide_conflict(
    deps: WorldDeps,
    space: SpaceId,
    conflict: UUID,
    verdict: ConflictVerdict,
    *,
    settle_memory: SettleMemory | None = None,
) -> Conflict:
    """Apply a verdict. A person's also overrules an earlier decision."""
    async with open_change(deps, space, by=verdict.by) as change:
        item = await find_conflict(change.transaction, space, conflict)
        if item.status != PENDING:
            if verdict.judge is not ConflictJudge.PERSON:
                raise AlreadyDecided(f"The conflict is already {item.status}.", status=item.status)
            await _undo_in_transaction(change, item)
            item = await find_conflict(change.transaction, space, conflict)
        if item.about == "memory":
            await _decide_memory_conflict(change, item, verdict, settle=settle_memory or deps.settle_memory)
        else:
            await _decide_edge_conflict(change, item, verdict)
        return await find_conflict(change.transaction, space, conflict)


async def undo_conflict_decision(deps: WorldDeps, space: SpaceId, conflict: UUID, *, by: str) -> Conflict:
    """Restore the slots as before a decision, and reopen the conflict."""
    async with open_change(deps, space, by=by) as change:
        item = await find_conflict(change.transaction, space, conflict)
        if item.status == PENDING:
            raise Refused("This conflict is not decided.")
        await _undo_in_transaction(change, item)
        return await find_conflict(change.transaction, space, conflict)


async def _decide_edge_conflict(change: WorldChange, item: Conflict, verdict: ConflictVerdict) -> None:
    existing = await change.slot(item.require_concept_id(), item.require_dimension_id())
    standing = existing.parent_id if existing else None
    if standing != item.existing_parent_id or (
        verdict.against is not None and verdict.against != item.existing_parent_id
    ):
        raise Stale("Another edge stands there by now.", existing=existing.as_json() if existing else None)
    applied = await _apply(change, item, verdict, existing=existing)
    is_dismissed = verdict.decision == ConflictDecision.DISMISS
    resolution = _build_resolution(verdict, applied)
    await close_conflict(change, item.id, status=DISMISSED if is_dismissed else RESOLVED, resolution=resolution)
    change.log(WorldChangeKind.QUEUE, item.concept_id, item.dim_id)
    for concept, dim in applied.slots():
        await recheck_slot_conflicts(change, concept, dim)
    if not is_dismissed:
        await _confirm_if_not_common(change, item, verdict)


def _build_resolution(verdict: ConflictVerdict, applied: SlotChanges) -> dict[str, Any]:
    return {
        "decision": verdict.decision,
        "judge": verdict.judge.value,
        "model": verdict.model,
        "prompt_hash": verdict.prompt_hash,
        "reasoning": verdict.reasoning,
        "confidence": verdict.confidence,
        "run_id": str(verdict.run) if verdict.run else None,
        **applied.as_json(),
    }


async def _apply(
    change: WorldChange, item: Conflict, verdict: ConflictVerdict, *, existing: UrdEdge | None
) -> SlotChanges:
    match verdict.decision:
        case ConflictDecision.DISMISS:
            return SlotChanges()
        case ConflictDecision.UPDATE:
            return await _update(change, item, existing)
        case ConflictDecision.DECOMPOSE:
            return await _keep_both_edges(change, item, verdict, existing=existing)
        case ConflictDecision.RECLASSIFY:
            return await _move_misplaced_edge(change, item, verdict, existing=existing)
        case ConflictDecision.SAME:
            return await _same(change, item, existing)
    raise BadDecision(f"`{verdict.decision[:40]}` is no decision.")


async def _update(change: WorldChange, item: Conflict, existing: UrdEdge | None) -> SlotChanges:
    """Replace the old edge by the new one; a retraction only removes the old one."""
    slots = SlotChanges()
    if item.collision_type == CollisionType.CYCLE:
        closing = await _find_cycle_edge(change, item)
        await slots.take(change, closing, op=EdgeOp.REMOVE, conflict=item.id, reason="update")
    if existing is not None:
        op = EdgeOp.REMOVE if item.collision_type == CollisionType.RETRACTION else EdgeOp.REPLACE
        await slots.take(change, existing, op=op, conflict=item.id, reason="update")
    if item.collision_type != CollisionType.RETRACTION:
        await _put(change, slots, item, dim=item.require_dimension_id(), reason="update")
    entries = slots.as_json()
    await change.tell(
        "edge_replaced",
        f"concept:{item.concept_id}",
        before=entries["before"],
        after=entries["after"],
        reason="update",
        conflict=str(item.id),
    )
    return slots


async def _find_cycle_edge(change: WorldChange, item: Conflict) -> UrdEdge:
    """Find the edge through which the incoming one would close a cycle."""
    above = [
        item.require_incoming_parent_id(),
        *await change.chain(item.require_incoming_parent_id(), item.require_dimension_id()),
    ]
    if item.concept_id not in above[1:]:
        raise Stale("The cycle is no longer there.")
    below = above[above.index(item.require_concept_id(), 1) - 1]
    edge = await change.slot(below, item.require_dimension_id())
    assert edge is not None, "the chain was read under the same lock"
    return edge


async def _keep_both_edges(
    change: WorldChange, item: Conflict, verdict: ConflictVerdict, *, existing: UrdEdge | None
) -> SlotChanges:
    """Keep both edges, each in its own dimension."""
    names = parse_dimension_name(verdict.existing_dimension), parse_dimension_name(verdict.new_dimension)
    if existing is None or len(set(names)) == 1:
        raise BadDecision("To decompose, an edge must stand there and two different dimensions be named.")
    rows, _ = await ensure_concepts(change, names)
    kept, fresh = (rows[name] for name in names)
    await ensure_dimension_roots(change, [kept, fresh])
    return await _place_both_edges(change, item, existing, kept=kept.id, fresh=fresh.id, reason="decompose")


async def _place_both_edges(
    change: WorldChange, item: Conflict, existing: UrdEdge, *, kept: int, fresh: int, reason: str
) -> SlotChanges:
    """Move the current edge to the dimension `kept`, and put the incoming one into `fresh`."""
    slots = SlotChanges()
    await slots.take(change, existing, op=EdgeOp.MOVE, conflict=item.id, reason=reason)
    moved = existing._replace(dim_id=kept, last_confirmed=change.now)
    await _put_edge(change, slots, moved, conflict=item.id, reason=reason)
    await _copy_causes(change, moved, of=existing.dim_id)
    await _put(change, slots, item, dim=fresh, reason=reason)
    await change.tell(
        "edge_moved",
        f"concept:{existing.id}",
        before=existing.as_json(),
        after=moved.as_json(),
        reason=reason,
        conflict=str(item.id),
    )
    return slots


async def _move_misplaced_edge(
    change: WorldChange, item: Conflict, verdict: ConflictVerdict, *, existing: UrdEdge | None
) -> SlotChanges:
    """Move the misplaced edge to its proper dimension: the incoming one, or the current one if only its
    dimension is named."""
    moves_existing = existing is not None and verdict.existing_dimension and not verdict.dimension
    name = parse_dimension_name(verdict.existing_dimension if moves_existing else verdict.dimension)
    rows, _ = await ensure_concepts(change, [name])
    await ensure_dimension_roots(change, [rows[name]])
    dim = rows[name].id
    if existing is not None and moves_existing:
        return await _place_both_edges(
            change, item, existing, kept=dim, fresh=item.require_dimension_id(), reason="reclassify"
        )
    slots = SlotChanges()
    await _put(change, slots, item, dim=dim, reason="reclassify")
    return slots


async def _same(change: WorldChange, item: Conflict, existing: UrdEdge | None) -> SlotChanges:
    """Merge both parents as one thing with two names."""
    if existing is None or item.incoming_parent is None:
        raise BadDecision("No edge stands there that this could be the same as.")
    slots = SlotChanges(aliases=[item.incoming_parent])
    await add_alias(change, item.incoming_parent, existing.parent_id)
    origin = Origin(item.incoming_origin or Origin.JOB)
    moved = confidence_after_corroboration(existing.confidence, evidence=existing.evidence_count, origin=origin)
    await change.update_edge_values(
        existing._replace(
            confidence=moved,
            last_confirmed=change.now,
            evidence_count=existing.evidence_count + 1,
            person_stated=existing.person_stated or item.is_persons,
        )
    )
    return slots


async def _put(change: WorldChange, slots: SlotChanges, item: Conflict, *, dim: int, reason: str) -> None:
    """Put the incoming edge into a dimension."""
    edge = UrdEdge(
        id=item.require_concept_id(),
        parent_id=item.require_incoming_parent_id(),
        dim_id=dim,
        is_isa=bool(item.incoming_is_isa),
        confidence=item.incoming_confidence or 0.0,
        last_confirmed=change.now,
        source=EdgeSource.FESTINGER.value,
        origin=item.incoming_origin or Origin.JOB.value,
        person_stated=item.is_persons,
        created_at=change.now,
    )
    await _put_edge(change, slots, edge, conflict=item.id, reason=reason)
    await _copy_causes(change, edge, of=item.require_dimension_id())


async def _put_edge(change: WorldChange, slots: SlotChanges, edge: UrdEdge, *, conflict: UUID, reason: str) -> None:
    if edge.id == edge.dim_id:
        raise BadDecision("A concept cannot be placed within itself.")
    if await change.would_cycle(edge.id, edge.parent_id, edge.dim_id):
        raise BadDecision("That would close a cycle.")
    if not await slots.put(change, edge, conflict=conflict, reason=reason):
        raise BadDecision("Something else stands in that dimension already.")


async def _copy_causes(change: WorldChange, edge: UrdEdge, *, of: int) -> None:
    if edge.dim_id != of:
        await change.run("copy_causes", concept=edge.id, parent=edge.parent_id, dim=of, to_dim=edge.dim_id)


async def _confirm_if_not_common(change: WorldChange, item: Conflict, verdict: ConflictVerdict) -> None:
    rows, _ = await ensure_concepts(change, [item.concept or ""])
    concept = rows[item.concept or ""]
    is_common = change.deps.is_common(concept.token, change.terms.common_word_zipf)
    if not is_common or verdict.judge is ConflictJudge.PERSON:
        await mark_concept_confirmed(change, concept)


async def _decide_memory_conflict(
    change: WorldChange, item: Conflict, verdict: ConflictVerdict, *, settle: SettleMemory | None
) -> None:
    if settle is None:
        raise BadDecision("Nobody here can decide about memories.")
    kept = await settle(change.transaction, change.space, item, verdict)
    status = DISMISSED if verdict.decision == ConflictDecision.DISMISS else RESOLVED
    resolution = _build_resolution(verdict, SlotChanges()) | kept
    await close_conflict(change, item.id, status=status, resolution=resolution, about="memory")


async def _undo_in_transaction(change: WorldChange, item: Conflict) -> None:
    resolution = dict(item.resolution or {})
    if item.about == "memory":
        if change.deps.unsettle_memory is None:
            raise Refused("Nobody here can take back what was decided about memories.")
        await change.deps.unsettle_memory(change.transaction, change.space, item, change.by)
    else:
        await check_slots_unchanged(change, resolution.get("after", []))
        await _check_not_waiting_again(change, item)
        await restore_slots(change, resolution, conflict=item.id)
        await drop_aliases(change, resolution.get("aliases", []))
    undone = resolution | {"undone_by": change.by}
    await change.run("reopen_conflict", id=item.id, resolution=json.dumps(undone))
    if item.about == "edge":
        change.log(WorldChangeKind.QUEUE, item.concept_id, item.dim_id)
        await recheck_slot_conflicts(change, item.require_concept_id(), item.require_dimension_id())
    await change.tell("conflict_undone", f"conflict:{item.id}", conflict=str(item.id), about=item.about, by=change.by)


async def _check_not_waiting_again(change: WorldChange, item: Conflict) -> None:
    waiting = await change.all("pending_in_slot", concept=item.concept_id, dim=item.dim_id)
    if again := [row["id"] for row in waiting if row["incoming_parent_id"] == item.incoming_parent_id]:
        raise UndoBlocked("The same statement waits anew.", conflict=str(again[0]))


def parse_dimension_name(name: str | None) -> str:
    """Normalize a dimension as written by somebody into one token."""
    found = [token.text for token in tokenize(name or "")]
    if not found:
        raise BadDecision("A dimension must be named.")
    return "_".join(found)
