"""Is there more work than the workers get through?

Behind means: too many jobs wait, or the oldest learning waits too long. Low-value work then pauses; learning
is never dropped.
"""

from dataclasses import dataclass
from datetime import timedelta

from festinger.jobs.work import Queue
from festinger.observability.metrics import JOBS_WAITING
from festinger.store.pool import Store
from festinger.store.queries import queries_of

Q = queries_of("festinger.jobs")

PATIENCE = timedelta(minutes=10)
"""How long the oldest learning job may wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    waiting: int
    oldest_learn: timedelta
    max_waiting: int

    @property
    def behind(self) -> bool:
        return self.waiting > self.max_waiting or self.oldest_learn > PATIENCE


async def backlog(store: Store, *, max_waiting: int) -> Backlog:
    """What waits now; `waiting` is counted only as far as the limit needs."""
    row = await store.one(Q["backlog"], limit=max_waiting + 1, queue=Queue.LEARN.value)
    return Backlog(
        waiting=row["waiting"], oldest_learn=timedelta(seconds=row["oldest_s"]), max_waiting=max_waiting
    )


async def measure(store: Store) -> None:
    """Move the gauges of the queues to what they are now."""
    waiting = {row["queue"]: row["waiting"] for row in await store.all(Q["waiting_by_queue"])}
    for queue in Queue:
        JOBS_WAITING.labels(queue.value).set(waiting.get(queue.value, 0))
