"""Which kinds of work are there, and what does one need to know about each?

Values only. A room registers its deeds at wiring; what a deed does is the room's matter, when it runs and how
often it is tried is decided by the neighbours of this module.

How far is a job, and should it stop?

A deed reports after each batch. The report is kept at most twice a second, tells the watchdog that the job
lives, and is the one place where a request to cancel is met: finished batches stay, the next one is not begun.
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
from festinger.store.queries import queries_of

MAX_TEXT = 200
MAX_IDS = 100
DEFAULT_LIMIT = timedelta(minutes=10)

Deed = Callable[..., Awaitable[object]]
"""Does the work: called with the `JobRun`, then the job's ids by keyword. What it returns is not looked at."""


class Queue(StrEnum):
    """Each has a slot of its own in every worker, so a slow one never starves another."""

    LEARN = "learn"
    JUDGE = "judge"
    INDEX = "index"
    SLEEP = "sleep"
    SEND = "send"


class JobPriority(IntEnum):
    """Which waiting job of a queue is begun first."""

    USUAL = 0
    NEW_STATEMENT = 10
    """Somebody has just said it and may ask about it next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDefinition:
    """One registered kind of job. `schedule` is a cron line, or the settings key that holds one; `timezone` is
    the settings key of the zone that the line is in, UTC without one.

    `limit` is the longest silence: a run that takes longer without a report counts as hung. Low-value work
    pauses while the queues are behind.
    """

    name: str
    deed: Deed
    queue: Queue
    schedule: str = ""
    timezone: str = ""
    limit: timedelta = DEFAULT_LIMIT
    low_value: bool = False
    priority: JobPriority = JobPriority.USUAL


class JobEnd(StrEnum):
    """How a job left the queue for good, if it was not done."""

    DEAD = "dead"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnding:
    end: JobEnd
    job: int
    name: str
    ids: Mapping[str, Any]
    error: str
    text: str


Watch = Callable[[Transaction, JobEnding], Awaitable[None]]
"""Told of each ending, in the transaction that brings it about."""


def check_ids(name: str, ids: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of a job, which are ids and numbers. Texts belong into rows: an argument is copied, kept
    with the finished job and shown to operators."""
    for key, value in ids.items():
        parts = value if isinstance(value, list | tuple) else [value]
        if len(parts) > MAX_IDS or not all(_is_id(part) for part in parts):
            raise BadInput(
                f"Job `{name}` was given `{key}`, which is no id.",
                hint=f"Give ids, numbers, or at most {MAX_IDS} of them; store texts and pass their ids.",
            )
    return ids


def _is_id(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float) or _is_short(value)


def _is_short(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MAX_TEXT


Q = queries_of("festinger.jobs")

REPORT_SECONDS = 0.5
MAX_NOTE = 200


class JobCancelledError(Exception):
    """Somebody asked to stop this job."""


class JobRun:
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
        """Say that `done` of `total` steps are done; raises `JobCancelledError` if the job is to stop here."""
        if self._watchdog is not None:
            self._watchdog.reschedule(asyncio.get_running_loop().time() + self._limit.total_seconds())
        if await self._cancel_asked(done, total, note):
            raise JobCancelledError

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
