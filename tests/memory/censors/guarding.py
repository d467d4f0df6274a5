"""Censors for tests: a memory with a watch, and the few words to make and set off a censor."""

from typing import Any

from tests.jobs.deps import drain, rows
from tests.memory.remembering import Mind

from festinger.events.catalogue import Event
from festinger.ids import MAIN_SPACE
from festinger.memory.censors.censor import Censor
from festinger.memory.censors.check import CensorCache, CensorCheckResult, run_censors
from festinger.memory.censors.edit import CensorRequest, add_censor, get_censor
from festinger.memory.censors.escalation import escalate_if_due, is_warning_trigger
from festinger.store.pool import Store, Transaction


class Guard:
    """A process that holds censors against texts; jobs that follow are done by `drain`."""

    def __init__(self, store: Store, **how: Any) -> None:
        self.store = store
        self.mind = Mind(store, **how)
        self.watch = CensorCache(deps=self.mind.deps)

        async def escalate(transaction: Transaction, event: Event) -> None:
            await escalate_if_due(self.mind.deps, transaction, event)

        self.mind.wired.outbox.subscribe("censor_triggered", "escalate_censor", escalate, wants=is_warning_trigger)

    async def add(self, rule: str = "", *, agent: str = "default", **more: Any) -> Censor:
        return await add_censor(self.watch, self.mind.place(agent=agent), CensorRequest(rule=rule, **more))

    async def check(self, text: str, *, agent: str = "default", **more: Any) -> CensorCheckResult:
        return await run_censors(self.watch, self.mind.place(agent=agent), text, **more)

    async def strike(self, text: str, times: int) -> None:
        """Set something off so often, and do what follows."""
        for _ in range(times):
            await self.check(text)
        await drain(self.mind.wired.jobs)
        self.watch.forget(MAIN_SPACE)

    async def now(self, censor: Censor) -> Censor:
        return await get_censor(self.mind.deps, MAIN_SPACE, censor.id)


async def triggers(store: Store) -> list[dict[str, Any]]:
    return await rows(store, "select * from censor_trigger order by seq")
