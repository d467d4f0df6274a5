"""Decides when background work must wait: for requests being served, or for a backlog.

An interface marks the time it works on a request, excluding the time a model answers. Jobs wait for a moment
without requests, but only up to a limit, so that work is slowed and never stopped; a process without an
interface waits for nobody. The queues are behind when too many jobs wait or the oldest learn job waits too
long: low-value work then pauses, and learning is never dropped.
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
from festinger.store.queries import load_queries

QUIET_SECONDS = 0.02
"""Longer than the gap between two requests of a client that does not pause."""
LONGEST_SECONDS = 1.0
"""The longest that a job waits."""


class IdleGate:
    def __init__(self, stopwatch: Stopwatch) -> None:
        self._stopwatch = stopwatch
        self._serving = 0
        self._served = -math.inf

    @property
    def is_serving(self) -> bool:
        return self._serving > 0

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Mark that a request is being worked on."""
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
        """Estimate the seconds until a quiet moment."""
        return QUIET_SECONDS if self._serving else self._served + QUIET_SECONDS - self._stopwatch()


Q = load_queries("festinger.jobs")

PATIENCE = timedelta(minutes=10)
"""How long the oldest learn job may wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobBacklog:
    waiting: int
    oldest_learn: timedelta
    max_waiting: int

    @property
    def behind(self) -> bool:
        return self.waiting > self.max_waiting or self.oldest_learn > PATIENCE


async def read_backlog(store: Store, *, max_waiting: int) -> JobBacklog:
    """Read what waits now; `waiting` is counted only as far as the limit needs."""
    row = await store.one(Q["backlog"], limit=max_waiting + 1, queue=Queue.LEARN.value)
    return JobBacklog(waiting=row["waiting"], oldest_learn=timedelta(seconds=row["oldest_s"]), max_waiting=max_waiting)


async def update_waiting_job_gauges(store: Store) -> None:
    waiting = {row["queue"]: row["waiting"] for row in await store.all(Q["waiting_by_queue"])}
    for queue in Queue:
        JOBS_WAITING.labels(queue.value).set(waiting.get(queue.value, 0))
