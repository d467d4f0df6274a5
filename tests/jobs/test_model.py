"""Progress and cancelling, batch by batch."""

from datetime import timedelta

import pytest
from tests.jobs.deps import Hands, drain, drain_all, make_jobs

from festinger.errors import NotFound
from festinger.jobs.dead_letters import JobProgress, JobState, find_job
from festinger.jobs.model import JobRun
from festinger.store.pool import Store


@pytest.mark.requirement("X-57")
async def test_progress_is_kept_at_most_twice_a_second(store: Store):
    hands = Hands()
    jobs = make_jobs(store, hands)
    seen: list[int] = []

    async def long(run: JobRun) -> None:
        for done in range(1, 41):
            await run.report(done, 40, "batches")
            progress = (await find_job(store, run.job)).progress
            assert progress is not None
            seen.append(progress.done)
            hands.forward(timedelta(milliseconds=125))

    jobs.register("long", long)
    job = await jobs.defer(None, "long")
    await drain(jobs)

    assert sorted(set(seen)) == list(range(1, 41, 4))
    assert (await find_job(store, job)).progress == JobProgress(done=37, total=40, note="batches")


@pytest.mark.requirement("X-57")
async def test_cancelling_stops_at_the_next_batch_and_keeps_finished_ones(store: Store):
    jobs = make_jobs(store)
    finished: list[int] = []

    async def long(run: JobRun) -> None:
        for done in range(1, 6):
            finished.append(done)
            if done == 3:
                assert await jobs.cancel(run.job) == "asked"
            await run.report(done, 5)

    jobs.register("long", long)
    job = await jobs.defer(None, "long")
    await drain(jobs)

    assert finished == [1, 2, 3]
    assert (await find_job(store, job)).state is JobState.CANCELLED


@pytest.mark.requirement("X-57")
async def test_a_waiting_job_that_is_cancelled_never_runs(store: Store):
    jobs = make_jobs(store)
    ran: list[int] = []

    async def long(run: JobRun) -> None:
        ran.append(run.job)

    jobs.register("long", long)
    job = await jobs.defer(None, "long")

    assert await jobs.cancel(job) == "cancelled"
    await drain(jobs)

    assert ran == []
    assert (await find_job(store, job)).state is JobState.CANCELLED


async def test_a_job_that_fails_after_it_was_told_to_stop_is_not_begun_again(store: Store):
    jobs = make_jobs(store)
    ran: list[int] = []

    async def long(run: JobRun) -> None:
        ran.append(run.job)
        await jobs.cancel(run.job)
        raise ValueError("before the next batch")

    jobs.register("long", long)
    job = await jobs.defer(None, "long")
    await drain_all(jobs)

    assert ran == [job]
    assert (await find_job(store, job)).state is JobState.CANCELLED


async def test_a_job_that_ended_cannot_be_cancelled(store: Store):
    jobs = make_jobs(store)

    with pytest.raises(NotFound, match="job 7"):
        await jobs.cancel(7)
