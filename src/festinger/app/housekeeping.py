"""Which work does the house itself need, whatever its rooms hold?

Removes what is old enough and makes the automatic backup. Registered once, at wiring.
"""

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from festinger.events.erase import prune_events
from festinger.ids import MAIN_SPACE
from festinger.jobs.dead_letters import prune_jobs
from festinger.jobs.model import Queue, Run
from festinger.store.backup.backup import automatic_backup, read
from festinger.store.paths import Layout
from festinger.store.repositories.exchanges import prune_sessions
from festinger.store.repositories.request_log import prune_requests

if TYPE_CHECKING:
    from festinger.app.wiring import App

PRUNE_EVENTS = "prune_events"
PRUNE_JOBS = "prune_jobs"
PRUNE_REQUESTS = "prune_requests"
BACKUP = "backup"

QUIET_HOUR = "17 3 * * *"
"""When old rows are removed: at night, and not at the full hour that everybody else chooses."""

QUIET = timedelta(days=30)
"""A session that was quiet for so long is not known again."""


def register_housekeeping(app: "App") -> None:
    """Make the house's own jobs known."""

    async def old_events(run: Run) -> int:
        async def report(done: int) -> None:
            await run.report(done, note="old events removed")

        return await prune_events(app.store, app.settings.now.events, now=app.tools.clock(), report=report)

    async def old_jobs(run: Run) -> int:
        return await prune_jobs(app.jobs.desk, run)

    async def old_requests(run: Run) -> int:
        now, days = app.tools.clock(), app.settings.now.proxy.request_log_days
        removed = await prune_requests(app.store, before=now - timedelta(days=days))
        await run.report(removed, note="old lines of the request log removed")
        return removed + await prune_sessions(app.store, before=now - QUIET)

    async def backup(_run: Run) -> None:
        keep = app.settings.now.store.backup_keep
        folder = Layout(home=app.home).backups
        made = await automatic_backup(app.url, folder, keep=keep, clock=app.tools.clock)
        await tell_of_backup(app, made)

    app.jobs.register(PRUNE_EVENTS, old_events, queue=Queue.SLEEP, schedule=QUIET_HOUR)
    app.jobs.register(PRUNE_JOBS, old_jobs, queue=Queue.SLEEP, schedule=QUIET_HOUR)
    app.jobs.register(PRUNE_REQUESTS, old_requests, queue=Queue.SLEEP, schedule=QUIET_HOUR)
    app.jobs.register(BACKUP, backup, queue=Queue.SLEEP, schedule="store.backup_schedule")


async def tell_of_backup(app: "App", file: Path) -> None:
    manifest = read(file)
    async with app.store.transaction() as transaction:
        await app.outbox.emit(
            transaction,
            "backup_made",
            space=MAIN_SPACE,
            subject="backup",
            payload={"file": file.name, "bytes": manifest.bytes, "sha256": manifest.sha256},
        )
