"""Runs a night: steps of units, each planned, stored and then applied.

One failing unit does not stop the others. Beyond its limits a night begins nothing new; what is left comes first
next time, because its keys are not done. A dry run plans and applies nothing.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from uuid import UUID

from festinger.consolidation.apply import apply_plan
from festinger.consolidation.ceilings import find_shadow_ceilings
from festinger.consolidation.context import NightContext, NightUnit, UnitPostponedError, log
from festinger.consolidation.night import NightDeps, NightStep, Q, find_night, planned_from_json
from festinger.consolidation.promote import promotion_units
from festinger.consolidation.reflect import reconsideration_units, reflection_units, short_form_units
from festinger.consolidation.tensions import tension_units
from festinger.errors import FestingerError, StoreDown
from festinger.ids import SpaceId
from festinger.observability.metrics import NIGHTS

Report = Callable[[int, int, str], Awaitable[None]]
"""Receives how many steps are done, of how many, and the present one."""

UNITS: Mapping[NightStep, Callable[[NightContext], AsyncIterator[NightUnit]]] = {
    # First: what is put away here may be told anew in the same night, so that a second one finds nothing to do.
    NightStep.RECONSIDER: reconsideration_units,
    NightStep.REFLECT: reflection_units,
    NightStep.TENSIONS: tension_units,
    NightStep.REWRITE: short_form_units,
    NightStep.PROMOTE: promotion_units,
}
MOST_GROUPS = 20
"""Groups that a night shows."""


async def run_night(deps: NightDeps, space: SpaceId, night: UUID, *, report: Report | None = None) -> None:
    """Run a night to its end, or go on with one that was killed; one that is over, or runs elsewhere, stays as it is."""
    async with deps.store.locked(Q["try_lock_night"], space=space, id=night) as held:
        if held and await deps.store.maybe(Q["mark_night_running"], space=space, id=night) is not None:
            begun, model = await find_night(deps, space, night), await deps.writer(space)
            await _run(NightContext(deps=deps, space=space, night=begun, model=model), report)


async def _run(context: NightContext, report: Report | None) -> None:
    error = None
    try:
        await _run_steps(context, report)
    except StoreDown:
        raise
    except FestingerError as failure:
        error = failure.message
        log.warning("night failed", night=str(context.night.id), why=error)
    await _finish(context, error)


async def _run_steps(context: NightContext, report: Report | None) -> None:
    await _survey(context)
    night, only = context.night, context.night.only_step
    wanted = [step for step in UNITS if only in ("", step.value)]
    for done, step in enumerate(wanted):
        if report is not None:
            await report(done, len(wanted), step.value)
        await context.deps.store.run(Q["enter_step"], space=context.space, id=night.id, step=step.value)
        async for unit in UNITS[step](context):
            await context.deps.yield_turn()
            await _run_unit(context, step, unit)


async def _survey(context: NightContext) -> None:
    """Take the numbers of the night's memories; later steps and the console read them."""
    [row] = await context.rows("survey")
    groups = await context.rows("groups", covered=None, asked=[], limit=MOST_GROUPS)
    context.active, context.derived = row["active"], row["derived"]
    terms = context.terms
    context.shadow = find_shadow_ceilings(terms.shadow, terms.enforce, nights=row["promoting_nights"])
    shown = [{"members": [str(each) for each in group["members"]], "causes": group["causes"]} for group in groups]
    context.survey = context.survey or {**row, "groups": shown, "model": context.model.name if context.model else ""}


async def _run_unit(context: NightContext, step: NightStep, unit: NightUnit) -> None:
    """Plan and apply one unit unless it is done. An error is counted and stops no other unit."""
    row = await context.deps.store.maybe(Q["find_unit"], space=context.space, key=unit.key)
    if row is not None and row["is_done"]:
        return
    try:
        if row is not None:
            plan = [planned_from_json(each) for each in row["plan"]]
        elif not context.has_room(unit):
            context.counts["left_over"] += 1
            return
        else:
            plan = list(await unit.plan() if unit.plan else unit.known)
            if context.night.dry_run:
                known = {each["text"] for each in context.preview} - {""}
                context.preview += [each.as_json() for each in plan if each.text not in known]
                return
            async with context.deps.store.transaction() as transaction:
                await context.write_unit(transaction, step.value, unit.key, [each.as_json() for each in plan])
        await apply_plan(context, step, unit.key, plan)
    except UnitPostponedError:
        context.counts["left_over"] += 1
    except StoreDown:
        raise
    except FestingerError as error:
        context.counts["failed"] += 1
        log.warning("unit of a night failed", unit=unit.key, error=error.name)


async def _finish(context: NightContext, error: str | None) -> None:
    deps, night, state, counts = context.deps, context.night, "failed" if error else "done", +context.counts
    end = {"state": state, "preview": json.dumps(context.preview), "at": deps.memory.clock(), "error": error}
    space, subject = context.space, f"night:{night.id}"
    async with deps.store.transaction() as transaction:
        await context.keep(transaction)
        await transaction.run(Q["finish_night"], space=space, id=night.id, **end)
        payload = {"night": str(night.id), "agent": night.agent, "dry_run": night.dry_run, "counts": counts}
        await deps.memory.outbox.emit(transaction, "night_finished", space=space, subject=subject, payload=payload)
    NIGHTS.labels(state).inc()
    log.info("night finished", space=space, night=str(night.id), **counts)
