"""Events and jobs joined as the application joins them: each knows nothing of the other."""

import random
from collections.abc import Sequence
from itertools import count
from typing import Any

from tests.jobs.deps import Hands, ask, make_jobs, rows, run_sql

from festinger.events.catalogue import Delivery
from festinger.events.outbox import Outbox, deliver_event, drop_delivery, mark_delivery_dead
from festinger.ids import id_maker
from festinger.jobs.model import EndedJob, JobEndState, JobRun
from festinger.jobs.queue import JobRegistry
from festinger.store.pool import Store, Transaction

DELIVER = "deliver_event"
SEEDS = count()
INSERT = ask("insert into told (subscriber, event, new) values (%(subscriber)s, %(event)s, %(new)s::jsonb)")


class Wired:
    """An outbox whose deliveries are jobs."""

    def __init__(self, store: Store, hands: Hands | None = None) -> None:
        self.store = store
        self.hands = hands or Hands()
        self.jobs: JobRegistry = make_jobs(store, self.hands, watch=self._watch)
        self.outbox = Outbox(
            clock=self.hands.clock, new_id=id_maker(self.hands.clock, random.Random(next(SEEDS))), deliver=self._ask
        )
        self.jobs.register(DELIVER, self._deliver)

    async def _ask(self, transaction: Transaction, deliveries: Sequence[Delivery]) -> None:
        for delivery in deliveries:
            await self.jobs.defer(
                transaction,
                DELIVER,
                lock=delivery.lock,
                queue=delivery.queue,
                space=delivery.space,
                event=str(delivery.event),
                subscriber=delivery.subscriber,
            )

    async def _deliver(self, _run: JobRun, *, space: str, event: str, subscriber: str) -> None:
        await deliver_event(self.store, self.outbox, space=space, event=event, subscriber=subscriber)

    async def _watch(self, transaction: Transaction, ending: EndedJob) -> None:
        if ending.name != DELIVER:
            return
        if ending.end is JobEndState.DEAD:
            await mark_delivery_dead(transaction, self.outbox, **ending.ids, error=ending.text)
        else:
            await drop_delivery(transaction, **ending.ids, note=ending.text, now=self.hands.now)

    async def emit(self, subject: str = "llm.write", **more: Any):
        """One `setting_changed` in a transaction of its own."""
        async with self.store.transaction() as transaction:
            return await self.emit_in(transaction, subject, **more)

    async def emit_in(self, transaction: Transaction, subject: str = "llm.write", **more: Any):
        payload = {"key": subject, "old": None, "new": more.pop("new", 1), "source": "table", "by": None}
        return await self.outbox.emit(
            transaction, "setting_changed", **{"space": "main", "subject": subject, "payload": payload, **more}
        )


async def make_told(store: Store) -> None:
    """A table of a subscriber's own rows."""
    await run_sql(store, "create table told (n bigserial, subscriber text, event uuid, new jsonb)")


def context_builder(subscriber: str):
    """A deed that writes one row for each event that it hears of."""

    async def operation(transaction: Transaction, event: Any) -> None:
        await transaction.run(INSERT, subscriber=subscriber, event=event.id, new=str(event.payload.get("new", 0)))

    return operation


async def told(store: Store, subscriber: str) -> list[Any]:
    found = await rows(
        store, "select new from told where subscriber = %(subscriber)s order by n", subscriber=subscriber
    )
    return [row["new"] for row in found]
