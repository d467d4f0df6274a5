"""`festinger jobs`: background work, waiting, dead, scheduled."""

from dataclasses import asdict
from typing import Annotated

import typer

from festinger.cli.command import command
from festinger.cli.desk import Desk
from festinger.errors import BadInput
from festinger.jobs.deadletters import JobView, State, drop, list_jobs, retry, retry_all
from festinger.jobs.schedule import scheduled

JobId = Annotated[int, typer.Argument(help="Number of the job.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Background work: see it, run it now, retry or drop what died.", no_args_is_help=True
    )
    app.add_typer(group, name="jobs")
    command(group, "list")(list_work)
    command(group, "schedule")(show_schedule)
    command(group, "run")(run_now)
    command(group, "retry")(retry_dead)
    command(group, "drop")(drop_dead)
    command(group, "cancel")(cancel)


async def list_work(
    desk: Desk,
    state: Annotated[State | None, typer.Option("--state", help="Only jobs in this state.")] = None,
    dead: Annotated[bool, typer.Option("--dead", help="Only jobs that were given up.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000)] = 50,
) -> None:
    """Jobs, the newest first.

    Example: festinger jobs list --dead
    """
    async with desk.app() as app:
        found = await list_jobs(app.store, state=State.DEAD if dead else state, limit=limit)
    table = desk.table(
        ("id", "job", "queue", "state", "tries", "progress", "error"), (_row(job) for job in found)
    )
    desk.show([asdict(job) for job in found], table=table, text="No such jobs.")


async def show_schedule(desk: Desk) -> None:
    """Periodic jobs with their last and next run.

    Example: festinger jobs schedule
    """
    async with desk.app() as app:
        found = await scheduled(app.jobs)
    rows = ((job.name, job.line or "(off)", job.next_at, job.last_due_at, job.result) for job in found)
    desk.show(
        [asdict(job) for job in found], table=desk.table(("job", "cron", "next", "last", "result"), rows)
    )


async def run_now(desk: Desk, name: Annotated[str, typer.Argument(help="Name of a periodic job.")]) -> None:
    """Start a periodic job now; a worker (in `serve` or `worker`) does it.

    Example: festinger jobs run prune_events
    """
    async with desk.app() as app:
        job = await app.jobs.run_now(name)
    desk.show({"job": job, "name": name}, text=f"Job {job} waits for a worker.")


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


def _row(job: JobView) -> tuple[object, ...]:
    progress = ""
    if job.progress:
        total = f"/{job.progress.total}" if job.progress.total else ""
        progress = f"{job.progress.done}{total} {job.progress.note}"
    return job.id, job.name, job.queue, job.state, job.attempts, progress, job.error
