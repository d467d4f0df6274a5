"""Applies the planned changes of a night through the operations of `memory`, and takes a night back.

What is learned is learned first, each with a key, so that learning it again changes nothing. All else of a unit
happens in one transaction, together with the items that list it and the mark that the unit is done.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from uuid import UUID

from festinger.consolidation.ceilings import GOAL_LIKE, PlannedWeightChange, apply_safety_ceilings, find_band
from festinger.consolidation.context import NightContext
from festinger.consolidation.night import (
    NightDeps,
    NightItem,
    NightItemKind,
    NightStep,
    PlannedChange,
    Q,
    list_night_items,
)
from festinger.errors import NotFound, UndoBlocked
from festinger.ids import MemoryId, Origin, SpaceId
from festinger.memory.annotate import annotate
from festinger.memory.changes import (
    BeliefUpdate,
    MemoryRelation,
    add_links,
    adjust_belief,
    changes_of,
    lock_existing_memories,
    lock_memory,
)
from festinger.memory.confidence import Weight, reinforce_weight, weaken_weight
from festinger.memory.edit import archive_in_transaction, supersede
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.result import Learned
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import Kind, LearnAction, Memory, Status
from festinger.memory.query import MemoryCauses, load_causes
from festinger.memory.undo import undo_in_transaction
from festinger.observability.metrics import SAFETY_EVENTS
from festinger.proposals.detectors.patterns import build_identity_promotion, finding_to_suggestion
from festinger.proposals.sightings.intake import record_sighting_in_transaction
from festinger.store.pool import NestedStore, Transaction

STEP_BACK = 0.3
"""What an insight takes from the weight of each source, so that it surfaces before them."""
SOURCE = "consolidation"

Item = tuple[NightItemKind, UUID, UUID | None]
"""Kind, memory and change."""


async def apply_plan(context: NightContext, step: NightStep, key: str, plan: Sequence[PlannedChange]) -> None:
    """Apply the plan of a unit and mark it as done."""
    learned = {
        place: await _learn(context, f"{key}:{place}", change)
        for place, change in enumerate(plan)
        if change.kind is NightItemKind.LEARNED and not change.memory
    }
    deps = context.deps.memory
    unit = {"space": context.space, "night": context.night.id, "key": key, "step": step.value, "at": deps.clock()}
    async with deps.store.transaction() as transaction:
        items: list[Item] = []
        for place, change in enumerate(plan):
            items += await _apply(context, transaction, change, learned.get(place))
        for kind, memory, made in items:
            id_ = made or deps.new_uuid()
            await transaction.run(Q["put_item"], **unit, id=id_, kind=kind.value, memory=memory, change=made)
            context.counts[kind.value] += 1
        await context.write_unit(transaction, step.value, key)


async def _learn(context: NightContext, key: str, change: PlannedChange) -> Learned:
    request = LearnRequest(
        text=change.text,
        kind=change.text_kind,
        origin=Origin.JOB,
        source=SOURCE,
        derived_from=tuple(MemoryId(UUID(each)) for each in change.cites),
        by_model=True,
        shared=context.agent is None,
        # A tension only quotes what was learned already.
        asked=change.text_kind == Kind.TENSION,
        key=key,
        metadata=dict(change.notes),
    )
    return await learn(context.deps.memory, context.scope, request)


async def _apply(
    context: NightContext, transaction: Transaction, change: PlannedChange, learned: Learned | None
) -> list[Item]:
    if change.kind is NightItemKind.LEARNED:
        return await _apply_learned_change(context, transaction, change, learned)
    if change.kind is NightItemKind.ANNOTATED:
        return await _annotate(context, transaction, change)
    held = await lock_memory(transaction, context.space, UUID(change.memory))
    if held.status is not Status.ACTIVE or held.immutable:
        return []
    if change.kind is NightItemKind.REINFORCED:
        return await _reinforce(context, transaction, held, change)
    if change.kind is NightItemKind.PROPOSED:
        return await _propose(context, transaction, held, change)
    done = await archive_in_transaction(context.deps.memory, transaction, held, by=context.by, reason=change.reason)
    context.grow(-1)
    return [(NightItemKind.ARCHIVED, held.id, done.change)]


async def _apply_learned_change(
    context: NightContext, transaction: Transaction, change: PlannedChange, learned: Learned | None
) -> list[Item]:
    """List what was learned; its sources step back, and what it replaces is superseded."""
    if learned is not None and learned.memory is None:
        context.counts["refused"] += 1
        return []
    memory = learned.memory.id if learned and learned.memory else MemoryId(UUID(change.memory))
    # A night that was killed learns it again, and is told by the action alone that it made it.
    if learned is None or learned.action in (LearnAction.CONFIRMED, LearnAction.ECHOED):
        known = replace(change, kind=NightItemKind.CITED, memory=str(memory), notes={})
        return await _annotate(context, transaction, known)
    items: list[Item] = [(NightItemKind.LEARNED, memory, None)]
    items += [(NightItemKind.SUPERSEDED, learned.superseded[0], learned.change)] if learned.superseded else []
    context.counts["made"] += 1
    context.grow(1 - len(learned.superseded) - bool(change.replaces))
    if change.about:
        at = context.deps.memory.clock()
        await add_links(transaction, context.space, memory, MemoryRelation.ABOUT, to=[UUID(change.about)], at=at)
    if change.replaces:
        old, joined = UUID(change.replaces), replace(context.deps.memory, store=NestedStore(transaction))
        done = await supersede(joined, context.space, old, memory, by=context.by, reason=change.reason)
        items += [(NightItemKind.SUPERSEDED, old, done.change)] if done.change else []
    for source in sorted(change.cites) if change.text_kind == Kind.INSIGHT else ():
        held = await lock_memory(transaction, context.space, UUID(source))
        if not held.immutable and not (held.origin is Origin.PERSON and held.kind is Kind.FACT):
            wanted = weaken_weight(held.weight, STEP_BACK)
            made, _ = await _change_weight(context, transaction, held, wanted, reason="an insight says it")
            items += [(NightItemKind.WEAKENED, held.id, made)] if made else []
    return items


async def _annotate(context: NightContext, transaction: Transaction, change: PlannedChange) -> list[Item]:
    noted = {"reason": change.reason, "cites": [UUID(each) for each in change.cites], **change.notes}
    deps, id_ = context.deps.memory, UUID(change.memory)
    memory, made = await annotate(deps, transaction, context.space, id_, by=context.by, **noted)
    return [(change.kind, memory.id, made)] if made else []


async def _reinforce(
    context: NightContext, transaction: Transaction, held: Memory, change: PlannedChange
) -> list[Item]:
    """Raise a weight as far as the ceilings allow; the rest of the gain waits for the next night."""
    wanted = reinforce_weight(held.weight, change.gain, ceiling=held.weight_ceiling)
    made, allowed = await _change_weight(
        context, transaction, held, wanted, reason=change.reason, evidence=[UUID(each) for each in change.evidence]
    )
    if made and (band := find_band(allowed.center)) != find_band(held.weight.center):
        payload = {"memory": str(held.id), "band": band, "center": allowed.center}
        subject, outbox = f"memory:{held.id}", context.deps.memory.outbox
        await outbox.emit(transaction, "band_reached", space=context.space, subject=subject, payload=payload)
    if made and wanted.alpha > allowed.alpha:
        share = (wanted.alpha - allowed.alpha) / (wanted.alpha - held.weight_alpha)
        context.left_over.append(replace(change, gain=change.gain * share).as_json())
    return [(NightItemKind.REINFORCED, held.id, made)] if made else []


async def _change_weight(
    context: NightContext,
    transaction: Transaction,
    held: Memory,
    wanted: Weight,
    *,
    reason: str,
    evidence: Sequence[UUID] = (),
) -> tuple[UUID | None, Weight]:
    """Change a weight as far as the ceilings allow; return the change and the weight."""
    causes = (await load_causes(transaction, context.space, [held.id])).get(held.id, MemoryCauses())
    of = {"space": context.space, "agent": context.agent, "id": held.id, "least": GOAL_LIKE}
    raised = await transaction.one(Q["raised"], **of, by=context.by, since=context.night.started_at)
    action = PlannedWeightChange(
        before=held.weight,
        after=wanted,
        causes=causes.count,
        confidence=held.confidence,
        moved=held.weight.center - raised["center"],
        changes=raised["changes"],
        goals=tuple(raised["goals"]),
        nights=raised["nights"],
    )
    allowed, events = apply_safety_ceilings(action, context.shadow)
    for event in events:
        stopped = {"space": context.space, "night": context.night.id, "memory": held.id, **asdict(event)}
        new, at = context.deps.memory.new_uuid(), context.deps.memory.clock()
        await transaction.run(Q["put_safety_event"], id=new, at=at, **stopped)
        SAFETY_EVENTS.labels(event.ceiling.value).inc()
    if allowed == held.weight:
        return None, allowed
    effect = BeliefUpdate(memory=held.id, belief=replace(held.belief, weight=allowed))
    made = await adjust_belief(
        context.deps.memory, transaction, context.space, effect, by=context.by, reason=reason, evidence=evidence
    )
    return made, allowed


async def _propose(context: NightContext, transaction: Transaction, held: Memory, change: PlannedChange) -> list[Item]:
    """Ask a person whether a memory may become part of who the agent is, with its causes as sightings."""
    ids = [UUID(each) for each in change.evidence]
    causes = await transaction.all(Q["sightings_by_id"], space=context.space, ids=ids)
    for each in causes:
        found = build_identity_promotion(held.id, gain=change.gain, causes=len(causes), cause=each)
        await record_sighting_in_transaction(
            context.deps.proposals, transaction, context.space, finding_to_suggestion(found)
        )
    return [(NightItemKind.PROPOSED, held.id, None)]


async def undo_night(deps: NightDeps, space: SpaceId, night: UUID, *, by: str, item: UUID | None = None) -> int:
    """Take back everything that a night did, or one item of it, as one change; return how many items.

    With a memory that was learned, all goes that its unit did. Raises `NotFound` and `UndoBlocked`.
    """
    async with deps.store.transaction(patient=True) as transaction:
        items = await list_night_items(transaction, space, night)
        named = next((each for each in items if each.change == item), None)
        if item is not None and named is None:
            raise NotFound(f"Night `{night}` has no item `{item}`.")
        chosen = [each for each in items if not each.is_undone and each.kind is not NightItemKind.PROPOSED]
        if named is not None:
            unit = named.unit_key if named.kind is NightItemKind.LEARNED else None
            chosen = [each for each in chosen if each == named or each.unit_key == unit]
        await lock_existing_memories(transaction, space, [each.memory for each in chosen])
        for each in reversed(chosen):
            await _undo_item(deps, transaction, space, each, by=by, own={one.change for one in items})
        ids, at = [each.change for each in chosen], deps.memory.clock()
        await transaction.run(Q["mark_items_undone"], space=space, ids=ids, at=at, by=by)
        outbox, payload = deps.memory.outbox, {"night": str(night), "items": len(chosen), "by": by}
        await outbox.emit(transaction, "night_undone", space=space, subject=f"night:{night}", payload=payload)
    return len(chosen)


async def _undo_item(
    deps: NightDeps, transaction: Transaction, space: SpaceId, item: NightItem, *, by: str, own: set[UUID]
) -> None:
    if item.has_change:
        await undo_in_transaction(deps.memory, transaction, space, item.change, by=by)
        return
    held = (await lock_existing_memories(transaction, space, [item.memory])).get(MemoryId(item.memory))
    if held is None or not held.is_live:
        return
    changes = await changes_of(transaction, space, [held.id])
    later = [str(each.id) for each in changes if each.undone_at is None and each.id not in own]
    if later or held.cause_count > 1:
        raise UndoBlocked("Something was done since that stands on this.", changes=later)
    await archive_in_transaction(deps.memory, transaction, held, by=by, reason="the night was undone")
