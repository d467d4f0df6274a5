"""What becomes of a job whose deed fails, hangs, is interrupted or makes way."""

import asyncio
from datetime import timedelta

import pytest
from tests.jobs.deps import MONDAY, drain, drain_all, make_jobs, rows, run_sql

from festinger.errors import BadInput, ProviderDown, ProviderRefused
from festinger.jobs.dead_letters import JobState, find_job, list_jobs
from festinger.jobs.model import EndedJob, JobEndState, JobRun
from festinger.store.pool import Store, Transaction


def failing(error: Exception, tries: list[int]):
    async def operation(run: JobRun, **_ids: object) -> None:
        tries.append(run.job)
        raise error

    return operation


@pytest.mark.requirement("X-51")
@pytest.mark.parametrize(
    ("error", "attempts"), [(ProviderDown(), 8), (BadInput(), 1), (ProviderRefused(), 1), (KeyError("x"), 3)]
)
async def test_a_job_that_always_fails_is_given_up_after_its_attempts(store: Store, error: Exception, attempts: int):
    jobs = make_jobs(store)
    tries: list[int] = []
    jobs.register("judge", failing(error, tries))
    job = await jobs.defer(None, "judge", pair="p1")

    await drain_all(jobs)

    assert len(tries) == attempts
    assert (await find_job(store, job)).state is JobState.DEAD


@pytest.mark.requirement("X-51")
async def test_the_first_retry_waits_about_five_seconds_on_the_engines_clock(store: Store):
    jobs = make_jobs(store)
    jobs.register("judge", failing(ProviderDown(), []))
    await jobs.defer(None, "judge")

    await drain(jobs)

    [row] = await rows(store, "select extract(epoch from scheduled_at - now())::float8 as s from procrastinate_jobs")
    assert 0 < row["s"] <= 6


async def test_a_job_that_succeeds_at_last_is_done(store: Store):
    jobs = make_jobs(store)
    tries: list[int] = []

    async def judge(run: JobRun) -> None:
        tries.append(run.job)
        if len(tries) < 3:
            raise ValueError("not yet")

    jobs.register("judge", judge)
    job = await jobs.defer(None, "judge")
    await drain_all(jobs)

    assert (await find_job(store, job)).state is JobState.DONE
    assert len(tries) == 3


async def test_a_failing_job_does_not_keep_others_from_running(store: Store):
    jobs = make_jobs(store)
    done: list[int] = []

    async def good(_run: JobRun, *, n: int) -> None:
        done.append(n)

    jobs.register("poison", failing(ValueError("always"), []))
    jobs.register("good", good)
    for n in range(5):
        await jobs.defer(None, "poison")
        await jobs.defer(None, "good", n=n)
    await drain(jobs)

    assert done == [0, 1, 2, 3, 4]


@pytest.mark.requirement("X-52")
async def test_an_ending_is_told_once_in_its_transaction_with_a_redacted_error(store: Store):
    told: list[EndedJob] = []

    async def watch(transaction: Transaction, ending: EndedJob) -> None:
        told.append(ending)

    jobs = make_jobs(store, watch=watch)
    jobs.register("judge", failing(BadInput("the key sk-secret is wrong"), []))
    job = await jobs.defer(None, "judge", pair="p1")
    await drain_all(jobs)

    assert told == [
        EndedJob(
            end=JobEndState.DEAD,
            job=job,
            name="judge",
            ids={"pair": "p1"},
            error="bad_input",
            text="the key [redacted] is wrong",
        )
    ]


async def test_a_dead_job_is_not_told_again_when_its_end_is_repeated_after_a_crash(store: Store):
    told: list[EndedJob] = []

    async def watch(transaction: Transaction, ending: EndedJob) -> None:
        told.append(ending)

    jobs = make_jobs(store, watch=watch)
    jobs.register("judge", failing(BadInput(), []))
    await jobs.defer(None, "judge")
    await drain(jobs)
    # As if the process had died between our mark and the engine's: the job is found running, without worker.
    await run_sql(store, "update procrastinate_jobs set status = 'todo'")
    await drain(jobs)

    assert len(told) == 1


async def test_a_watch_that_fails_leaves_the_job_unmarked_and_it_is_tried_again(store: Store):
    told: list[EndedJob] = []

    async def watch(transaction: Transaction, ending: EndedJob) -> None:
        told.append(ending)
        if len(told) == 1:
            raise ProviderDown

    jobs = make_jobs(store, watch=watch)
    jobs.register("judge", failing(BadInput(), []))
    job = await jobs.defer(None, "judge")
    await drain_all(jobs)

    assert len(told) == 2
    assert (await find_job(store, job)).state is JobState.DEAD


async def test_a_job_that_hangs_for_ever_is_cut_off_and_given_up(store: Store):
    jobs = make_jobs(store)

    async def hang(_run: JobRun) -> None:
        await asyncio.Event().wait()

    jobs.register("hang", hang, limit=timedelta(milliseconds=1))
    job = await jobs.defer(None, "hang")
    await drain_all(jobs)

    dead = await find_job(store, job)
    assert (dead.state, dead.error, dead.attempts) == (JobState.DEAD, "TimeoutError", 3)


async def test_a_job_that_nobody_knows_is_dead_and_named(store: Store):
    old = make_jobs(store)
    old.register("retired", failing(ValueError(), []))
    job = await old.defer(None, "retired")

    await drain(make_jobs(store))

    [dead] = await list_jobs(store, state=JobState.DEAD)
    assert (dead.id, dead.name, dead.error) == (job, "retired", "unrecorded")


async def test_what_a_deed_returns_is_not_looked_at(store: Store):
    jobs = make_jobs(store)

    async def rubbish(_run: JobRun) -> object:
        return object()

    jobs.register("rubbish", rubbish)
    job = await jobs.defer(None, "rubbish")
    await drain(jobs)

    assert (await find_job(store, job)).state is JobState.DONE


@pytest.mark.requirement("X-58")
async def test_low_value_work_makes_way_while_learning_is_behind(store: Store):
    jobs = make_jobs(store)
    ran: list[str] = []

    async def reembed(_run: JobRun) -> None:
        ran.append("reembed")

    jobs.register("reembed", reembed, queue="index", low_value=True)
    jobs.register("learn", reembed, queue="learn")
    await jobs.defer(None, "learn")
    await run_sql(store, "update procrastinate_events set at = now() - interval '11 minutes'")
    low = await jobs.defer(None, "reembed")
    for _ in range(5):
        await run_sql(store, "update procrastinate_jobs set scheduled_at = now() where id = %(low)s", low=low)
        await jobs.engine.run_worker_async(
            wait=False, queues=["index"], listen_notify=False, install_signal_handlers=False
        )
    paused = list(ran)
    await drain_all(jobs)

    assert paused == []
    assert ran == ["reembed", "reembed"]
    assert (await find_job(store, low)).state is JobState.DONE


async def test_a_failure_is_dated_by_the_injected_clock(store: Store):
    jobs = make_jobs(store)
    jobs.register("judge", failing(BadInput(), []))
    job = await jobs.defer(None, "judge")
    await drain(jobs)

    dead = await find_job(store, job)
    assert dead.first_failed_at == dead.last_failed_at == MONDAY
