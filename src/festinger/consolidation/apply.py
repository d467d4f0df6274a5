"""Applies the planned changes of a night through the operations of `memory`, and takes a night back.

What is learned is learned first, each with a key, so that learning it again changes nothing. All else of a unit
happens in one transaction, together with the items that list it and the mark that the unit is done.
"""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from festinger.consolidation.context import NightContext
from festinger.consolidation.night import (
    NightDeps,
    NightItem,
    NightItemKind,
    NightOp,
    NightStep,
    PlannedChange,
    Q,
    list_items,
)
from festinger.errors import NotFound, UndoBlocked
from festinger.ids import AgentId, MemoryId, Origin, SessionId, SpaceId, cause
from festinger.memory.annotate import annotate
from festinger.memory.changes import (
    BeliefUpdate,
    adjust_belief,
    changes_of,
    find_memories,
    lock_existing_memories,
    lock_memory,
)
from festinger.memory.confidence import Weight, reinforce_weight, weaken_weight
from festinger.memory.edit import archive_in_transaction, supersede
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.result import Learned
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import Kind, Memory, Status
from festinger.memory.query import load_causes
from festinger.memory.undo import undo_in_transaction
from festinger.proposals.detectors.detector import finding_to_suggestion
from festinger.proposals.detectors.patterns import ConsolidationPattern, identity_finding
from festinger.proposals.sightings.intake import record_sighting_in
from festinger.store.pool import NestedStore, Transaction

STEP_BACK = 0.3
"""What an insight takes from the weight of each source, so that it surfaces before them."""
SOURCE = "consolidation"

Item = tuple[NightItemKind, UUID, UUID | None]
"""Kind, memory and change."""


async def apply_plan(context: NightContext, step: NightStep, key: str, plan: Sequence[PlannedChange]) -> None:
    """Apply the plan of a unit and mark it as done."""
    learned = {
        place: await _learn(context, key, place, change)
        for place, change in enumerate(plan)
        if change.op is NightOp.LEARN and change.same_as is None
    }
    deps = context.deps.memory
    async with deps.store.transaction() as transaction:
        items: list[Item] = []
        for place, change in enumerate(plan):
            items += await _apply(context, transaction, change, learned.get(place))
        for kind, memory, made in items:
            await transaction.run(
                Q["put_item"],
                space=context.space,
                id=made or deps.new_uuid(),
                night=context.night.id,
                key=key,
                step=step.value,
                kind=kind.value,
                memory=memory,
                change=made,
                at=deps.clock(),
            )
            context.counts[kind.value] += 1
        await context.finish_unit(transaction, step.value, key)


async def _learn(context: NightContext, key: str, place: int, change: PlannedChange) -> Learned:
    request = LearnRequest(
        text=change.text,
        kind=change.kind,
        origin=Origin.JOB,
        source=SOURCE,
        derived_from=tuple(MemoryId(UUID(each)) for each in change.cites),
        by_model=True,
        shared=context.agent is None,
        asked=False,
        key=f"{key}:{place}",
        metadata=dict(change.notes),
    )
    return await learn(context.deps.memory, context.scope, request)


async def _apply(
    context: NightContext, transaction: Transaction, change: PlannedChange, learned: Learned | None
) -> list[Item]:
    match change.op:
        case NightOp.LEARN:
            return await _follow_up(context, transaction, change, learned)
        case NightOp.ANNOTATE:
            return await _annotate(context, transaction, change, NightItemKind.ANNOTATED)
        case NightOp.REINFORCE:
            return await _reinforce(context, transaction, change)
        case NightOp.ARCHIVE:
            return await _archive(context, transaction, change)
        case NightOp.PROPOSE:
            return await _propose(context, transaction, change)


