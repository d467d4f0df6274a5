"""How far is a job, and should it stop?

A deed reports after each batch. The report is kept at most twice a second, tells the watchdog that the job
lives, and is the one place where a request to cancel is met: finished batches stay, the next one is not begun.
"""

import asyncio
from datetime import timedelta

from festinger.clock import Clock, Stopwatch
from festinger.store.pool import Store
from festinger.store.queries import queries_of

Q = queries_of("festinger.jobs")

REPORT_SECONDS = 0.5
MAX_NOTE = 200


class Cancelled(Exception):
    """Somebody asked to stop this job."""


class Run:
    """One attempt of one job, as its deed sees it."""

    def __init__(
        self, job: int, name: str, *, store: Store, clock: Clock, stopwatch: Stopwatch, limit: timedelta
    ) -> None:
        self.job = job
        self.name = name
        self._store = store
        self._clock = clock
        self._stopwatch = stopwatch
        self._limit = limit
        self._reported_at: float | None = None
        self._watchdog: asyncio.Timeout | None = None

    def watchdog(self) -> asyncio.Timeout:
        """Ends the attempt when it has been silent for longer than its limit."""
        self._watchdog = asyncio.timeout(self._limit.total_seconds())
        return self._watchdog

    async def report(self, done: int, total: int | None = None, note: str = "") -> None:
        """Say that `done` of `total` steps are done; raises `Cancelled` if the job is to stop here."""
        if self._watchdog is not None:
            self._watchdog.reschedule(asyncio.get_running_loop().time() + self._limit.total_seconds())
        if await self._cancel_asked(done, total, note):
            raise Cancelled

    async def _cancel_asked(self, done: int, total: int | None, note: str) -> bool:
        now = self._stopwatch()
        if self._reported_at is not None and now - self._reported_at < REPORT_SECONDS:
            record = await self._store.maybe(Q["record_of"], job=self.job)
            return record is not None and record["cancel_asked_at"] is not None
        self._reported_at = now
        row = await self._store.one(
            Q["report_progress"],
            job=self.job,
            name=self.name,
            done=done,
            total=total,
            note=note[:MAX_NOTE],
            now=self._clock(),
        )
        return row["cancel_asked_at"] is not None
