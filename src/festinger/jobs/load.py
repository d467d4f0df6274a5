"""When may work beside the requests begin?

When nobody is being served. Whoever serves says so for as long as it has work with a request, not while a model
answers it; work waits until there was none for a moment, and after a while begins all the same, so that it only ever
slows down and never stops. A process without a door has nobody to wait for.

Is there more work than the workers get through?

Behind means: too many jobs wait, or the oldest learning waits too long. Low-value work then pauses; learning
is never dropped.
"""

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from festinger.clock import Stopwatch
from festinger.jobs.model import Queue
from festinger.observability.metrics import JOBS_WAITING
from festinger.store.pool import Store
from festinger.store.queries import queries_of

QUIET_SECONDS = 0.02
"""Between two requests of one client that does not stop to think there is less."""
LONGEST_SECONDS = 1.0
"""So long does a piece of work wait at most."""


class IdleGate:
    def __init__(self, stopwatch: Stopwatch) -> None:
        self._stopwatch = stopwatch
        self._serving = 0
        self._served = -math.inf

    @contextmanager
    def serving(self) -> Iterator[None]:
        """While there is work with a request."""
        self._serving += 1
        try:
            yield
        finally:
            self._serving -= 1
            self._served = self._stopwatch()

    async def turn(self, *, longest: float = LONGEST_SECONDS) -> None:
        """Wait until work may begin."""
        while longest > 0 and (left := self._left()) > 0:
            rest = min(left, longest)
            await asyncio.sleep(rest)
            longest -= rest

    def _left(self) -> float:
        """How long it is to a quiet moment, as far as one can tell."""
        return QUIET_SECONDS if self._serving else self._served + QUIET_SECONDS - self._stopwatch()


Q = queries_of("festinger.jobs")

PATIENCE = timedelta(minutes=10)
"""How long the oldest learning job may wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobBacklog:
    waiting: int
    oldest_learn: timedelta
    max_waiting: int

    @property
    def behind(self) -> bool:
        return self.waiting > self.max_waiting or self.oldest_learn > PATIENCE


async def read_backlog(store: Store, *, max_waiting: int) -> JobBacklog:
    """What waits now; `waiting` is counted only as far as the limit needs."""
    row = await store.one(Q["backlog"], limit=max_waiting + 1, queue=Queue.LEARN.value)
    return JobBacklog(waiting=row["waiting"], oldest_learn=timedelta(seconds=row["oldest_s"]), max_waiting=max_waiting)


async def update_queue_gauges(store: Store) -> None:
    """Move the gauges of the queues to what they are now."""
    waiting = {row["queue"]: row["waiting"] for row in await store.all(Q["waiting_by_queue"])}
    for queue in Queue:
        JOBS_WAITING.labels(queue.value).set(waiting.get(queue.value, 0))