async def _follow_up(
    context: NightContext, transaction: Transaction, change: PlannedChange, learned: Learned | None
) -> list[Item]:
    """List what was learned; its sources step back, and what it replaces is superseded."""
    if learned is not None and learned.memory is None:
        context.counts["refused"] += 1
        return []
    if learned is None or not learned.created:
        known = change.same_as or str(learned.memory.id if learned and learned.memory else "")
        return await _annotate(context, transaction, replace(change, memory=known, notes={}), NightItemKind.CITED)
    assert learned.memory is not None, "what was created is there"
    memory = learned.memory.id
    items: list[Item] = [(NightItemKind.LEARNED, memory, None)]
    context.counts["made"] += 1
    context.derived += 1
    if change.replaces:
        joined = replace(context.deps.memory, store=NestedStore(transaction))
        done = await supersede(
            joined, context.space, UUID(change.replaces), memory, by=context.by, reason=change.reason
        )
        items += [(NightItemKind.SUPERSEDED, UUID(change.replaces), done.change)] if done.change else []
    if change.kind == Kind.INSIGHT:
        for source in sorted(change.cites):
            items += await _step_back(context, transaction, UUID(source))
    return items


async def _annotate(
    context: NightContext, transaction: Transaction, change: PlannedChange, kind: NightItemKind
) -> list[Item]:
    memory, made = await annotate(
        context.deps.memory,
        transaction,
        context.space,
        UUID(change.memory or ""),
        by=context.by,
        reason=change.reason,
        cites=[UUID(each) for each in change.cites],
        **change.notes,
    )
    return [(kind, memory.id, made)] if made else []


async def _step_back(context: NightContext, transaction: Transaction, source: UUID) -> list[Item]:
    held = await lock_memory(transaction, context.space, source)
    if held.immutable or (held.origin is Origin.PERSON and held.kind is Kind.FACT):
        return []
    weight = weaken_weight(held.weight, STEP_BACK)
    return await _move(context, transaction, held, weight, kind=NightItemKind.WEAKENED, reason="an insight says it")


async def _reinforce(context: NightContext, transaction: Transaction, change: PlannedChange) -> list[Item]:
    """Raise a weight as far as the ceilings allow; the rest of the gain waits for the next night."""
    held = await lock_memory(transaction, context.space, UUID(change.memory or ""))
    if held.status is not Status.ACTIVE:
        return []
    wanted = reinforce_weight(held.weight, change.gain, immutable=held.immutable, ceiling=held.weight_ceiling)
    evidence = [UUID(each) for each in change.evidence]
    items = await _move(
        context,
        transaction,
        held,
        wanted,
        kind=NightItemKind.REINFORCED,
        reason=change.reason,
        evidence=evidence,
        repeats=change.repeats,
    )
    gained = context.moved.get(held.id, (0.0, held.weight.center))[1] if items else held.weight.center
    if wanted.center - gained > 1e-6:
        share = (gained - held.weight.center) / (wanted.center - held.weight.center)
        left = {"memory": str(held.id), "gain": change.gain * (1 - share), "repeats": change.repeats + 1}
        context.left_over.append(left | {"evidence": list(change.evidence)})
    return items


async def _move(
    context: NightContext,
    transaction: Transaction,
    held: Memory,
    wanted: Weight,
    *,
    kind: NightItemKind,
    reason: str,
    evidence: Sequence[UUID] = (),
    repeats: int = 0,
) -> list[Item]:
    causes = (await load_causes(transaction, context.space, [held.id])).get(held.id)
    allowed = context.limit(
        held.id, held.weight, wanted, causes=causes.count if causes else 0, confidence=held.confidence, repeats=repeats
    )
    if allowed == held.weight:
        return []
    context.note_move(held.id, held.weight, allowed)
    effect = BeliefUpdate(memory=held.id, belief=replace(held.belief, weight=allowed))
    made = await adjust_belief(
        context.deps.memory, transaction, context.space, effect, by=context.by, reason=reason, evidence=evidence
    )
    return [(kind, held.id, made)]


