"""How a job gets into the queue, and how often."""

import asyncio

import pytest
from tests.jobs.deps import drain, drain_all, make_jobs, rows

from festinger.errors import AlreadyRunning, BadInput, FestingerError, NotFound, Refused
from festinger.jobs.model import JobPriority, JobRun, Queue
from festinger.jobs.queue import JobRequest
from festinger.store.pool import Store, is_in_transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.jobs")

WAITING = "select id, queue_name, args from procrastinate_jobs where status = 'todo' order by id"


async def nothing(_run: JobRun, **_ids: object) -> None:
    pass


@pytest.mark.requirement("X-50")
async def test_a_deferred_job_is_done_with_the_ids_that_it_was_given(store: Store):
    jobs = make_jobs(store)
    seen = []

    async def embed(run: JobRun, *, memory: str, version: int) -> None:
        seen.append((memory, version))

    jobs.register("embed", embed, queue=Queue.INDEX)
    await jobs.defer(None, "embed", memory="m1", version=3)
    await drain(jobs)

    assert seen == [("m1", 3)]


@pytest.mark.requirement("X-50")
async def test_a_rollback_leaves_no_job(store: Store):
    jobs = make_jobs(store)
    jobs.register("embed", nothing)

    async def change_that_fails() -> None:
        async with store.transaction() as transaction:
            await jobs.defer(transaction, "embed", memory="m1")
            raise ValueError("the change failed")

    with pytest.raises(ValueError, match="the change failed"):
        await change_that_fails()

    assert await rows(store, WAITING) == []


@pytest.mark.requirement("X-53")
async def test_a_hundred_requests_for_one_key_make_one_waiting_job(store: Store):
    jobs = make_jobs(store)
    jobs.register("reembed", nothing)

    ids = await asyncio.gather(
        *(jobs.defer(None, "reembed", queueing_lock="reembed:m1", memory="m1") for _ in range(100))
    )

    assert len(set(ids)) == 1
    assert [row["id"] for row in await rows(store, WAITING)] == [ids[0]]


@pytest.mark.requirement("X-53")
async def test_asking_for_waiting_work_does_not_cost_the_callers_transaction(store: Store):
    jobs = make_jobs(store)
    jobs.register("reembed", nothing)
    jobs.register("other", nothing)
    first = await jobs.defer(None, "reembed", queueing_lock="m1")

    async with store.transaction() as transaction:
        again = await jobs.defer(transaction, "reembed", queueing_lock="m1")
        other = await jobs.defer(transaction, "other")

    assert again == first
    assert [row["id"] for row in await rows(store, WAITING)] == [first, other]


@pytest.mark.requirement("X-53")
async def test_a_waiting_job_is_not_taken_before_the_change_that_leans_on_it_is_in_force(store: Store):
    jobs = make_jobs(store)
    ran = []

    async def reembed(run: JobRun) -> None:
        ran.append(run.job)

    jobs.register("reembed", reembed)
    job = await jobs.defer(None, "reembed", queueing_lock="m1")

    async with store.transaction() as transaction:
        await jobs.defer(transaction, "reembed", queueing_lock="m1")
        await jobs.engine.run_worker_async(wait=False, listen_notify=False, install_signal_handlers=False)
        before_commit = list(ran)
    await drain(jobs)

    assert before_commit == []
    assert ran == [job]


@pytest.mark.requirement("X-53")
async def test_jobs_of_one_lock_run_one_at_a_time_and_in_order(store: Store):
    jobs = make_jobs(store)
    running: list[int] = []
    order: list[int] = []

    async def step(run: JobRun, *, n: int) -> None:
        assert running == []
        running.append(n)
        await store.all(Q["periodic_rows"])
        running.remove(n)
        order.append(n)

    jobs.register("step", step)
    for n in range(20):
        await jobs.defer(None, "step", lock="one", n=n)
    await drain(jobs, workers=5)

    assert order == list(range(20))


@pytest.mark.requirement("X-53")
async def test_many_jobs_are_asked_for_at_once_in_their_order_each_with_its_lock_and_queue(store: Store):
    jobs = make_jobs(store)
    order: list[int] = []

    async def step(_run: JobRun, *, n: int) -> None:
        order.append(n)

    jobs.register("step", step)
    asked = [JobRequest(queue=Queue.INDEX, lock="one", ids={"n": n}) for n in range(10)]
    async with store.transaction() as transaction:
        await jobs.defer_all(transaction, "step", asked)

    assert {row["queue_name"] for row in await rows(store, WAITING)} == {Queue.INDEX.value}
    await drain(jobs, workers=3)
    assert order == list(range(10))


