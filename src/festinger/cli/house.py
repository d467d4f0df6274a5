"""What stands behind the open port?

The keeper, who opens the store and tries again when it cannot be had, the pages, and the watch over the settings
file. It brings every room, so `porch` imports it only when the port already answers.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from festinger.app.keeper import Keeper
from festinger.app.tuning import tell_of_file_edits
from festinger.app.wiring import App, Start, open_app
from festinger.cli.porch import Plan
from festinger.proxy.attendant import Attendant
from festinger.proxy.door import ASGIApp
from festinger.proxy.health import check_upstreams
from festinger.proxy.mind import WorldMind
from festinger.seeing.checks import Check
from festinger.settings.watch import watch
from festinger.web.admin import admin


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    keeper: Keeper
    pages: ASGIApp
    attendant: Attendant

    async def live(self, stop: asyncio.Event) -> None:
        """Keep the store open and follow the settings file until `stop`."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.keeper.keep())
            group.create_task(watch(self.keeper.settings, stop=stop))
            await stop.wait()
            self.keeper.stop()


def built(plan: Plan) -> House:
    @asynccontextmanager
    async def opened() -> AsyncIterator[App]:
        start = Start(providers=True, workers=plan.workers)
        async with open_app(
            plan.settings, door="serve", progress=plan.say, start=start, tools=plan.tools
        ) as app:
            tell_of_file_edits(app)
            yield app

    async def more_checks() -> Sequence[Check]:
        return await check_upstreams(plan.upstream, plan.settings.now.proxy)

    keeper = Keeper(plan.settings, opened, more_checks=more_checks, closing=plan.closing)
    attendant = Attendant(
        WorldMind(lambda: keeper.app),
        clock=plan.tools.clock,
        new_id=plan.tools.new_id,
        settings=plan.settings.now.proxy,
    )
    return House(keeper=keeper, pages=admin(keeper), attendant=attendant)
