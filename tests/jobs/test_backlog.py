"""When the queues count as behind."""

from datetime import timedelta

import pytest
from tests.jobs.deps import make_jobs, run_sql

from festinger.jobs.backpressure import JobBacklog, read_backlog, update_waiting_job_gauges
from festinger.jobs.model import JobRun, Queue
from festinger.observability.metrics import REGISTRY
from festinger.store.pool import Store


async def nothing(_run: JobRun, **_ids: object) -> None:
    pass


@pytest.mark.requirement("X-58")
@pytest.mark.parametrize(
    ("waiting", "oldest", "behind"),
    [
        (100, timedelta(0), False),
        (101, timedelta(0), True),
        (0, timedelta(minutes=10), False),
        (0, timedelta(minutes=10, seconds=1), True),
    ],
)
def test_too_many_waiting_or_too_old_learning_is_behind(waiting: int, oldest: timedelta, behind: bool):
    assert JobBacklog(waiting=waiting, oldest_learn=oldest, max_waiting=100).behind is behind


@pytest.mark.requirement("X-58")
async def test_waiting_jobs_are_counted_as_far_as_the_limit_needs(store: Store):
    jobs = make_jobs(store)
    jobs.register("embed", nothing, queue=Queue.INDEX)
    for _ in range(5):
        await jobs.defer(None, "embed")

    assert (await read_backlog(store, max_waiting=5)).behind is False
    found = await read_backlog(store, max_waiting=3)
    assert (found.waiting, found.behind) == (4, True)


@pytest.mark.requirement("X-58")
async def test_only_learning_that_could_run_now_makes_the_queue_old(store: Store):
    jobs = make_jobs(store)
    jobs.register("learn", nothing, queue=Queue.LEARN)
    jobs.register("embed", nothing, queue=Queue.INDEX)
    await jobs.defer(None, "embed")
    retrying = await jobs.defer(None, "learn")
    await run_sql(
        store, "update procrastinate_jobs set scheduled_at = now() + interval '1 hour' where id = %(id)s", id=retrying
    )
    await run_sql(store, "update procrastinate_events set at = now() - interval '1 hour'")

    assert (await read_backlog(store, max_waiting=100)).oldest_learn == timedelta(0)

    await run_sql(store, "update procrastinate_jobs set scheduled_at = null")
    assert (await read_backlog(store, max_waiting=100)).oldest_learn > timedelta(minutes=59)


async def test_the_gauges_show_each_queue(store: Store):
    jobs = make_jobs(store)
    jobs.register("embed", nothing, queue=Queue.INDEX)
    await jobs.defer(None, "embed")

    await update_waiting_job_gauges(store)

    def gauge(queue: str) -> float | None:
        return REGISTRY.get_sample_value("festinger_jobs_waiting_count", {"queue": queue})

    assert (gauge("index"), gauge("send")) == (1, 0)
