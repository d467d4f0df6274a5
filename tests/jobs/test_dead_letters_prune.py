"""Which finished jobs are removed, and when."""

from datetime import timedelta

import pytest
from tests.jobs.deps import Hands, drain, drain_all, make_jobs, rows, run_sql

from festinger.errors import BadInput
from festinger.jobs.dead_letters import drop_job, list_jobs, prune_jobs
from festinger.jobs.model import JobRun
from festinger.jobs.queue import JobRegistry
from festinger.store.pool import Store

AGE = "update procrastinate_events set at = %(at)s"


async def nothing(_run: JobRun, **_ids: object) -> None:
    pass


async def refuse(_run: JobRun, **_ids: object) -> None:
    raise BadInput("no")


def run_of(jobs: JobRegistry) -> JobRun:
    deps = jobs.deps
    return JobRun(1, "prune", store=deps.store, clock=deps.clock, stopwatch=deps.stopwatch, limit=timedelta(hours=1))


@pytest.mark.requirement("X-52")
async def test_done_cancelled_and_dropped_jobs_go_after_their_days_and_dead_ones_stay(store: Store):
    hands = Hands()
    jobs = make_jobs(store, hands)
    jobs.register("good", nothing)
    jobs.register("bad", refuse)
    await jobs.defer(None, "good")
    dropped, dead = await jobs.defer(None, "bad"), await jobs.defer(None, "bad")
    await drain_all(jobs)
    await drop_job(jobs.deps, dropped, note="not needed")
    cancelled = await jobs.defer(None, "good")
    await jobs.cancel(cancelled)
    waiting = await jobs.defer(None, "good")
    await run_sql(store, AGE, at=hands.now)

    hands.forward(timedelta(days=7))
    assert await prune_jobs(jobs.deps, run_of(jobs)) == 0
    hands.forward(timedelta(seconds=1))
    assert await prune_jobs(jobs.deps, run_of(jobs)) == 3

    assert [job.id for job in await list_jobs(store)] == [waiting, dead]
    assert [row["job_id"] for row in await rows(store, "select job_id from job_record order by 1")] == [1, dead]


async def test_the_marks_of_old_runs_go_too(store: Store):
    hands = Hands()
    jobs = make_jobs(store, hands)
    for days in (6, 8):
        due_at = hands.now - timedelta(days=days)
        await run_sql(store, "insert into periodic_run (name, due_at) values ('x', %(at)s)", at=due_at)

    await prune_jobs(jobs.deps, run_of(jobs))

    assert await rows(store, "select due_at from periodic_run") == [{"due_at": hands.now - timedelta(days=6)}]


async def test_a_pruning_that_is_told_to_stop_keeps_what_it_removed(store: Store):
    hands = Hands()
    jobs = make_jobs(store, hands)
    jobs.register("good", nothing)

    async def prune(run: JobRun) -> None:
        await jobs.cancel(run.job)
        await prune_jobs(jobs.deps, run)

    await jobs.defer(None, "good")
    await drain(jobs)
    await run_sql(store, AGE, at=hands.now - timedelta(days=8))
    jobs.register("prune_jobs", prune)
    job = await jobs.defer(None, "prune_jobs")
    await drain(jobs)

    assert [(view.id, view.state.value) for view in await list_jobs(store)] == [(job, "cancelled")]
