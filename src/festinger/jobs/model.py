"""Values of the job queue: definitions, priorities, endings and the handle of a running attempt.

A job reports after each batch. The report is stored at most twice a second, resets the watchdog, and is the
one place where a request to cancel takes effect: finished batches stay, the next one is not started.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum, StrEnum
from typing import Any

from festinger.clock import Clock, Stopwatch
from festinger.errors import BadInput
from festinger.store.pool import Store, Transaction
from festinger.store.queries import load_queries

MAX_TEXT = 200
MAX_IDS = 100
DEFAULT_LIMIT = timedelta(minutes=10)

Operation = Callable[..., Awaitable[object]]
"""Does the work: called with the `JobRun`, then the job's ids by keyword. The return value is ignored."""


class Queue(StrEnum):
    """Each queue has its own slot in every worker pool, so a slow one never starves another."""

    LEARN = "learn"
    JUDGE = "judge"
    INDEX = "index"
    SLEEP = "sleep"
    SEND = "send"


class JobPriority(IntEnum):
    """Which waiting job of a queue starts first."""

    USUAL = 0
    NEW_STATEMENT = 10
    """Somebody has just said it and may ask about it next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDefinition:
    """One registered kind of job.

    `schedule` is a cron line, or the settings key that holds one; `timezone` is the settings key of its time
    zone, UTC without one. `limit` is the longest silence: a run that takes longer without a report counts as
    hung. Low-value work pauses while the queues are behind.
    """

    name: str
    operation: Operation
    queue: Queue
    schedule: str = ""
    timezone: str = ""
    limit: timedelta = DEFAULT_LIMIT
    low_value: bool = False
    priority: JobPriority = JobPriority.USUAL


class JobEndState(StrEnum):
    """How a job that was not completed left the queue for good."""

    DEAD = "dead"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedJob:
    end: JobEndState
    job: int
    name: str
    ids: Mapping[str, Any]
    error: str
    text: str


Watch = Callable[[Transaction, EndedJob], Awaitable[None]]
"""Called with each ending, in the transaction that causes it."""


def check_job_arguments(name: str, ids: Mapping[str, Any]) -> Mapping[str, Any]:
    """Check the arguments of a job, which must be ids and numbers. Texts belong in rows: an argument is
    copied, kept with the finished job and shown to operators."""
    for key, value in ids.items():
        parts = value if isinstance(value, list | tuple) else [value]
        if len(parts) > MAX_IDS or not all(_is_id(part) for part in parts):
            raise BadInput(
                f"Job `{name}` was given `{key}`, which is no id.",
                hint=f"Give ids, numbers, or at most {MAX_IDS} of them; store texts and pass their ids.",
            )
    return ids


def _is_id(value: object) -> bool:
    return len(value) <= MAX_TEXT if isinstance(value, str) else isinstance(value, bool | int | float | None)


Q = load_queries("festinger.jobs")

REPORT_SECONDS = 0.5
MAX_NOTE = 200


class JobCancelledError(Exception):
    """Somebody asked to stop this job."""


class JobRun:
    """One attempt of one job, as its function sees it."""

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

    def start_watchdog(self) -> asyncio.Timeout:
        """Cancel the attempt when it has been silent for longer than its limit."""
        self._watchdog = asyncio.timeout(self._limit.total_seconds())
        return self._watchdog

    async def report(self, done: int, total: int | None = None, note: str = "") -> None:
        """Report that `done` of `total` steps are done. Raises `JobCancelledError` if the job must stop."""
        if self._watchdog is not None:
            self._watchdog.reschedule(asyncio.get_running_loop().time() + self._limit.total_seconds())
        if await self._store_progress(done, total, note):
            raise JobCancelledError

    async def _store_progress(self, done: int, total: int | None, note: str) -> bool:
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
