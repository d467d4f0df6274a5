"""Runs the workers of a process and recovers the jobs of workers that died.

One worker per queue, so that no queue waits for another, plus `jobs.workers` that serve all queues. Each runs
one job at a time: only then does it fetch the next one the moment a job ends, which a chain of jobs under one
lock depends on; with several slots the engine would look again only when it polls. A failing worker restarts
after a pause that grows from one second to a minute. A worker silent for a minute counts as dead and its
jobs, which are idempotent, are requeued; a job that three workers died on is parked as dead, because it may
be what kills them.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from functools import partial

import structlog
from procrastinate.exceptions import ConnectorException
from procrastinate.worker import Worker

from festinger.clock import backoff_delays
from festinger.errors import StoreDown
from festinger.jobs.attempt import JobDeps, mark_job_dead
from festinger.jobs.backpressure import update_waiting_job_gauges
from festinger.jobs.model import EndedJob, JobEndState, Queue
from festinger.jobs.queue import JobRegistry, Pause, defer_due_jobs
from festinger.store.connection import cancel_tasks
from festinger.store.pool import Row, Transaction
from festinger.store.queries import load_queries

log = structlog.get_logger()

Q = load_queries("festinger.jobs")

SILENT_SECONDS = 60.0
DEATHS = 3
BATCH = 100


async def requeue_stalled(deps: JobDeps) -> list[int]:
    """Requeue the jobs of dead workers; return the ids of those found."""
    now = deps.clock()
    async with deps.store.transaction() as transaction:
        rows = await transaction.all(Q["take_stalled"], silent_s=SILENT_SECONDS, limit=BATCH)
        for row in rows:
            await _requeue_or_park(transaction, row, deps=deps, now=now)
    return [row["id"] for row in rows]


async def _requeue_or_park(transaction: Transaction, row: Row, *, deps: JobDeps, now: datetime) -> None:
    text = "The worker that ran it died."
    job, name = row["id"], row["name"]
    deaths = await transaction.value(Q["record_death"], job=job, name=name, error_text=text, now=now)
    log.warning("job lost its worker", room="jobs", job=job, job_name=name, deaths=deaths)
    if deaths < DEATHS:
        await transaction.run(Q["return_job"], job=job)
        return
    await transaction.run(Q["park_job"], job=job)
    ending = EndedJob(end=JobEndState.DEAD, job=job, name=name, ids=row["args"], error="worker_died", text=text)
    await mark_job_dead(transaction, ending, now=now, watch=deps.watch)


HEARTBEAT_SECONDS = 10.0
STALLED_SECONDS = 30.0
POLL_SECONDS = 5.0
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
STEADY_SECONDS = 60.0
"""A worker that ran this long is not in a crash loop."""

RETURN_SECONDS = 5.0
"""Time that a worker gets beyond its jobs' time, to requeue what it could not finish."""

NEVER_SECONDS = 365 * 86_400.0

QUEUES = [queue.value for queue in Queue]


restart_delays = partial(backoff_delays, FIRST_PAUSE, LONGEST_PAUSE)
"""The seconds to wait before each restart of a worker that keeps failing."""


