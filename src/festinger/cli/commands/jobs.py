"""`festinger jobs`: background jobs, waiting, dead and scheduled."""

import asyncio
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from festinger.cli.command import command, register_list_command
from festinger.cli.context import CommandContext
from festinger.cli.terminal import format_time, show_progress
from festinger.errors import BadInput
from festinger.jobs.dead_letters import JobState, JobView, drop_job, find_job, list_jobs, retry_dead_jobs, retry_job
from festinger.jobs.queue import list_scheduled_jobs
from festinger.runtime.app import App

if TYPE_CHECKING:
    from rich.table import Table

LOOK_SECONDS = 0.5
"""The polling interval while waiting for a job; a job reports at most twice a second."""

UNDER_WAY = (JobState.WAITING, JobState.RUNNING)

JobId = Annotated[int, typer.Argument(help="Number of the job.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Background work: see it, run it now, retry or drop what died.\n\nExample: festinger jobs --dead"
    )
    app.add_typer(group, name="jobs")
    register_list_command(group)(list_all_jobs)
    command(group, "schedule")(show_schedule)
    command(group, "run")(run_now)
    command(group, "retry")(retry_dead)
    command(group, "drop")(drop_dead)
    command(group, "cancel")(cancel)


async def list_all_jobs(
    context: CommandContext,
    state: Annotated[JobState | None, typer.Option("--state", help="Only jobs in this state.")] = None,
    dead: Annotated[bool, typer.Option("--dead", help="Only jobs that were given up.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="At most so many, the newest.")] = 50,
) -> None:
    """Jobs, the newest first.

    Example: festinger jobs list --state running
    """
    if dead and state not in (None, JobState.DEAD):
        raise BadInput("`--dead` and `--state` contradict each other.", hint="Give one of them.")
    async with context.app() as app:
        found = await list_jobs(app.store, state=JobState.DEAD if dead else state, limit=limit)
    table = _dead(context, found) if dead or state is JobState.DEAD else _job_table(context, found)
    empty = "Nothing has died." if dead else "No such jobs. `festinger jobs schedule` shows what comes."
    context.show([asdict(job) for job in found], table=table, text=empty)


async def show_schedule(context: CommandContext) -> None:
    """Periodic jobs with their last and next run.

    Example: festinger jobs schedule
    """
    async with context.app() as app:
        found = await list_scheduled_jobs(app.jobs)
    rows = (
        (job.name, job.line or "(off)", format_time(job.next_at), format_time(job.last_due_at), job.result)
        for job in found
    )
    context.show([asdict(job) for job in found], table=context.table(("job", "cron", "next", "last", "result"), rows))


async def run_now(
    context: CommandContext,
    name: Annotated[str, typer.Argument(help="Name of a periodic job.")],
    wait: Annotated[bool, typer.Option("--wait", help="Follow it to its end.")] = False,
) -> int:
    """Start a periodic job now. A worker (in `serve` or `worker`) does it.

    Example: festinger jobs run prune_events --wait
    """
    async with context.app() as app:
        job = await app.jobs.run_now(name)
        if not wait:
            context.show({"job": job, "name": name}, text=f"Job {job} waits for a worker.")
            return 0
        context.say(f"Job {job} waits for a worker. Ctrl-C stops the waiting, not the job.")
        ended = await _wait_with_progress(context, app, job)
    failed = ended.state is not JobState.DONE
    context.show(asdict(ended), text=f"Job {job} is {ended.state}. {ended.error}".rstrip())
    return 1 if failed else 0


async def retry_dead(
    context: CommandContext,
    job: Annotated[int | None, typer.Argument(help="Number of the job.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every dead job.")] = False,
) -> None:
    """Put dead jobs back into their queues.

    Example: festinger jobs retry --all
    """
    if (job is None) is not every:
        raise BadInput("Give the number of one job, or `--all`.")
    async with context.app() as app:
        if job is None:
            again = await retry_dead_jobs(app.store)
        else:
            await retry_job(app.store, job)
            again = [job]
    context.show({"retried": again}, text=f"{len(again)} jobs go back to their queues.")


async def drop_dead(
    context: CommandContext, job: JobId, note: Annotated[str, typer.Option("--note", help="Why it need not be done.")]
) -> None:
    """Lay a dead job aside for good.

    Example: festinger jobs drop 42 --note "the model is gone"
    """
    async with context.app() as app:
        await drop_job(app.jobs.deps, job, note=note)
    context.show({"dropped": job}, text=f"Job {job} is laid aside.")


async def cancel(context: CommandContext, job: JobId) -> None:
    """Stop a job: at once if it waits, at its next batch if it runs.

    Example: festinger jobs cancel 42
    """
    async with context.app() as app:
        how = await app.jobs.cancel(job)
    context.show({"job": job, "how": how}, text="Cancelled." if how == "cancelled" else "It stops at its next batch.")


async def _wait_with_progress(context: CommandContext, app: App, job: int) -> JobView:
    """The job when it has ended; shows its progress meanwhile."""
    with show_progress(context, f"Job {job}") as report:
        while (seen := await find_job(app.store, job)).state in UNDER_WAY:
            if seen.progress:
                report(seen.progress.done, seen.progress.total, seen.progress.note)
            await asyncio.sleep(LOOK_SECONDS)
    return seen


def _job_table(context: CommandContext, found: Iterable[JobView]) -> "Table":
    rows = (
        (job.id, job.name, job.queue, job.state, job.attempts, _format_job_progress(job), job.error) for job in found
    )
    return context.table(("id", "job", "queue", "state", "tries", "progress", "error"), rows)


def _dead(context: CommandContext, found: Iterable[JobView]) -> "Table":
    rows = (
        (
            job.id,
            job.name,
            _ids(job),
            job.attempts,
            format_time(job.first_failed_at),
            format_time(job.last_failed_at),
            job.error,
        )
        for job in found
    )
    return context.table(("id", "job", "for", "tries", "first failed", "last failed", "error"), rows)


def _format_job_progress(job: JobView) -> str:
    if job.progress is None:
        return ""
    total = f"/{job.progress.total}" if job.progress.total else ""
    return f"{job.progress.done}{total} {job.progress.note}".rstrip()


def _ids(job: JobView) -> str:
    return " ".join(f"{name}={value}" for name, value in job.ids.items())
