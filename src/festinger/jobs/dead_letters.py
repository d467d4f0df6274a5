"""Lists jobs, and lets a person retry or drop dead ones.

`retry_job` gives a dead job all its attempts again, `drop_job` sets it aside with a reason. Finished jobs are
pruned in small batches after `jobs.keep_done_days`; dead jobs are never removed automatically.

Health checks of background work: dead jobs, jobs whose worker died, queues that fall behind.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from festinger.errors import BadInput, NotFound
from festinger.jobs.attempt import JobDeps
from festinger.jobs.backpressure import PATIENCE, read_backlog
from festinger.jobs.model import EndedJob, JobEndState, JobRun
from festinger.jobs.worker import SILENT_SECONDS
from festinger.observability.checks import Check, failed_check, ok_check, warning_check
from festinger.records import row_mapper
from festinger.store.pool import Row, Store
from festinger.store.queries import load_queries

Q = load_queries("festinger.jobs")


class JobState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    DEAD = "dead"
    DROPPED = "dropped"
    CANCELLED = "cancelled"


STATUSES = {
    JobState.WAITING: ["todo"],
    JobState.RUNNING: ["doing"],
    JobState.DONE: ["succeeded"],
    JobState.DEAD: ["failed"],
    JobState.DROPPED: ["failed"],
    JobState.CANCELLED: ["cancelled", "aborted"],
}
"""The engine's names for each state; a dropped job is a failed one with a note."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProgress:
    done: int
    total: int | None
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """One job as a person sees it."""

    id: int
    name: str
    queue: str
    state: JobState
    ids: Mapping[str, Any]
    attempts: int
    deferred_at: datetime | None
    changed_at: datetime | None
    next_at: datetime | None
    progress: JobProgress | None
    error: str
    error_text: str
    first_failed_at: datetime | None
    last_failed_at: datetime | None
    worker_deaths: int
    drop_note: str


async def list_jobs(
    store: Store, *, state: JobState | None = None, name: str | None = None, limit: int = 100
) -> list[JobView]:
    """List jobs, newest first, optionally of one state."""
    rows = await store.all(
        Q["jobs_in_state"],
        job=None,
        name=name,
        statuses=STATUSES[state] if state else None,
        dropped=(state is JobState.DROPPED) if state in (JobState.DEAD, JobState.DROPPED) else None,
        limit=limit,
    )
    return [_view(row) for row in rows]


async def find_job(store: Store, job: int) -> JobView:
    missing = NotFound(f"There is no job {job}.", hint="Finished jobs are removed after some days.")
    row = await store.one(Q["jobs_in_state"], missing, job=job, name=None, statuses=None, dropped=None, limit=1)
    return _view(row)


async def retry_job(store: Store, job: int) -> None:
    """Put a dead job back into its queue."""
    await store.one(Q["retry_dead"], _no_dead_job(job), job=job)


async def retry_dead_jobs(store: Store, *, name: str | None = None) -> list[int]:
    """Put every dead job, or those of one name, back into the queue; return their ids."""
    async with store.transaction() as transaction:
        dead = [row["id"] for row in await transaction.all(Q["dead_ids"], name=name)]
        return [job for job in dead if await transaction.maybe(Q["retry_dead"], job=job)]


async def drop_job(deps: JobDeps, job: int, *, note: str) -> None:
    """Set a dead job aside; `note` says why."""
    if not note.strip():
        raise BadInput("A job is dropped with a note.", hint="Say in a few words why it need not be done.")
    async with deps.store.transaction() as transaction:
        row = await transaction.one(Q["drop_dead"], _no_dead_job(job), job=job, note=note, now=deps.clock())
        ending = EndedJob(
            end=JobEndState.DROPPED, job=job, name=row["name"], ids=row["args"], error=row["error"], text=note
        )
        await deps.watch(transaction, ending)


def _no_dead_job(job: int) -> NotFound:
    return NotFound(f"There is no dead job {job}.", hint="`festinger jobs --dead` lists them.")


_map_view = row_mapper(JobView, ids="args")


def _view(row: Row) -> JobView:
    progress = None if row["done"] is None else JobProgress(done=row["done"], total=row["total"], note=row["note"])
    next_at = row["scheduled_at"] if row["state"] == JobState.WAITING else None
    return _map_view({**row, "next_at": next_at, "progress": progress})


BATCH = 1_000


async def prune_jobs(deps: JobDeps, run: JobRun) -> int:
    """Remove jobs that ended long ago, batch by batch; return how many."""
    before = deps.clock() - timedelta(days=deps.setting("jobs.keep_done_days"))
    removed = 0
    while batch := await deps.store.run(Q["prune_done"], before=before, limit=BATCH):
        removed += batch
        await run.report(removed, note="finished jobs removed")
    await deps.store.run(Q["prune_runs"], before=before)
    return removed


async def check_jobs(deps: JobDeps) -> list[Check]:
    return [await _dead(deps), await _stalled(deps), await _behind(deps)]


async def _dead(deps: JobDeps) -> Check:
    dead = await list_jobs(deps.store, state=JobState.DEAD)
    if not dead:
        return ok_check("jobs.dead", "No job was given up.")
    counts = Counter(job.name for job in dead)
    names = ", ".join(f"`{name}` ({count})" for name, count in counts.most_common())
    return failed_check(
        "jobs.dead",
        f"Given up after all attempts: {names}. Last error: `{dead[0].error}`.",
        "Mend the cause, then `festinger jobs retry ID` (or `--all`); `festinger jobs drop ID --note WHY` "
        "lays one aside.",
        jobs=[job.id for job in dead],
    )


async def _stalled(deps: JobDeps) -> Check:
    row = await deps.store.one(Q["count_stalled"], silent_s=SILENT_SECONDS)
    if not row["jobs"]:
        return ok_check("jobs.stalled", "Every running job has a living worker.")
    return warning_check(
        "jobs.stalled",
        f"{row['jobs']} running jobs belong to a worker that died.",
        "They go back to the queue when a worker runs: start `festinger serve` or `festinger worker`.",
        jobs=row["jobs"],
    )


async def _behind(deps: JobDeps) -> Check:
    found = await read_backlog(deps.store, max_waiting=deps.setting("jobs.max_waiting"))
    minutes = int(found.oldest_learn.total_seconds() // 60)
    details = {"waiting": found.waiting, "oldest_learn_minutes": minutes}
    if not found.behind:
        return ok_check("jobs.behind", "The workers keep up.", **details)
    return warning_check(
        "jobs.behind",
        f"{found.waiting} jobs wait, the oldest learning for {minutes} minutes "
        f"(limits: {found.max_waiting} jobs, {int(PATIENCE.total_seconds() // 60)} minutes).",
        "Add workers with `festinger worker`, or raise `jobs.workers`; low-value work pauses until then.",
        **details,
    )