class WorkerPool:
    def __init__(self, jobs: JobRegistry, *, shutdown_seconds: float, pause: Pause = asyncio.sleep) -> None:
        self.jobs = jobs
        self._shutdown_seconds = shutdown_seconds
        self._pause = pause
        self._workers: dict[str, Worker] = {}

    async def keep(self, name: str, queues: list[str]) -> None:
        """Run one worker, restarting it until cancelled."""
        pauses = restart_delays()
        while True:
            began = self.jobs.deps.stopwatch()
            why = await self._work(name, queues)
            if self.jobs.deps.stopwatch() - began >= STEADY_SECONDS:
                pauses = restart_delays()
            seconds = next(pauses)
            log.warning("worker stopped", room="jobs", worker=name, error=why, again_in_s=seconds)
            await self._pause(seconds)

    async def _work(self, name: str, queues: list[str]) -> str:
        """Run a worker once; return what ended it. When cancelled, it finishes or requeues its jobs."""
        self._workers[name] = worker = self._worker(name, queues)
        life = asyncio.create_task(worker.run(), name=f"worker {name}")  # type: ignore[no-untyped-call]
        try:
            await asyncio.wait({life})
        except asyncio.CancelledError:
            # A query of its start may swallow the cancellation; the request to stop stays.
            worker.stop()  # type: ignore[no-untyped-call]
            life.cancel()
            await asyncio.wait({life})
            raise
        error = None if life.cancelled() else life.exception()
        return type(error).__name__ if error else "stopped"

    def _worker(self, name: str, queues: list[str], *, wait: bool = True) -> Worker:
        return Worker(
            self.jobs.engine,
            queues=queues,
            name=name,
            concurrency=1,
            wait=wait,
            fetch_job_polling_interval=POLL_SECONDS,
            shutdown_graceful_timeout=self._shutdown_seconds,
            install_signal_handlers=False,
            listen_notify=wait,
            # Our heartbeat covers all workers and survives a database outage; the engine's own would not.
            update_heartbeat_interval=NEVER_SECONDS,
            stalled_worker_timeout=SILENT_SECONDS,
        )

    async def send_heartbeats(self) -> None:
        """Send the heartbeat of every worker."""
        for worker in self._workers.values():
            if worker.worker_id is not None:
                with suppress(ConnectorException):
                    await self.jobs.engine.job_manager.update_heartbeat(worker.worker_id)

    async def drain(self, *, workers: int = 1) -> None:
        """Run what is due now and what follows from it, then return."""
        while await self.jobs.deps.store.value(Q["due_jobs"]):
            lives = [self._worker(f"drain {n}", QUEUES, wait=False).run() for n in range(workers)]  # type: ignore[no-untyped-call]
            await asyncio.gather(*lives)

    async def requeue_and_update_gauges(self) -> None:
        """Requeue stalled jobs and update the queue gauges."""
        await requeue_stalled(self.jobs.deps)
        await update_waiting_job_gauges(self.jobs.deps.store)

    async def tick(self) -> None:
        await defer_due_jobs(self.jobs)
        # Tick just after each minute begins.
        await self._pause(60.0 - self.jobs.deps.clock().timestamp() % 60.0)

    async def every(self, seconds: float, operation: Callable[[], Awaitable[None]]) -> None:
        """Repeat an operation, waiting whenever the database is down."""
        while True:
            try:
                await operation()
            except StoreDown as error:
                log.warning("worker waits for the database", room="jobs", error=error.details.get("kind"))
                await self._pause(HEARTBEAT_SECONDS)
            await self._pause(seconds)


@asynccontextmanager
async def run_workers(
    jobs: JobRegistry, *, roaming: int, shutdown_seconds: float, pause: Pause = asyncio.sleep
) -> AsyncIterator[WorkerPool]:
    """Run jobs inside this block. At its end, running ones get `shutdown_seconds`, then are requeued."""
    crew = WorkerPool(jobs, shutdown_seconds=shutdown_seconds, pause=pause)
    workers = [
        *(crew.keep(queue, [queue]) for queue in QUEUES),
        *(crew.keep(f"roaming {n}", QUEUES) for n in range(roaming)),
    ]
    duties = [
        crew.every(HEARTBEAT_SECONDS, crew.send_heartbeats),
        crew.every(0, crew.tick),
        crew.every(STALLED_SECONDS, crew.requeue_and_update_gauges),
        jobs.connector.hear(QUEUES, pause=pause),
    ]
    working, minding = ([asyncio.create_task(each) for each in some] for some in (workers, duties))
    try:
        yield crew
    finally:
        # Running jobs get their time first; cancelling them again earlier would cut it short.
        again_after = shutdown_seconds + RETURN_SECONDS
        await asyncio.gather(cancel_tasks(working, again_after=again_after), cancel_tasks(minding))
