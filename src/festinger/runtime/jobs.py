"""Joins events with jobs, and registers the app's own housekeeping jobs.

Events and jobs know nothing of each other. Each delivery of an event is a job, inserted in the transaction of
the change; a job that is given up emits an event, in the transaction that gives it up.
"""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from festinger.events.catalogue import Delivery
from festinger.events.outbox import Outbox, deliver_event, drop_delivery, mark_delivery_dead, prune_events
from festinger.ids import MAIN_SPACE, SpaceId
from festinger.jobs.attempt import Redact, Setting
from festinger.jobs.dead_letters import prune_jobs
from festinger.jobs.model import EndedJob, JobEndState, JobPriority, JobRun, Queue
from festinger.jobs.queue import JobRegistry, JobRequest
from festinger.runtime.environment import SystemServices
from festinger.store.backup.backup import create_automatic_backup, read_manifest
from festinger.store.paths import HomeLayout
from festinger.store.pool import Store, Transaction
from festinger.store.repositories.exchanges import prune_sessions
from festinger.store.repositories.request_log import prune_requests

if TYPE_CHECKING:
    from festinger.runtime.app import App


PRUNE_EVENTS = "prune_events"
PRUNE_JOBS = "prune_jobs"
PRUNE_REQUESTS = "prune_requests"
BACKUP = "backup"

QUIET_HOUR = "17 3 * * *"
"""When old rows are removed: at night, off the full hour that everybody else chooses."""

QUIET = timedelta(days=30)
"""A session that was quiet this long is not recognized again."""


def register_housekeeping_jobs(app: "App") -> None:
    """Register the housekeeping jobs: pruning and the automatic backup."""

    async def old_events(run: JobRun) -> int:
        async def report(done: int) -> None:
            await run.report(done, note="old events removed")

        return await prune_events(app.store, app.settings.now.events, now=app.tools.clock(), report=report)

    async def old_requests(run: JobRun) -> int:
        now, days = app.tools.clock(), app.settings.now.proxy.request_log_days
        removed = await prune_requests(app.store, before=now - timedelta(days=days))
        await run.report(removed, note="old lines of the request log removed")
        return removed + await prune_sessions(app.store, before=now - QUIET)

    async def backup(_run: JobRun) -> None:
        keep = app.settings.now.store.backup_keep
        folder = HomeLayout(home=app.home).backups
        made = await create_automatic_backup(app.url, folder, keep=keep, clock=app.tools.clock)
        await emit_backup_made(app, made)

    app.jobs.register(PRUNE_EVENTS, old_events, queue=Queue.SLEEP, schedule=QUIET_HOUR)
    app.jobs.register(PRUNE_JOBS, partial(prune_jobs, app.jobs.deps), queue=Queue.SLEEP, schedule=QUIET_HOUR)
    app.jobs.register(PRUNE_REQUESTS, old_requests, queue=Queue.SLEEP, schedule=QUIET_HOUR)
    app.jobs.register(BACKUP, backup, queue=Queue.SLEEP, schedule="store.backup_schedule")


async def emit_backup_made(app: "App", file: Path) -> None:
    manifest = read_manifest(file)
    async with app.store.transaction() as transaction:
        await app.outbox.emit(
            transaction,
            "backup_made",
            space=MAIN_SPACE,
            subject="backup",
            payload={"file": file.name, "bytes": manifest.bytes, "sha256": manifest.sha256},
        )


DELIVER = "deliver_event"


class JobBackedOutbox:
    """An outbox whose deliveries are jobs, and jobs whose deaths are events."""

    def __init__(self, store: Store, tools: SystemServices, *, setting: Setting, redact: Redact) -> None:
        self._store = store
        self._clock = tools.clock
        self.outbox = Outbox(clock=tools.clock, new_id=tools.new_id, deliver=self._ask)
        self.jobs = JobRegistry(
            store,
            clock=tools.clock,
            stopwatch=tools.stopwatch,
            chance=tools.chance,
            setting=setting,
            redact=redact,
            watch=self._ended,
        )
        self.jobs.register(DELIVER, self._deliver)

    async def _ask(self, transaction: Transaction, deliveries: Sequence[Delivery]) -> None:
        asked = [
            JobRequest(
                queue=delivery.queue,
                lock=delivery.lock,
                priority=JobPriority.NEW_STATEMENT if delivery.is_first else JobPriority.USUAL,
                ids={"space": delivery.space, "event": str(delivery.event), "subscriber": delivery.subscriber},
            )
            for delivery in deliveries
        ]
        await self.jobs.defer_all(transaction, DELIVER, asked)

    async def _deliver(self, _run: JobRun, *, space: str, event: str, subscriber: str) -> None:
        await deliver_event(self._store, self.outbox, space=space, event=event, subscriber=subscriber)

    async def _ended(self, transaction: Transaction, ending: EndedJob) -> None:
        if ending.name != DELIVER:
            await self._emit_job_dead(transaction, ending)
        elif ending.end is JobEndState.DEAD:
            await mark_delivery_dead(transaction, self.outbox, **ending.ids, error=ending.text)
        else:
            await drop_delivery(transaction, **ending.ids, note=ending.text, now=self._clock())

    async def _emit_job_dead(self, transaction: Transaction, ending: EndedJob) -> None:
        if ending.end is JobEndState.DEAD:
            await self.outbox.emit(
                transaction,
                "job_dead",
                space=SpaceId(ending.ids.get("space", MAIN_SPACE)),
                subject=f"job:{ending.name}",
                payload={"job": ending.job, "name": ending.name, "error": ending.error},
            )
