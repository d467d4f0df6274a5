"""Which work is known, and how does a job get into the queue?

`Jobs` is what wiring holds: rooms register their deeds with it and defer jobs by name, in their own open
transaction, so that a job exists if and only if the change that asked for it does. Running them is `worker`'s
matter, trying one `attempt`'s.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from procrastinate import App, JobContext
from procrastinate.exceptions import AlreadyEnqueued

from festinger.clock import Clock, Stopwatch
from festinger.errors import AlreadyRunning, FestingerError, NotFound, Refused
from festinger.jobs.attempt import Desk, Redact, Retries, Setting, attempt
from festinger.jobs.courtesy import Courtesy
from festinger.jobs.engine import StoreConnector, engine_faults
from festinger.jobs.work import DEFAULT_LIMIT, Deed, Ending, Priority, Queue, Watch, Work, checked_ids
from festinger.store.pool import Store, Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.jobs")

CLAIMS = 10
"""How often a queueing lock is tried that others win and lose in the meantime."""


async def watch_nothing(_transaction: Transaction, _ending: Ending) -> None:
    """For a wiring that tells nobody of dead jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A job that is asked for among others of its kind."""

    queue: str
    lock: str | None = None
    priority: Priority = Priority.USUAL
    ids: Mapping[str, Any]


class Jobs(Mapping[str, Work]):
    """Every kind of work by name, and the way into the queue."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        stopwatch: Stopwatch,
        chance: random.Random,
        setting: Setting,
        redact: Redact,
        watch: Watch = watch_nothing,
    ) -> None:
        self.courtesy = Courtesy(stopwatch)
        """A door says here that a request is there; jobs wait for it."""
        self.desk = Desk(
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
        self._works: dict[str, Work] = {}

    def __getitem__(self, name: str) -> Work:
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
        deed: Deed,
        *,
        queue: str = Queue.LEARN,
        schedule: str = "",
        timezone: str = "",
        limit: timedelta = DEFAULT_LIMIT,
        low_value: bool = False,
        priority: Priority = Priority.USUAL,
    ) -> Work:
        """Make a deed known. `schedule` is a cron line, or the settings key that holds one."""
        if name in self._works:
            raise FestingerError(f"Job `{name}` is registered twice.")
        work = Work(
            name=name,
            deed=deed,
            queue=Queue(queue),
            schedule=schedule,
            timezone=timezone,
            limit=limit,
            low_value=low_value,
            priority=priority,
        )
        self._works[name] = work

        async def tried(context: JobContext, /, **ids: Any) -> None:
            await attempt(self.desk, work, context, ids)

        self.engine.task(
            name=name, queue=work.queue.value, priority=priority, pass_context=True, retry=Retries()
        )(tried)
        return work

    @property
    def periodic(self) -> list[Work]:
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
        """Put a job into its queue as part of `transaction`; its id.

        Jobs of one `lock` run one at a time, in this order. While a job waits under a `queueing_lock`, asking
        again gives that job.
        """
        if transaction is None:
            async with self.desk.store.transaction() as own:
                return await self.defer(
                    own, name, lock=lock, queueing_lock=queueing_lock, queue=queue, at=at, **ids
                )
        options = {
            "lock": lock,
            "queueing_lock": queueing_lock,
            "queue": Queue(queue or self[name].queue).value,
            "schedule_at": at,
        }
        if queueing_lock is None:
            return await self._insert(transaction, name, options=options, ids=ids)
        return await self._insert_unless_waiting(transaction, name, options=options, ids=ids)

    async def defer_all(self, transaction: Transaction, name: str, asked: Sequence[Asked]) -> None:
        """Put many jobs of one kind into their queues, in this order and in one round trip."""
        jobs = [
            self.engine.configure_task(
                name, lock=each.lock, queue=Queue(each.queue).value, priority=each.priority
            ).make_new_job(**checked_ids(name, each.ids))
            for each in asked
        ]
        with engine_faults():
            await self.engine.job_manager.batch_defer_jobs_async(jobs, connection=transaction.connection)

    async def run_now(self, name: str) -> int:
        """Start a periodic job by hand; the id of the run. One that waits or runs is `AlreadyRunning`."""
        if not self[name].schedule:
            raise Refused(f"Job `{name}` is not periodic.", hint="Only periodic jobs can be started by hand.")
        async with self.desk.store.transaction() as transaction:
            await transaction.run(Q["lock_name"], name=name)
            active = await transaction.maybe(Q["active_job"], name=name)
            if active is not None:
                raise AlreadyRunning(f"`{name}` is already running as job {active['id']}.", job=active["id"])
            job = await self.defer(transaction, name, lock=name, queueing_lock=name)
            await transaction.run(Q["note_run_by_hand"], name=name, job=job)
        return job

    async def cancel(self, job: int) -> str:
        """Stop a job: `cancelled` if it waited; `asked` if it runs, it then stops at its next batch."""
        async with self.desk.store.transaction() as transaction:
            if await transaction.maybe(Q["cancel_waiting"], job=job):
                return "cancelled"
            if await transaction.maybe(Q["ask_to_cancel"], job=job, now=self.desk.clock()):
                return "asked"
        raise NotFound(f"There is no waiting or running job {job}.")

    async def _insert(
        self, transaction: Transaction, name: str, *, options: dict[str, Any], ids: Mapping[str, Any]
    ) -> int:
        checked = dict(checked_ids(name, ids))
        deferrer = self.engine.configure_task(name, connection=transaction.connection, **options)
        with engine_faults():
            return await deferrer.defer_async(**checked)

    async def _insert_unless_waiting(
        self, transaction: Transaction, name: str, *, options: dict[str, Any], ids: Mapping[str, Any]
    ) -> int:
        for _ in range(CLAIMS):
            waiting = await transaction.maybe(
                Q["waiting_with_queueing_lock"], queueing_lock=options["queueing_lock"]
            )
            if waiting is not None:
                return int(waiting["id"])
            try:
                # A savepoint: somebody may have come first, which must not cost the caller's transaction.
                async with transaction.connection.transaction():
                    return await self._insert(transaction, name, options=options, ids=ids)
            except AlreadyEnqueued:
                continue
        raise AlreadyRunning(f"`{name}` is being asked for by too many at once.")
