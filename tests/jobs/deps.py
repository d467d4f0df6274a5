"""Jobs with everything handed in: a clock that tests move, seeded chance, settings as a plain mapping."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from festinger.jobs.model import Watch
from festinger.jobs.queue import JobRegistry, null_job_watcher
from festinger.jobs.worker import WorkerPool
from festinger.store.pool import Store
from festinger.store.queries import Query

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)
SETTINGS = {"jobs.max_waiting": 100_000, "jobs.keep_done_days": 7}


@dataclass
class Hands:
    """A clock and a stopwatch that move only when told to."""

    now: datetime = MONDAY
    seconds: float = 0.0

    def clock(self) -> datetime:
        return self.now

    def stopwatch(self) -> float:
        return self.seconds

    def forward(self, by: timedelta) -> None:
        self.now += by
        self.seconds += by.total_seconds()


@dataclass
class Seen:
    """What deeds saw, in order."""

    items: list[Any] = field(default_factory=list)


def make_jobs(
    store: Store,
    hands: Hands | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    watch: Watch = null_job_watcher,
) -> JobRegistry:
    hands = hands or Hands()
    in_force = settings if settings is not None else SETTINGS
    return JobRegistry(
        store,
        clock=hands.clock,
        stopwatch=hands.stopwatch,
        chance=random.Random(1),
        setting=lambda key: in_force[key],
        redact=lambda text: text.replace("sk-secret", "[redacted]"),
        watch=watch,
    )


async def drain(jobs: JobRegistry, *, workers: int = 1) -> None:
    """Do what is due now."""
    await WorkerPool(jobs, shutdown_seconds=5).drain(workers=workers)


async def drain_all(jobs: JobRegistry, *, rounds: int = 20) -> None:
    """Do what is due now or later: the waiting times of retries are cut short."""
    for _ in range(rounds):
        await drain(jobs)
        if not await run_sql(
            jobs.deps.store, "update procrastinate_jobs set scheduled_at = now() where status = 'todo'"
        ):
            return
    raise AssertionError("the queue did not become empty")


def ask(sql: str) -> Query:
    return Query(room="tests", name="ask", purpose="a question of a test", sql=sql)


async def run_sql(store: Store, sql: str, **parameters: Any) -> int:
    return await store.run(ask(sql), **parameters)


async def rows(store: Store, sql: str, **parameters: Any) -> list[dict[str, Any]]:
    return await store.all(ask(sql), **parameters)
