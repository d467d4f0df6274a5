"""What stands behind the open port?

The keeper, who opens the store and tries again when it cannot be had, the pages, and the watch over the settings
file. It brings every room, so `porch` imports it only when the port already answers.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass

from festinger.cli.early_server import Plan
from festinger.errors import StoreDown
from festinger.ids import MAIN_SPACE
from festinger.memory.deps import Terms
from festinger.observability.checks import Check
from festinger.proxy.app import ASGIApp
from festinger.proxy.capture.queue import Writer
from festinger.proxy.capture.recorder import StoredChronicle
from festinger.proxy.capture.spool import Spool
from festinger.proxy.context.build import Noting
from festinger.proxy.context.edit import Modelfiles
from festinger.proxy.context.fetch import InTime, WorldMind
from festinger.proxy.context.memories import StoredMemories, restating
from festinger.proxy.health import check_capture, check_served, check_steadiness, check_upstreams
from festinger.proxy.pipeline import Attendant, Chronicle
from festinger.proxy.statements import StoredLearner
from festinger.runtime.app import App, Start, open_app
from festinger.runtime.environment import announced, home_of
from festinger.runtime.lifecycle import Background
from festinger.runtime.settings import tell_of_file_edits
from festinger.runtime.supervisor import Keeper
from festinger.runtime.world import warm
from festinger.settings.watch import watch
from festinger.store.paths import Layout
from festinger.web.app import admin


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    keeper: Keeper
    pages: ASGIApp
    attendant: Attendant
    beside: Background
    """What the door does beside its requests."""
    chronicle: Chronicle
    writer: Writer
    learner: StoredLearner

    def serving(self) -> AbstractContextManager[None]:
        """While there is work with a request: what runs beside it waits."""
        return nullcontext() if self.keeper.app is None else self.keeper.app.jobs.courtesy.serving()

    async def live(self, stop: asyncio.Event) -> None:
        """Keep the store open and follow the settings file until `stop`."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.keeper.keep())
            group.create_task(watch(self.keeper.settings, stop=stop))
            writing = group.create_task(self.writer.run())
            await stop.wait()
            writing.cancel()
            await asyncio.wait({writing})
            # What was said is written before the store closes, or spooled.
            await self.writer.finish()
            self.keeper.stop()
        await self.beside.stop()


@asynccontextmanager
async def _open(plan: Plan) -> AsyncIterator[App]:
    """The app of a server; commands find the server while it is open."""
    start = Start(providers=True, workers=plan.workers)
    async with open_app(plan.settings, door="serve", progress=plan.say, start=start, tools=plan.tools) as app:
        tell_of_file_edits(app)
        warm(app, MAIN_SPACE)
        with announced(app.home, plan.local):
            yield app


def built(plan: Plan) -> House:
    async def more_checks() -> Sequence[Check]:
        checks = [
            *await check_upstreams(plan.upstream, plan.settings.now.proxy),
            *check_capture(writer),
            *check_steadiness(),
        ]
        if keeper.app is not None:
            with suppress(StoreDown):  # that it is away is told already
                checks.append(await check_served(keeper.app.store, now=plan.tools.clock()))
        return checks

    keeper = Keeper(
        plan.settings,
        lambda: _open(plan),
        more_checks=more_checks,
        closing=plan.closing,
        local=plan.local,
        disk_fault=lambda: writer.disk_fault,
    )
    mind, beside = WorldMind(lambda: keeper.app), Background()
    modelfiles = Modelfiles(plan.upstream, beside=beside)
    learner = StoredLearner(lambda: keeper.app, beside=beside)
    memories = StoredMemories(lambda: keeper.app, turns=learner)
    noting = Noting(
        InTime(mind, memories=memories, beside=beside),
        new_id=plan.tools.new_id,
        restate=restating(lambda: keeper.app),
        modelfile=modelfiles.find,
    )
    writer = _writer(plan, lambda: keeper.app)
    chronicle = StoredChronicle(
        lambda: keeper.app, writer, clock=plan.tools.clock, settings=lambda: plan.settings.now.proxy
    )
    attendant = Attendant(
        mind,
        clock=plan.tools.clock,
        new_id=plan.tools.new_id,
        settings=plan.settings.now.proxy,
        recount=chronicle.happened,
        modelfile=modelfiles.find,
        chronicle=chronicle,
        noting=noting,
        learner=learner,
    )
    keeper.loops = attendant.guard
    return House(
        keeper=keeper,
        pages=admin(keeper),
        attendant=attendant,
        beside=beside,
        chronicle=chronicle,
        writer=writer,
        learner=learner,
    )


def _writer(plan: Plan, app: Callable[[], App | None]) -> Writer:
    return Writer(
        app,
        Spool(Layout(home=home_of(plan.settings)).spool, name=str(plan.tools.new_id())),
        settings=lambda: plan.settings.now.proxy,
        stopwatch=plan.tools.stopwatch,
        redact=lambda space: Terms(memory=plan.settings.for_space(space).memory).redact,
    )
