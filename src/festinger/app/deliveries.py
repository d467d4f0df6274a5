"""How do events become work?

Events and jobs know nothing of each other; here they are joined. Each delivery of an event is a job, inserted
in the transaction of the change; a job that is given up is told as an event, in the transaction that gives it
up.
"""

from collections.abc import Sequence

from festinger.app.tools import Tools
from festinger.events.event import Delivery
from festinger.events.outbox import Outbox, abandon, bury, deliver
from festinger.ids import MAIN_SPACE, SpaceId
from festinger.jobs.attempt import Redact, Setting
from festinger.jobs.model import End, Ending, Priority, Run
from festinger.jobs.queue import Asked, Jobs
from festinger.store.pool import Store, Transaction

DELIVER = "deliver_event"


class Deliveries:
    """An outbox whose deliveries are jobs, and jobs whose deaths are events."""

    def __init__(self, store: Store, tools: Tools, *, setting: Setting, redact: Redact) -> None:
        self._store = store
        self._clock = tools.clock
        self.outbox = Outbox(clock=tools.clock, new_id=tools.new_id, deliver=self._ask)
        self.jobs = Jobs(
            store,
            clock=tools.clock,
            stopwatch=tools.stopwatch,
            chance=tools.chance,
            setting=setting,
            redact=redact,
            watch=self._ended,
        )
        self.jobs.register(DELIVER, self._deliver)

    async def _ask(self, transaction: Transaction, deliveries: Sequence[Delivery]) -> None:
        asked = [
            Asked(
                queue=delivery.queue,
                lock=delivery.lock,
                priority=Priority.NEW_STATEMENT if delivery.is_first else Priority.USUAL,
                ids={
                    "space": delivery.space,
                    "event": str(delivery.event),
                    "subscriber": delivery.subscriber,
                },
            )
            for delivery in deliveries
        ]
        await self.jobs.defer_all(transaction, DELIVER, asked)

    async def _deliver(self, _run: Run, *, space: str, event: str, subscriber: str) -> None:
        await deliver(self._store, self.outbox, space=space, event=event, subscriber=subscriber)

    async def _ended(self, transaction: Transaction, ending: Ending) -> None:
        if ending.name != DELIVER:
            await self._tell_of(transaction, ending)
        elif ending.end is End.DEAD:
            await bury(transaction, self.outbox, **ending.ids, error=ending.text)
        else:
            await abandon(transaction, **ending.ids, note=ending.text, now=self._clock())

    async def _tell_of(self, transaction: Transaction, ending: Ending) -> None:
        if ending.end is End.DEAD:
            await self.outbox.emit(
                transaction,
                "job_dead",
                space=SpaceId(ending.ids.get("space", MAIN_SPACE)),
                subject=f"job:{ending.name}",
                payload={"job": ending.job, "name": ending.name, "error": ending.error},
            )
