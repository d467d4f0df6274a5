"""`festinger jobs`: background work, waiting, dead, scheduled."""

import asyncio
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from festinger.cli.command import command, listing
from festinger.cli.context import Desk
from festinger.cli.progress import progress
from festinger.cli.terminal import moment
from festinger.errors import BadInput
from festinger.jobs.dead_letters import JobView, State, drop, find_job, list_jobs, retry, retry_all
from festinger.jobs.queue import scheduled
from festinger.runtime.app import App

if TYPE_CHECKING:
    from rich.table import Table

LOOK_SECONDS = 0.5
"""How often a job that is waited for is looked at; it reports at most twice a second."""

UNDER_WAY = (State.WAITING, State.RUNNING)

JobId = Annotated[int, typer.Argument(help="Number of the job.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Background work: see it, run it now, retry or drop what died.\n\nExample: festinger jobs --dead"
    )
    app.add_typer(group, name="jobs")
    listing(group)(list_work)
    command(group, "schedule")(show_schedule)
    command(group, "run")(run_now)
    command(group, "retry")(retry_dead)
    command(group, "drop")(drop_dead)
    command(group, "cancel")(cancel)


async def list_work(
    desk: Desk,
    state: Annotated[State | None, typer.Option("--state", help="Only jobs in this state.")] = None,
    dead: Annotated[bool, typer.Option("--dead", help="Only jobs that were given up.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="At most so many, the newest.")] = 50,
) -> None:
    """Jobs, the newest first.

    Example: festinger jobs list --state running
    """
    if dead and state not in (None, State.DEAD):
        raise BadInput("`--dead` and `--state` contradict each other.", hint="Give one of them.")
    async with desk.app() as app:
        found = await list_jobs(app.store, state=State.DEAD if dead else state, limit=limit)
    table = _dead(desk, found) if dead or state is State.DEAD else _all(desk, found)
    empty = "Nothing has died." if dead else "No such jobs. `festinger jobs schedule` shows what comes."
    desk.show([asdict(job) for job in found], table=table, text=empty)


async def show_schedule(desk: Desk) -> None:
    """Periodic jobs with their last and next run.

    Example: festinger jobs schedule
    """
    async with desk.app() as app:
        found = await scheduled(app.jobs)
    rows = (
        (job.name, job.line or "(off)", moment(job.next_at), moment(job.last_due_at), job.result)
        for job in found
    )
    desk.show(
        [asdict(job) for job in found], table=desk.table(("job", "cron", "next", "last", "result"), rows)
    )


async def run_now(
    desk: Desk,
    name: Annotated[str, typer.Argument(help="Name of a periodic job.")],
    wait: Annotated[bool, typer.Option("--wait", help="Follow it to its end.")] = False,
) -> int:
    """Start a periodic job now. A worker (in `serve` or `worker`) does it.

    Example: festinger jobs run prune_events --wait
    """
    async with desk.app() as app:
        job = await app.jobs.run_now(name)
        if not wait:
            desk.show({"job": job, "name": name}, text=f"Job {job} waits for a worker.")
            return 0
        desk.say(f"Job {job} waits for a worker. Ctrl-C stops the waiting, not the job.")
        ended = await _followed(desk, app, job)
    failed = ended.state is not State.DONE
    desk.show(asdict(ended), text=f"Job {job} is {ended.state}. {ended.error}".rstrip())
    return 1 if failed else 0


async def retry_dead(
    desk: Desk,
    job: Annotated[int | None, typer.Argument(help="Number of the job.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every dead job.")] = False,
) -> None:
    """Put dead jobs back into their queues.

    Example: festinger jobs retry --all
    """
    if (job is None) is not every:
        raise BadInput("Give the number of one job, or `--all`.")
    async with desk.app() as app:
        if job is None:
            again = await retry_all(app.store)
        else:
            await retry(app.store, job)
            again = [job]
    desk.show({"retried": again}, text=f"{len(again)} jobs go back to their queues.")


async def drop_dead(
    desk: Desk, job: JobId, note: Annotated[str, typer.Option("--note", help="Why it need not be done.")]
) -> None:
    """Lay a dead job aside for good.

    Example: festinger jobs drop 42 --note "the model is gone"
    """
    async with desk.app() as app:
        await drop(app.jobs.desk, job, note=note)
    desk.show({"dropped": job}, text=f"Job {job} is laid aside.")


async def cancel(desk: Desk, job: JobId) -> None:
    """Stop a job: at once if it waits, at its next batch if it runs.

    Example: festinger jobs cancel 42
    """
    async with desk.app() as app:
        how = await app.jobs.cancel(job)
    desk.show(
        {"job": job, "how": how}, text="Cancelled." if how == "cancelled" else "It stops at its next batch."
    )


async def _followed(desk: Desk, app: App, job: int) -> JobView:
    """The job as it ended, after showing how far it was."""
    with progress(desk, f"Job {job}") as report:
        while (seen := await find_job(app.store, job)).state in UNDER_WAY:
            if seen.progress:
                report(seen.progress.done, seen.progress.total, seen.progress.note)
            await asyncio.sleep(LOOK_SECONDS)
    return seen


def _all(desk: Desk, found: Iterable[JobView]) -> "Table":
    rows = (
        (job.id, job.name, job.queue, job.state, job.attempts, _progress(job), job.error) for job in found
    )
    return desk.table(("id", "job", "queue", "state", "tries", "progress", "error"), rows)


def _dead(desk: Desk, found: Iterable[JobView]) -> "Table":
    rows = (
        (
            job.id,
            job.name,
            _ids(job),
            job.attempts,
            moment(job.first_failed_at),
            moment(job.last_failed_at),
            job.error,
        )
        for job in found
    )
    return desk.table(("id", "job", "for", "tries", "first failed", "last failed", "error"), rows)


def _progress(job: JobView) -> str:
    if job.progress is None:
        return ""
    total = f"/{job.progress.total}" if job.progress.total else ""
    return f"{job.progress.done}{total} {job.progress.note}".rstrip()


def _ids(job: JobView) -> str:
    return " ".join(f"{name}={value}" for name, value in job.ids.items())
