"""Registers jobs, defers them and schedules the periodic ones.

Packages defer jobs by name in their own open transaction, so that a job exists if and only if the change that
asked for it does. Once a minute every worker evaluates the cron lines as currently set, in UTC unless the job
names a setting with another time zone. A unique row per due run makes it happen once in the whole cluster;
after a time without any worker only the latest missed run is made up.

Connects procrastinate to the store.

The engine works on the store's pool, all workers of a process share one LISTEN connection, and its database
errors become ours. Its schema comes as numbered SQL files, offered here as migrations under names of their
own, so that one migrator brings up the whole database and an upgrade of the engine is an ordinary migration.
"""

import asyncio
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from importlib.resources import files
from typing import Any
from zoneinfo import ZoneInfo

import structlog
from croniter import CroniterBadDateError, croniter
from procrastinate import App, JobContext, PsycopgConnector
from procrastinate.connector import Notify
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException

from festinger.clock import Clock, Stopwatch
from festinger.errors import AlreadyRunning, FestingerError, NotFound, Refused, StoreDown
from festinger.jobs.attempt import AttemptRetryStrategy, JobDeps, Redact, Setting, run_attempt
from festinger.jobs.backpressure import IdleGate
from festinger.jobs.model import (
    DEFAULT_LIMIT,
    EndedJob,
    JobDefinition,
    JobPriority,
    Operation,
    Queue,
    Watch,
    check_job_arguments,
)
from festinger.store.connection import translate_store_errors
from festinger.store.migration import Migration
from festinger.store.pool import Store, Transaction
from festinger.store.queries import load_queries

log = structlog.get_logger()


Pause = Callable[[float], Awaitable[None]]

RELISTEN_SECONDS = 5.0


@contextmanager
def translate_engine_errors() -> Iterator[None]:
    """Translate the engine's database errors into ours, by their cause."""
    try:
        yield
    except ConnectorException as error:
        if error.__cause__ is None:
            raise
        with translate_store_errors():
            raise error.__cause__ from error


class StoreConnector(PsycopgConnector):
    """The engine's connection: the store's pool, and one listener for all workers."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store
        self._hearers: defaultdict[str, set[Notify]] = defaultdict(set)
        self.listening = asyncio.Event()

    @property
    def pool(self) -> Any:
        return self._store.pool

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        """Receive notifications from the shared listener, until cancelled."""
        mine = list(channels)
        for channel in mine:
            self._hearers[channel].add(on_notification)
        try:
            await asyncio.Event().wait()
        finally:
            for channel in mine:
                self._hearers[channel].discard(on_notification)

    async def hear(self, queues: Iterable[str], *, pause: Pause = asyncio.sleep) -> None:
        """Run the shared listener until cancelled. Without a connection, workers fall back to polling."""
        while True:
            try:
                await self._hear(queues)
            except StoreDown as error:
                log.warning("job listener lost", room="jobs", error=error.message)
            finally:
                self.listening.clear()
            await pause(RELISTEN_SECONDS)

    async def _hear(self, queues: Iterable[str]) -> None:
        async with self._store.apart() as connection:
            for queue in queues:
                await connection.execute(Q[f"listen_{queue}"].sql)
            self.listening.set()
            async for notification in connection.notifies():
                for hearer in tuple(self._hearers[notification.channel]):
                    await hearer(channel=notification.channel, payload=notification.payload)


PREFIX = "procrastinate/"


def load_engine_migrations() -> list[Migration]:
    """Return the engine's migrations in order; they come after our own."""
    folder = files("procrastinate.sql").joinpath("migrations")
    found = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda e: e.name)
    return [
        Migration(name=PREFIX + entry.name.removesuffix(".sql"), sql=entry.read_text(encoding="utf-8"))
        for entry in found
    ]


Q = load_queries("festinger.jobs")

CLAIMS = 10
"""How often to try for a queueing lock that others keep winning and losing meanwhile."""


