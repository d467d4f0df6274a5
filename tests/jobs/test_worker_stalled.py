"""Jobs of workers that died."""

import pytest
from tests.jobs.deps import drain, drain_all, make_jobs, run_sql

from festinger.jobs.dead_letters import JobState, find_job
from festinger.jobs.model import EndedJob, JobRun
from festinger.jobs.worker import requeue_stalled
from festinger.store.pool import Store, Transaction

SILENCE = "update procrastinate_workers set last_heartbeat = now() - make_interval(secs => %(seconds)s)"


async def die_over_a_job(store: Store, *, silent_s: int) -> None:
    """A worker takes the oldest job and is heard of no more."""
    await run_sql(store, "insert into procrastinate_workers default values")
    await run_sql(
        store,
        """update procrastinate_jobs set status = 'doing',
                  worker_id = (select max(id) from procrastinate_workers)
           where id = (select min(id) from procrastinate_jobs where status = 'todo')""",
    )
    await run_sql(store, SILENCE, seconds=silent_s)


@pytest.mark.requirement("X-55")
async def test_the_job_of_a_silent_worker_goes_back_and_is_done(store: Store):
    jobs = make_jobs(store)
    ran: list[int] = []

    async def work(run: JobRun) -> None:
        ran.append(run.job)

    jobs.register("work", work)
    job = await jobs.defer(None, "work", lock="l", queueing_lock="q")
    await die_over_a_job(store, silent_s=61)

    assert await requeue_stalled(jobs.deps) == [job]
    await drain(jobs)

    assert ran == [job]
    assert (await find_job(store, job)).worker_deaths == 1


@pytest.mark.requirement("X-55")
async def test_a_worker_that_was_heard_within_the_minute_keeps_its_job(store: Store):
    jobs = make_jobs(store)
    jobs.register("work", lambda run: None)  # type: ignore[arg-type,return-value]
    job = await jobs.defer(None, "work")
    await die_over_a_job(store, silent_s=50)

    assert await requeue_stalled(jobs.deps) == []
    assert (await find_job(store, job)).state is JobState.RUNNING


async def test_a_job_over_which_three_workers_died_is_parked_and_told(store: Store):
    told: list[EndedJob] = []

    async def watch(transaction: Transaction, ending: EndedJob) -> None:
        told.append(ending)

    jobs = make_jobs(store, watch=watch)
    jobs.register("deadly", lambda run: None)  # type: ignore[arg-type,return-value]
    job = await jobs.defer(None, "deadly", n=1)
    states = []
    for _ in range(3):
        await die_over_a_job(store, silent_s=61)
        await requeue_stalled(jobs.deps)
        states.append((await find_job(store, job)).state)

    assert states == [JobState.WAITING, JobState.WAITING, JobState.DEAD]
    assert [(ending.job, ending.error) for ending in told] == [(job, "worker_died")]


async def test_a_death_costs_no_attempt(store: Store):
    jobs = make_jobs(store)
    tries: list[int] = []

    async def work(run: JobRun) -> None:
        tries.append(run.job)
        raise ValueError("broken")

    jobs.register("work", work)
    await jobs.defer(None, "work")
    for _ in range(2):
        await die_over_a_job(store, silent_s=61)
        await requeue_stalled(jobs.deps)
    await drain_all(jobs)

    assert len(tries) == 3