async def _archive(context: NightContext, transaction: Transaction, change: PlannedChange) -> list[Item]:
    held = await lock_memory(transaction, context.space, UUID(change.memory or ""))
    if held.status is not Status.ACTIVE or held.immutable:
        return []
    done = await archive_in_transaction(context.deps.memory, transaction, held, by=context.by, reason=change.reason)
    return [(NightItemKind.ARCHIVED, held.id, done.change)]


async def _propose(context: NightContext, transaction: Transaction, change: PlannedChange) -> list[Item]:
    """Ask a person whether a memory may become part of who the agent is, with its causes as sightings."""
    deps, memory = context.deps, MemoryId(UUID(change.memory or ""))
    held = await lock_memory(transaction, context.space, memory)
    pattern = ConsolidationPattern(
        memory=memory,
        weight=held.weight,
        gain=change.gain,
        at=deps.memory.clock(),
        run=str(context.night.id),
        agent=AgentId(context.night.agent_id) if context.night.agent_id else None,
        episodes=change.evidence,
    )
    asked = finding_to_suggestion(identity_finding(pattern))
    rows = await transaction.all(
        Q["sightings_by_id"], space=context.space, ids=[UUID(each) for each in change.evidence]
    )
    for row in rows:
        because = cause(
            agent=AgentId(row["agent_id"]), session=SessionId(row["session_id"]), origin=Origin.JOB, at=row["at"]
        )
        source = f"{SOURCE}:{memory}:{row['id']}"
        said = replace(asked, cause=because, at=row["at"], source=source)
        await record_sighting_in(deps.proposals, transaction, context.space, said)
    return [(NightItemKind.PROPOSED, memory, None)]


async def undo_night(deps: NightDeps, space: SpaceId, night: UUID, *, by: str, item: UUID | None = None) -> int:
    """Take back everything that a night did, or one item of it, as one change; return how many items.

    With a memory that was learned, all goes that its unit did. Raises `NotFound` and `UndoBlocked`.
    """
    async with deps.store.transaction(patient=True) as transaction:
        items = await list_items(transaction, space, night)
        chosen = [each for each in items if each.undone_at is None and each.kind is not NightItemKind.PROPOSED]
        if item is not None:
            named = next((each for each in items if each.id == item), None)
            if named is None:
                raise NotFound(f"Night `{night}` has no item `{item}`.")
            chosen = [each for each in chosen if each.id == item or _goes_with(each, named)]
        await lock_existing_memories(transaction, space, [each.memory_id for each in chosen])
        for each in reversed(chosen):
            await _undo_item(deps, transaction, space, each, by=by, mine={one.change_id for one in items})
        await transaction.run(
            Q["mark_items_undone"], space=space, ids=[each.id for each in chosen], at=deps.memory.clock(), by=by
        )
        await deps.memory.outbox.emit(
            transaction,
            "night_undone",
            space=space,
            subject=f"night:{night}",
            payload={"night": str(night), "items": len(chosen), "by": by},
        )
    return len(chosen)


def _goes_with(item: NightItem, named: NightItem) -> bool:
    return named.kind is NightItemKind.LEARNED and item.unit_key == named.unit_key


async def _undo_item(
    deps: NightDeps, transaction: Transaction, space: SpaceId, item: NightItem, *, by: str, mine: set[UUID | None]
) -> None:
    if item.change_id is not None:
        await undo_in_transaction(deps.memory, transaction, space, item.change_id, by=by)
        return
    held = (await find_memories(transaction, space, [item.memory_id])).get(MemoryId(item.memory_id))
    if held is None or not held.is_live:
        return
    later = [
        each
        for each in await changes_of(transaction, space, [held.id])
        if each.undone_at is None and each.id not in mine
    ]
    if later or held.cause_count > 1:
        raise UndoBlocked("Something was done since that stands on this.", changes=[str(each.id) for each in later])
    await archive_in_transaction(deps.memory, transaction, held, by=by, reason="the night was undone")