async def null_job_watcher(_transaction: Transaction, _ending: EndedJob) -> None:
    """Null watcher, for wiring that reports dead jobs to nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """One job of a batch of the same kind."""

    queue: str
    lock: str | None = None
    priority: JobPriority = JobPriority.USUAL
    ids: Mapping[str, Any]


class JobRegistry(Mapping[str, JobDefinition]):
    """Every kind of job by name, and the way into the queue."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        stopwatch: Stopwatch,
        chance: random.Random,
        setting: Setting,
        redact: Redact,
        watch: Watch = null_job_watcher,
    ) -> None:
        self.courtesy = IdleGate(stopwatch)
        """Interfaces mark here that they are serving a request; jobs wait for it."""
        self.deps = JobDeps(
            store=store,
            clock=clock,
            stopwatch=stopwatch,
            chance=chance,
            setting=setting,
            redact=redact,
            watch=watch,
            courtesy=self.courtesy,
        )
        self.connector = StoreConnector(store)
        self.engine = App(connector=self.connector)
        self._works: dict[str, JobDefinition] = {}

    def __getitem__(self, name: str) -> JobDefinition:
        if name not in self._works:
            raise NotFound(f"There is no job `{name}`.", hint="`festinger jobs` lists them.")
        return self._works[name]

    def __contains__(self, name: object) -> bool:
        return name in self._works

    def __iter__(self) -> Iterator[str]:
        return iter(self._works)

    def __len__(self) -> int:
        return len(self._works)

    def register(
        self,
        name: str,
        operation: Operation,
        *,
        queue: str = Queue.LEARN,
        schedule: str = "",
        timezone: str = "",
        limit: timedelta = DEFAULT_LIMIT,
        low_value: bool = False,
        priority: JobPriority = JobPriority.USUAL,
    ) -> JobDefinition:
        """Register a job. `schedule` is a cron line, or the settings key that holds one."""
        if name in self._works:
            raise FestingerError(f"Job `{name}` is registered twice.")
        work = JobDefinition(
            name=name,
            operation=operation,
            queue=Queue(queue),
            schedule=schedule,
            timezone=timezone,
            limit=limit,
            low_value=low_value,
            priority=priority,
        )
        self._works[name] = work

        async def tried(context: JobContext, /, **ids: Any) -> None:
            await run_attempt(self.deps, work, context, ids)

        self.engine.task(
            name=name, queue=work.queue.value, priority=priority, pass_context=True, retry=AttemptRetryStrategy()
        )(tried)
        return work

    @property
    def periodic(self) -> list[JobDefinition]:
        return [work for work in self._works.values() if work.schedule]

    async def defer(
        self,
        transaction: Transaction | None,
        name: str,
        *,
        lock: str | None = None,
        queueing_lock: str | None = None,
        queue: str | None = None,
        at: datetime | None = None,
        **ids: Any,
    ) -> int:
        """Put a job into its queue as part of `transaction`; return its id.

        Jobs of one `lock` run one at a time, in this order. While a job waits under a `queueing_lock`,
        deferring again returns that job.
        """
        if transaction is None:
            async with self.deps.store.transaction() as own:
                return await self.defer(own, name, lock=lock, queueing_lock=queueing_lock, queue=queue, at=at, **ids)
        options = {
            "lock": lock,
            "queueing_lock": queueing_lock,
            "queue": Queue(queue or self[name].queue).value,
            "schedule_at": at,
        }
        if queueing_lock is None:
            return await self._insert(transaction, name, options=options, ids=ids)
        return await self._insert_unless_waiting(transaction, name, options=options, ids=ids)

    async def defer_all(self, transaction: Transaction, name: str, asked: Sequence[JobRequest]) -> None:
        """Put many jobs of one kind into their queues, in this order and in one round trip."""
        jobs = [
            self.engine.configure_task(
                name, lock=each.lock, queue=Queue(each.queue).value, priority=each.priority
            ).make_new_job(**check_job_arguments(name, each.ids))
            for each in asked
        ]
        with translate_engine_errors():
            await self.engine.job_manager.batch_defer_jobs_async(jobs, connection=transaction.connection)

    async def run_now(self, name: str) -> int:
        """Start a periodic job by hand; return its id. Raises `AlreadyRunning` if one waits or runs."""
        if not self[name].schedule:
            raise Refused(f"Job `{name}` is not periodic.", hint="Only periodic jobs can be started by hand.")
        async with self.deps.store.transaction() as transaction:
            await transaction.run(Q["lock_name"], name=name)
            active = await transaction.maybe(Q["active_job"], name=name)
            if active is not None:
                raise AlreadyRunning(f"`{name}` is already running as job {active['id']}.", job=active["id"])
            job = await self.defer(transaction, name, lock=name, queueing_lock=name)
            await transaction.run(Q["note_run_by_hand"], name=name, job=job)
        return job

    async def cancel(self, job: int) -> str:
        """Stop a job: `cancelled` if it was waiting, `asked` if it runs and will stop at its next batch."""
        async with self.deps.store.transaction() as transaction:
            if await transaction.maybe(Q["cancel_waiting"], job=job):
                return "cancelled"
            if await transaction.maybe(Q["ask_to_cancel"], job=job, now=self.deps.clock()):
                return "asked"
        raise NotFound(f"There is no waiting or running job {job}.")

    async def _insert(
        self, transaction: Transaction, name: str, *, options: dict[str, Any], ids: Mapping[str, Any]
    ) -> int:
        checked = dict(check_job_arguments(name, ids))
        deferrer = self.engine.configure_task(name, connection=transaction.connection, **options)
        with translate_engine_errors():
            return await deferrer.defer_async(**checked)

    async def _insert_unless_waiting(
        self, transaction: Transaction, name: str, *, options: dict[str, Any], ids: Mapping[str, Any]
    ) -> int:
        for _ in range(CLAIMS):
            waiting = await transaction.maybe(Q["waiting_with_queueing_lock"], queueing_lock=options["queueing_lock"])
            if waiting is not None:
                return int(waiting["id"])
            try:
                # A savepoint: losing the race to another process must not abort the caller's transaction.
                async with transaction.connection.transaction():
                    return await self._insert(transaction, name, options=options, ids=ids)
            except AlreadyEnqueued:
                continue
        raise AlreadyRunning(f"`{name}` is being asked for by too many at once.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledJob:
    """A periodic job as a person sees it."""

    name: str
    line: str
    next_at: datetime | None
    last_due_at: datetime | None
    last_job: int | None
    result: str
    result_at: datetime | None


def latest_due_time(line: str, *, now: datetime, after: datetime, zone: tzinfo = UTC) -> datetime | None:
    """Return the last moment up to `now` at which the cron line was due, if it is later than `after`."""
    if not line:
        return None
    # One second into the minute, because the moment itself counts as due.
    start = now.astimezone(zone).replace(second=0, microsecond=0) + timedelta(seconds=1)
    try:
        due: datetime = croniter(line, start).get_prev(datetime)
    except CroniterBadDateError:
        # A line that never comes true, such as February 30.
        return None
    return due.astimezone(UTC) if due > after else None


def next_due_time(line: str, *, now: datetime, zone: tzinfo = UTC) -> datetime | None:
    """Return the next moment at which the cron line is due."""
    try:
        due: datetime | None = croniter(line, now.astimezone(zone)).get_next(datetime) if line else None
    except CroniterBadDateError:
        return None
    return due.astimezone(UTC) if due else None


def cron_timezone(work: JobDefinition, setting: Setting) -> tzinfo:
    """Return the time zone of the cron line."""
    return ZoneInfo(str(setting(work.timezone))) if work.timezone else UTC


def cron_line(work: JobDefinition, setting: Setting) -> str:
    """Return the cron line in force: the job's own, or the one in its settings key."""
    return work.schedule if " " in work.schedule else str(setting(work.schedule))


async def defer_due_jobs(jobs: JobRegistry) -> list[int]:
    """Defer what is due now; return the ids of the jobs."""
    deferred = [await _defer_if_due(jobs, work) for work in jobs.periodic]
    return [job for job in deferred if job is not None]


async def _defer_if_due(jobs: JobRegistry, work: JobDefinition) -> int | None:
    now = jobs.deps.clock()
    line = cron_line(work, jobs.deps.setting)
    async with jobs.deps.store.transaction() as transaction:
        after = await transaction.value(Q["see_periodic"], name=work.name, line=line, now=now)
        due_at = latest_due_time(line, now=now, after=after, zone=cron_timezone(work, jobs.deps.setting))
        if due_at is None or not await transaction.maybe(Q["claim_run"], name=work.name, due_at=due_at):
            return None
        job = await jobs.defer(transaction, work.name, lock=work.name, queueing_lock=work.name)
        await transaction.run(Q["note_run"], name=work.name, due_at=due_at, job=job)
    return job


async def list_scheduled_jobs(jobs: JobRegistry) -> list[ScheduledJob]:
    """List every periodic job with its last and next run."""
    known = {row["name"]: row for row in await jobs.deps.store.all(Q["periodic_rows"])}
    return [_scheduled(jobs, work, known.get(work.name, {})) for work in jobs.periodic]


def _scheduled(jobs: JobRegistry, work: JobDefinition, row: dict[str, object]) -> ScheduledJob:
    line = cron_line(work, jobs.deps.setting)
    return ScheduledJob(
        name=work.name,
        line=line,
        next_at=next_due_time(line, now=jobs.deps.clock(), zone=cron_timezone(work, jobs.deps.setting)),
        last_due_at=row.get("last_due_at"),  # type: ignore[arg-type]
        last_job=row.get("last_job_id"),  # type: ignore[arg-type]
        result=str(row.get("result", "")),
        result_at=row.get("result_at"),  # type: ignore[arg-type]
    )
