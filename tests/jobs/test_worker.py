"""The crew of a process: slots per queue, graceful stop, restarts, heartbeat."""

import asyncio
from datetime import timedelta
from itertools import islice

import pytest
from procrastinate.exceptions import ConnectorException
from tests.jobs.deps import drain, make_jobs, rows, run_sql

from festinger.errors import StoreDown
from festinger.jobs import worker
from festinger.jobs.dead_letters import JobState, find_job
from festinger.jobs.model import JobRun, Queue
from festinger.jobs.queue import JobRegistry
from festinger.jobs.worker import WorkerPool, restart_delays, run_workers
from festinger.store.pool import Store


class Gate:
    """A deed that begins, then waits until it is let through."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.begun: asyncio.Queue[int] = asyncio.Queue()
        self.done: asyncio.Queue[int] = asyncio.Queue()

    async def operation(self, run: JobRun, **_ids: object) -> None:
        self.begun.put_nowait(run.job)
        await self.open.wait()
        self.done.put_nowait(run.job)


@pytest.fixture
def _no_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers hear of jobs, or not at all."""
    monkeypatch.setattr(worker, "POLL_SECONDS", 3_600.0)


@pytest.mark.requirement("X-50")
async def test_a_job_that_is_deferred_while_workers_wait_is_heard_and_done(store: Store):
    jobs = make_jobs(store)
    gate = Gate()
    gate.open.set()
    jobs.register("learn", gate.operation)

    async with run_workers(jobs, roaming=1, shutdown_seconds=5):
        await jobs.connector.listening.wait()
        job = await jobs.defer(None, "learn")
        done = await gate.done.get()

    assert done == job


@pytest.mark.requirement("X-50")
async def test_a_slow_queue_never_starves_another(store: Store):
    jobs = make_jobs(store)
    slow, quick = Gate(), Gate()
    quick.open.set()
    jobs.register("deep_sleep", slow.operation, queue=Queue.SLEEP)
    for queue in (Queue.LEARN, Queue.JUDGE, Queue.INDEX, Queue.SEND):
        jobs.register(queue.value, quick.operation, queue=queue)
    for _ in range(10):
        await jobs.defer(None, "deep_sleep")

    async with run_workers(jobs, roaming=2, shutdown_seconds=5):
        for _ in range(3):
            await slow.begun.get()
        quick_jobs = {await jobs.defer(None, queue) for queue in ("learn", "judge", "index", "send")}
        done = {await quick.done.get() for _ in range(4)}
        slow.open.set()

    assert done == quick_jobs


@pytest.mark.requirement("X-43")
@pytest.mark.usefixtures("_no_polling")
async def test_a_chain_of_one_lock_goes_on_without_polling(store: Store):
    jobs = make_jobs(store)
    order: list[int] = []
    finished = asyncio.Event()

    async def step(_run: JobRun, *, n: int) -> None:
        order.append(n)
        if n == 49:
            finished.set()

    jobs.register("step", step)
    for n in range(50):
        await jobs.defer(None, "step", lock="one", n=n)
    async with run_workers(jobs, roaming=3, shutdown_seconds=5):
        await finished.wait()

    assert order == list(range(50))


@pytest.mark.requirement("X-50")
async def test_a_stop_lets_running_jobs_finish(store: Store):
    jobs = make_jobs(store)
    gate = Gate()
    jobs.register("learn", gate.operation)
    job = await jobs.defer(None, "learn")

    async with run_workers(jobs, roaming=1, shutdown_seconds=60):
        await gate.begun.get()
        asyncio.get_running_loop().call_later(0.01, gate.open.set)

    assert (await find_job(store, job)).state is JobState.DONE


@pytest.mark.requirement("X-50")
async def test_a_job_that_outlasts_the_stop_goes_back_without_losing_an_attempt(store: Store):
    jobs = make_jobs(store)
    gate = Gate()
    jobs.register("learn", gate.operation)
    job = await jobs.defer(None, "learn")

    for _ in range(4):
        async with run_workers(jobs, roaming=1, shutdown_seconds=0.01):
            await gate.begun.get()
    waiting = await find_job(store, job)
    gate.open.set()
    await drain(jobs)

    assert waiting.state is JobState.WAITING
    assert (await find_job(store, job)).state is JobState.DONE
    assert await rows(store, "select forgiven from job_record") == [{"forgiven": 4}]


def test_a_crash_looping_worker_backs_off_from_a_second_to_a_minute():
    assert list(islice(restart_delays(), 8)) == [1, 2, 4, 8, 16, 32, 60, 60]


async def test_a_worker_that_fails_is_started_again_with_growing_pauses(store: Store, monkeypatch: pytest.MonkeyPatch):
    jobs = make_jobs(store)
    pauses: list[float] = []
    enough = asyncio.Event()

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            enough.set()
            await asyncio.Event().wait()

    async def refuse() -> int:
        raise ConnectorException

    monkeypatch.setattr(jobs.engine.job_manager, "register_worker", refuse)
    crew = WorkerPool(jobs, shutdown_seconds=5, pause=pause)
    task = asyncio.create_task(crew.keep("learn", ["learn"]))
    await enough.wait()
    task.cancel()
    await asyncio.wait({task})

    assert pauses == [1, 2, 4]


@pytest.mark.requirement("X-55")
async def test_the_heartbeat_of_every_worker_is_renewed(store: Store):
    jobs = make_jobs(store)
    gate = Gate()
    jobs.register("learn", gate.operation)
    await jobs.defer(None, "learn")

    async with run_workers(jobs, roaming=1, shutdown_seconds=5) as crew:
        await gate.begun.get()
        await run_sql(store, "update procrastinate_workers set last_heartbeat = now() - interval '1 hour'")
        await crew.send_heartbeats()
        silent = await rows(
            store, "select 1 from procrastinate_workers where last_heartbeat < now() - interval '1 minute'"
        )
        gate.open.set()

    assert silent == []
    assert await rows(store, "select id from procrastinate_workers") == []


@pytest.mark.requirement("X-55")
async def test_a_duty_outlives_a_database_that_is_away(store: Store):
    crew = WorkerPool(make_jobs(store), shutdown_seconds=5, pause=_no_pause)
    tries = 0

    async def duty() -> None:
        nonlocal tries
        tries += 1
        if tries == 3:
            raise asyncio.CancelledError
        raise StoreDown(kind="lost")

    with pytest.raises(asyncio.CancelledError):
        await crew.every(1, duty)

    assert tries == 3


async def _no_pause(_seconds: float) -> None:
    await asyncio.sleep(0)


@pytest.mark.requirement("X-54")
async def test_the_tick_waits_for_the_next_minute(store: Store):
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    jobs: JobRegistry = make_jobs(store)
    crew = WorkerPool(jobs, shutdown_seconds=5, pause=pause)
    hands = jobs.deps.clock.__self__  # type: ignore[attr-defined]
    hands.forward(timedelta(seconds=42))
    await crew.tick()

    assert pauses == [18]
