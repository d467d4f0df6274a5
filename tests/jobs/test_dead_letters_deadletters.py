"""What a person sees of dead jobs and can do about them."""

from datetime import timedelta

import pytest
from tests.jobs.deps import MONDAY, Hands, drain, drain_all, make_jobs

from festinger.errors import BadInput, NotFound, ProviderDown
from festinger.jobs.dead_letters import JobState, drop_job, find_job, list_jobs, retry_dead_jobs, retry_job
from festinger.jobs.model import EndedJob, JobEndState, JobRun
from festinger.store.pool import Store, Transaction


class Provider:
    """Down until it is mended."""

    def __init__(self) -> None:
        self.mended = False
        self.calls = 0

    async def operation(self, _run: JobRun, **_ids: object) -> None:
        self.calls += 1
        if not self.mended:
            raise BadInput("broken")


@pytest.mark.requirement("X-52")
async def test_a_dead_job_shows_name_arguments_attempts_error_and_times(store: Store):
    hands = Hands()
    jobs = make_jobs(store, hands)

    async def judge(_run: JobRun, *, pair: str) -> None:
        hands.forward(timedelta(minutes=1))
        raise ProviderDown("nobody there")

    jobs.register("judge", judge, queue="judge")
    job = await jobs.defer(None, "judge", pair="p1")
    await drain_all(jobs)

    [dead] = await list_jobs(store, state=JobState.DEAD)
    assert (dead.id, dead.name, dead.queue, dead.ids) == (job, "judge", "judge", {"pair": "p1"})
    assert (dead.attempts, dead.error, dead.error_text) == (8, "provider_down", "nobody there")
    assert dead.first_failed_at == MONDAY + timedelta(minutes=1)
    assert dead.last_failed_at == MONDAY + timedelta(minutes=8)
    assert dead.deferred_at is not None


@pytest.mark.requirement("X-52")
async def test_a_retry_after_the_mend_works_once(store: Store):
    jobs = make_jobs(store)
    provider = Provider()
    jobs.register("judge", provider.operation)
    job = await jobs.defer(None, "judge")
    await drain_all(jobs)

    provider.mended = True
    await retry_job(store, job)
    await drain_all(jobs)

    assert provider.calls == 2
    assert (await find_job(store, job)).state is JobState.DONE
    with pytest.raises(NotFound):
        await retry_job(store, job)


@pytest.mark.requirement("X-52")
async def test_a_retried_job_has_all_its_attempts_again(store: Store):
    jobs = make_jobs(store)
    calls: list[int] = []

    async def judge(run: JobRun) -> None:
        calls.append(run.job)
        raise ValueError("still broken")

    jobs.register("judge", judge)
    job = await jobs.defer(None, "judge")
    await drain_all(jobs)
    await retry_job(store, job)
    await drain_all(jobs)

    assert len(calls) == 6


@pytest.mark.requirement("X-52")
async def test_all_dead_jobs_of_a_name_are_retried_together(store: Store):
    jobs = make_jobs(store)
    first, second = Provider(), Provider()
    jobs.register("judge", first.operation)
    jobs.register("embed", second.operation)
    judged = [await jobs.defer(None, "judge", n=n) for n in range(3)]
    embedded = await jobs.defer(None, "embed")
    await drain_all(jobs)

    assert await retry_dead_jobs(store, name="judge") == judged
    assert [job.id for job in await list_jobs(store, state=JobState.DEAD)] == [embedded]
    assert await retry_dead_jobs(store) == [embedded]


@pytest.mark.requirement("X-52")
async def test_a_dropped_job_leaves_the_dead_with_its_note_and_is_told(store: Store):
    told: list[EndedJob] = []

    async def watch(transaction: Transaction, ending: EndedJob) -> None:
        told.append(ending)

    jobs = make_jobs(store, watch=watch)
    jobs.register("judge", Provider().operation)
    job = await jobs.defer(None, "judge", pair="p1")
    await drain_all(jobs)

    await drop_job(jobs.deps, job, note="the pair is gone")

    assert await list_jobs(store, state=JobState.DEAD) == []
    assert [(view.id, view.drop_note) for view in await list_jobs(store, state=JobState.DROPPED)] == [
        (job, "the pair is gone")
    ]
    assert [(ending.end, dict(ending.ids)) for ending in told] == [
        (JobEndState.DEAD, {"pair": "p1"}),
        (JobEndState.DROPPED, {"pair": "p1"}),
    ]
    with pytest.raises(NotFound):
        await drop_job(jobs.deps, job, note="again")
    with pytest.raises(NotFound):
        await retry_job(store, job)


@pytest.mark.requirement("X-52")
async def test_a_drop_needs_a_note(store: Store):
    with pytest.raises(BadInput, match="note"):
        await drop_job(make_jobs(store).deps, 1, note="  ")


async def test_a_job_that_is_not_dead_cannot_be_retried_or_dropped(store: Store):
    jobs = make_jobs(store)
    jobs.register("judge", Provider().operation)
    job = await jobs.defer(None, "judge")

    with pytest.raises(NotFound):
        await retry_job(store, job)
    with pytest.raises(NotFound):
        await drop_job(jobs.deps, job, note="no")
    assert [view.state for view in await list_jobs(store)] == [JobState.WAITING]


async def test_an_unknown_job_is_not_found(store: Store):
    with pytest.raises(NotFound, match="job 99"):
        await find_job(store, 99)


async def test_done_jobs_are_listed_by_state_and_name(store: Store):
    jobs = make_jobs(store)
    provider = Provider()
    provider.mended = True
    jobs.register("judge", provider.operation)
    jobs.register("embed", provider.operation)
    await jobs.defer(None, "judge")
    job = await jobs.defer(None, "embed")
    await drain(jobs)

    assert [view.id for view in await list_jobs(store, state=JobState.DONE, name="embed")] == [job]
