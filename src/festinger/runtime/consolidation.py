"""Wires consolidation into the app: its dependencies, nightly runs and the light tick.

Nights are jobs, one at a time per agent and for the shared memories. They start on the schedule of the settings if
something is new, or from the light tick if what is new is important enough.
"""

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from festinger.consolidation.night import SHARED, NightDeps, begin_night, find_due_agents
from festinger.consolidation.run import run_night
from festinger.errors import AlreadyRunning
from festinger.ids import SpaceId
from festinger.jobs.model import JobRun, Queue
from festinger.llm.model import ModelPurpose

if TYPE_CHECKING:
    from festinger.runtime.app import App

DEEP_RUN = "deep_run"
EACH_TEN_MINUTES = "*/10 * * * *"
NIGHT_LIMIT = timedelta(minutes=30)


def build_night_deps(app: "App") -> NightDeps:
    return NightDeps(
        memory=app.memory.deps,
        retrieval=app.recall.deps,
        proposals=app.inbox.deps,
        terms=lambda space: app.settings.for_space(space).consolidation,
        writer=app.model_for(ModelPurpose.WRITE),
        yield_turn=app.jobs.courtesy.turn,
    )


def register_night_jobs(app: "App", deps: NightDeps) -> None:

    async def consolidate(_run: JobRun) -> None:
        for space in app.directory.ids():
            await start_due_nights(app, space, trigger="schedule")

    async def deep_run(run: JobRun, *, space: str, night: str) -> None:
        await run_night(deps, SpaceId(space), UUID(night), report=run.report)

    async def light_tick(_run: JobRun) -> None:
        for space in app.directory.ids():
            await start_due_nights(app, space, trigger="importance", importance=deps.terms(space).importance)

    app.jobs.register("consolidate", consolidate, queue=Queue.SLEEP, schedule="consolidation.schedule")
    app.jobs.register(DEEP_RUN, deep_run, queue=Queue.SLEEP, limit=NIGHT_LIMIT, low_value=True)
    app.jobs.register("light_tick", light_tick, queue=Queue.SLEEP, schedule=EACH_TEN_MINUTES, low_value=True)


async def start_due_nights(app: "App", space: SpaceId, *, trigger: str, importance: float | None = None) -> None:
    for agent in await find_due_agents(app.nights, space, importance=importance):
        with suppress(AlreadyRunning):
            await start_night(app, space, agent=agent, trigger=trigger)


async def start_night(app: "App", space: SpaceId, *, agent: str = SHARED, **more: Any) -> UUID:
    """Queue a night, with the parameters of `begin_night`. Raises `AlreadyRunning`."""
    async with app.store.transaction() as transaction:
        night = await begin_night(app.nights, transaction, space, agent=agent, **more)
        await app.jobs.defer(transaction, DEEP_RUN, lock=f"night:{space}:{agent}", space=space, night=str(night))
    return night