@pytest.mark.requirement("X-53")
async def test_a_job_that_fails_while_the_same_work_waits_again_still_goes_back(store: Store):
    jobs = make_jobs(store)
    ran = []

    async def reembed(run: JobRun) -> None:
        ran.append(run.job)
        if len(ran) == 1:
            await jobs.defer(None, "reembed", queueing_lock="m1")
            raise ValueError("the first attempt fails")

    jobs.register("reembed", reembed)
    first = await jobs.defer(None, "reembed", queueing_lock="m1")
    await drain_all(jobs)

    assert sorted(ran) == [first, first, first + 1]


@pytest.mark.requirement("X-50")
@pytest.mark.parametrize("value", ["x" * 201, {"a": 1}, ["y" * 201], list(range(101)), b"bytes"])
async def test_a_text_is_no_argument(store: Store, value: object):
    jobs = make_jobs(store)
    jobs.register("embed", nothing)

    with pytest.raises(BadInput, match="`memory`"):
        await jobs.defer(None, "embed", memory=value)


async def test_an_unknown_job_cannot_be_deferred(store: Store):
    with pytest.raises(NotFound, match="`unheard`"):
        await make_jobs(store).defer(None, "unheard")


async def test_a_name_is_registered_once(store: Store):
    jobs = make_jobs(store)
    jobs.register("embed", nothing)

    with pytest.raises(FestingerError, match="twice"):
        jobs.register("embed", nothing)


@pytest.mark.requirement("X-56")
async def test_a_periodic_job_is_started_by_hand_once(store: Store):
    jobs = make_jobs(store)
    jobs.register("resolve_conflicts", nothing, schedule="0 2 * * *", queue=Queue.SLEEP)

    run = await jobs.run_now("resolve_conflicts")
    with pytest.raises(AlreadyRunning) as refused:
        await jobs.run_now("resolve_conflicts")
    await drain(jobs)
    later = await jobs.run_now("resolve_conflicts")

    assert refused.value.details == {"job": run}
    assert later > run


@pytest.mark.requirement("X-56")
async def test_a_run_that_is_under_way_is_not_started_again(store: Store):
    jobs = make_jobs(store)
    refusals = []

    async def resolve(run: JobRun) -> None:
        with pytest.raises(AlreadyRunning) as refused:
            await jobs.run_now("resolve_conflicts")
        refusals.append((run.job, refused.value.details["job"]))

    jobs.register("resolve_conflicts", resolve, schedule="0 2 * * *")
    run = await jobs.run_now("resolve_conflicts")
    await drain(jobs)

    assert refusals == [(run, run)]


async def test_only_a_periodic_job_is_started_by_hand(store: Store):
    jobs = make_jobs(store)
    jobs.register("embed", nothing)

    with pytest.raises(Refused, match="not periodic"):
        await jobs.run_now("embed")


@pytest.mark.requirement("X-53")
async def test_a_deed_runs_outside_any_transaction_and_can_tell_when_it_is_inside_one(store: Store):
    jobs = make_jobs(store)
    seen: list[bool] = []

    async def judge(_run: JobRun) -> None:
        seen.append(is_in_transaction())
        async with store.transaction():
            seen.append(is_in_transaction())
        seen.append(is_in_transaction())

    jobs.register("judge", judge)
    await jobs.defer(None, "judge")
    await drain(jobs)

    assert seen == [False, True, False]


async def test_whether_a_job_is_known_can_be_asked(store: Store) -> None:
    jobs = make_jobs(store)
    jobs.register("known", _nothing)

    assert "known" in jobs
    assert "unknown" not in jobs


async def _nothing(_run: JobRun) -> None:
    return None


@pytest.mark.requirement("X-50")
async def test_what_somebody_just_said_is_learnt_before_bulk_work(store: Store):
    jobs = make_jobs(store)
    done = []

    async def note(_run: JobRun, *, what: str) -> None:
        done.append(what)

    jobs.register("bulk", note)
    jobs.register("learn", note, priority=JobPriority.NEW_STATEMENT)
    for number in range(3):
        await jobs.defer(None, "bulk", what=f"bulk {number}")
    await jobs.defer(None, "learn", what="said")
    async with store.transaction() as transaction:
        first = JobRequest(queue=Queue.LEARN, priority=JobPriority.NEW_STATEMENT, ids={"what": "asked"})
        await jobs.defer_all(transaction, "bulk", [first])
    await drain(jobs)

    assert done == ["said", "asked", "bulk 0", "bulk 1", "bulk 2"]
