"""Which periodic job is due?

Once a minute every worker looks at the cron lines as the settings have them at that moment, in UTC unless the work
names a setting with another time zone. A unique row per due run makes it happen once in the whole cluster. After a time without any worker only the latest
missed run is made up.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from croniter import CroniterBadDateError, croniter

from festinger.jobs.attempt import Setting
from festinger.jobs.jobs import Jobs
from festinger.jobs.work import Work
from festinger.store.queries import queries_of

Q = queries_of("festinger.jobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduled:
    """A periodic job as a person sees it."""

    name: str
    line: str
    next_at: datetime | None
    last_due_at: datetime | None
    last_job: int | None
    result: str
    result_at: datetime | None


def latest_due(line: str, *, now: datetime, after: datetime, zone: tzinfo = UTC) -> datetime | None:
    """The last moment up to `now` at which the cron line was due, if it lies after `after`."""
    if not line:
        return None
    # One second into the minute, because the moment itself counts as due.
    start = now.astimezone(zone).replace(second=0, microsecond=0) + timedelta(seconds=1)
    try:
        due: datetime = croniter(line, start).get_prev(datetime)
    except CroniterBadDateError:
        # A line that never comes true, such as the 30th of February.
        return None
    return due.astimezone(UTC) if due > after else None


def next_due(line: str, *, now: datetime, zone: tzinfo = UTC) -> datetime | None:
    """The next moment at which the cron line is due."""
    try:
        due: datetime | None = croniter(line, now.astimezone(zone)).get_next(datetime) if line else None
    except CroniterBadDateError:
        return None
    return due.astimezone(UTC) if due else None


def zone_of(work: Work, setting: Setting) -> tzinfo:
    """The time zone that the cron line is in."""
    return ZoneInfo(str(setting(work.timezone))) if work.timezone else UTC


def line_of(work: Work, setting: Setting) -> str:
    """The cron line that is in force: the work's own, or the one that its settings key holds."""
    return work.schedule if " " in work.schedule else str(setting(work.schedule))


async def tick(jobs: Jobs) -> list[int]:
    """Defer what is due now; the ids of the jobs."""
    deferred = [await _tick_one(jobs, work) for work in jobs.periodic]
    return [job for job in deferred if job is not None]


async def _tick_one(jobs: Jobs, work: Work) -> int | None:
    now = jobs.desk.clock()
    line = line_of(work, jobs.desk.setting)
    async with jobs.desk.store.transaction() as transaction:
        after = await transaction.value(Q["see_periodic"], name=work.name, line=line, now=now)
        due_at = latest_due(line, now=now, after=after, zone=zone_of(work, jobs.desk.setting))
        if due_at is None or not await transaction.maybe(Q["claim_run"], name=work.name, due_at=due_at):
            return None
        job = await jobs.defer(transaction, work.name, lock=work.name, queueing_lock=work.name)
        await transaction.run(Q["note_run"], name=work.name, due_at=due_at, job=job)
    return job


async def scheduled(jobs: Jobs) -> list[Scheduled]:
    """Every periodic job with its last and next run."""
    known = {row["name"]: row for row in await jobs.desk.store.all(Q["periodic_rows"])}
    return [_scheduled(jobs, work, known.get(work.name, {})) for work in jobs.periodic]


def _scheduled(jobs: Jobs, work: Work, row: dict[str, object]) -> Scheduled:
    line = line_of(work, jobs.desk.setting)
    return Scheduled(
        name=work.name,
        line=line,
        next_at=next_due(line, now=jobs.desk.clock(), zone=zone_of(work, jobs.desk.setting)),
        last_due_at=row.get("last_due_at"),  # type: ignore[arg-type]
        last_job=row.get("last_job_id"),  # type: ignore[arg-type]
        result=str(row.get("result", "")),
        result_at=row.get("result_at"),  # type: ignore[arg-type]
    )
