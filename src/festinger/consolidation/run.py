"""Runs a night: seven steps of units, each planned, stored and then applied.

One failing unit does not stop the others. Beyond its limits a night begins nothing new; what is left comes first
next time, because its keys are not done. A dry run plans and applies nothing.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from uuid import UUID

from festinger.consolidation.apply import apply_plan
from festinger.consolidation.ceilings import Ceiling, SafetyEvent, check_coherence, check_entropy, is_enforced
from festinger.consolidation.context import LimitReachedError, NightContext, NightUnit, UnitWaitsError, log
from festinger.consolidation.night import (
    SHARED,
    Night,
    NightDeps,
    NightStep,
    PlannedChange,
    Q,
    find_night,
    planned_from_json,
    scope_of_night,
)
from festinger.consolidation.promote import promote_units
from festinger.consolidation.reconsider import reconsider_units
from festinger.consolidation.reflect import reflect_units
from festinger.consolidation.rewrite import rewrite_units
from festinger.consolidation.survey import last_coherence, survey_store
from festinger.consolidation.tensions import tension_units
from festinger.errors import FestingerError, StoreDown
from festinger.ids import SpaceId
from festinger.observability.metrics import NIGHTS, SAFETY_EVENTS
from festinger.retrieval.agent_blend import learn_blends

Report = Callable[[int, int, str], Awaitable[None]]
"""Receives how many steps are done, of how many, and the present one."""

UNITS: Mapping[NightStep, Callable[[NightContext], AsyncIterator[NightUnit]]] = {
    NightStep.REFLECT: reflect_units,
    NightStep.TENSIONS: tension_units,
    NightStep.REWRITE: rewrite_units,
    NightStep.PROMOTE: promote_units,
    NightStep.RECONSIDER: reconsider_units,
}


async def null_report(_done: int, _total: int, _note: str) -> None:
    """For callers that show no progress."""


async def run_night(deps: NightDeps, space: SpaceId, night: UUID, *, report: Report = null_report) -> Night:
    """Run a night to its end, or go on with one that was killed; one that is over stays as it is."""
    row = await deps.store.maybe(Q["mark_night_running"], space=space, id=night)
    if row is None:
        return await find_night(deps, space, night)
    context = await _open(deps, space, await find_night(deps, space, night))
    error = None
    try:
        await _run_steps(context, report)
    except StoreDown:
        raise
    except FestingerError as failure:
        error = failure.message
        log.warning("night failed", night=str(night), why=error)
    await _finish(context, error)
    return await find_night(deps, space, night)


async def _open(deps: NightDeps, space: SpaceId, night: Night) -> NightContext:
    terms = deps.terms(space)
    candidates = await deps.store.value(Q["nights_with_candidates"], space=space, agent=night.agent_id)
    return NightContext(
        deps=deps,
        space=space,
        night=night,
        scope=scope_of_night(space, night.agent_id),
        model=await deps.writer(space),
        terms=terms,
        until=deps.memory.stopwatch() + terms.max_seconds,
        enforced={
            ceiling: is_enforced(ceiling, terms.ceiling_mode(ceiling.value), nights=candidates) for ceiling in Ceiling
        },
    )


async def _run_steps(context: NightContext, report: Report) -> None:
    before = await last_coherence(context)
    await survey_store(context)
    wanted = [step for step in UNITS if context.night.only_step in ("", step.value)]
    for done, step in enumerate(wanted):
        await report(done, len(wanted), step.value)
        await context.deps.store.run(Q["enter_step"], space=context.space, id=context.night.id, step=step.value)
        async for unit in UNITS[step](context):
            await context.deps.yield_turn()
            await _run_unit(context, step, unit)
    if (
        context.night.agent_id == SHARED
        and context.night.only_step in ("", NightStep.TUNE)
        and not context.night.dry_run
    ):
        context.counts["tuned"] += len(await learn_blends(context.deps.retrieval, context.space))
    _take_readings(context, before)


async def _run_unit(context: NightContext, step: NightStep, unit: NightUnit) -> None:
    """Plan and apply one unit unless it is done. An error is counted and stops no other unit."""
    row = await context.deps.store.maybe(Q["find_unit"], space=context.space, key=unit.key)
    if row is not None and row["is_done"]:
        return
    try:
        if row is not None and row["plan"] is not None:
            plan: Sequence[PlannedChange] = [planned_from_json(each) for each in row["plan"]]
        else:
            context.check_limits(unit)
            plan = await unit.plan()
            if context.night.dry_run:
                context.preview += [each.as_json() for each in plan]
                context.counts["planned"] += len(plan)
                return
            await context.save_plan(step.value, unit.key, [each.as_json() for each in plan])
        await apply_plan(context, step, unit.key, plan)
    except LimitReachedError:
        context.counts["left_over"] += 1
    except UnitWaitsError:
        context.counts["waiting"] += 1
    except StoreDown:
        raise
    except FestingerError as error:
        context.counts["failed"] += 1
        log.warning("unit of a night failed", unit=unit.key, error=error.name)


def _take_readings(context: NightContext, before: float | None) -> None:
    """Note where the moved centers crowd, or coherence fell; both only warn."""
    readings = {
        Ceiling.ENTROPY: check_entropy([center for _, center in context.moved.values()]),
        Ceiling.COHERENCE: check_coherence(before, context.survey.get("coherence", 1.0)),
    }
    for ceiling, (passed, reason) in readings.items():
        if not passed:
            event = SafetyEvent(ceiling=ceiling, enforced=context.enforced[ceiling], reason=reason)
            context.events.append((context.night.id, event))


async def _finish(context: NightContext, error: str | None) -> None:
    deps, night = context.deps, context.night
    counts = {name: number for name, number in sorted(context.counts.items()) if number}
    async with deps.store.transaction() as transaction:
        await transaction.run(
            Q["finish_night"],
            space=context.space,
            id=night.id,
            state="failed" if error else "done",
            counts=json.dumps(counts),
            survey=json.dumps(context.survey),
            preview=json.dumps(context.preview),
            left_over=json.dumps(context.left_over),
            model_calls=context.calls,
            cost_usd=context.cost.total,
            at=deps.memory.clock(),
            error=error,
        )
        if not night.dry_run:
            await transaction.run_many(Q["put_safety_event"], [_event_row(context, *each) for each in context.events])
        await deps.memory.outbox.emit(
            transaction,
            "night_finished",
            space=context.space,
            subject=f"night:{night.id}",
            payload={"night": str(night.id), "agent": night.agent_id, "dry_run": night.dry_run, "counts": counts},
        )
    for _, event in context.events:
        SAFETY_EVENTS.labels(event.ceiling.value).inc()
    NIGHTS.labels("failed" if error else "done").inc()
    log.info("night finished", space=context.space, night=str(night.id), **counts)


def _event_row(context: NightContext, memory: UUID, event: SafetyEvent) -> dict[str, object]:
    return {
        "space": context.space,
        "id": context.deps.memory.new_uuid(),
        "at": context.deps.memory.clock(),
        "ceiling": event.ceiling.value,
        "enforced": event.enforced,
        "memory": None if memory == context.night.id else memory,
        "wanted": event.wanted,
        "allowed": event.allowed,
        "reason": event.reason,
        "night": context.night.id,
    }
