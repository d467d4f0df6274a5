"""Every registered job is idempotent: that is what lets a dead worker's job be given to another."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests import database
from tests.events.wiring import DELIVER, Wired, context_builder, make_told
from tests.jobs.contract import Case, rows_after
from tests.jobs.deps import rows, run_sql

from festinger.events.outbox import prune_events
from festinger.jobs.dead_letters import prune_jobs
from festinger.jobs.model import JobRun
from festinger.jobs.queue import JobRegistry
from festinger.settings.tree import EventsSettings, StoreSettings
from festinger.store.pool import Store, open_store


@pytest.fixture
def database_url_again(run_folder: Path) -> Iterator[str]:
    """A second fresh database, to compare with."""
    url = database.clone(run_folder)
    yield url
    database.drop(run_folder, url)


OLD = """insert into event (space_id, id, name, version, subject, payload, at)
select 'main', gen_random_uuid(), 'provider_up', 1, 'p', '{}', '2020-01-01' from generate_series(1, 1500)"""
OLD_JOBS = """insert into procrastinate_jobs (queue_name, task_name, status)
select 'learn', 'gone', 'succeeded' from generate_series(1, 1500)"""


async def one_delivery(jobs: JobRegistry) -> dict[str, Any]:
    [row] = await rows(
        jobs.deps.store, "select space_id as space, event_id::text as event, subscriber from event_delivery"
    )
    return dict(row)


async def old_events(jobs: JobRegistry) -> dict[str, Any]:
    await run_sql(jobs.deps.store, OLD)
    return {}


async def old_jobs(jobs: JobRegistry) -> dict[str, Any]:
    await run_sql(jobs.deps.store, OLD_JOBS)
    return {}


CASES = [
    Case(name=DELIVER, prepare=one_delivery, look="select subscriber, new from told"),
    Case(name="prune_events", prepare=old_events, look="select name from event"),
    Case(name="prune_jobs", prepare=old_jobs, look="select id from procrastinate_jobs where task_name = 'gone'"),
]


async def wire(store: Store) -> JobRegistry:
    """All jobs that these two rooms bring along."""
    wired = Wired(store)
    await make_told(store)
    wired.outbox.subscribe("setting_changed", "cache", context_builder("cache"))
    await wired.emit(new=1)
    jobs = wired.jobs

    async def prune_outbox(run: JobRun) -> None:
        async def report(done: int) -> None:
            await run.report(done)

        await prune_events(store, EventsSettings(), now=jobs.deps.clock(), report=report)

    async def prune_queue(run: JobRun) -> None:
        await prune_jobs(jobs.deps, run)

    jobs.register("prune_events", prune_outbox, queue="sleep", schedule="40 3 * * *")
    jobs.register("prune_jobs", prune_queue, queue="sleep", schedule="50 3 * * *", limit=timedelta(hours=1))
    return jobs


async def test_every_job_of_these_rooms_has_a_case(store: Store):
    assert {case.name for case in CASES} == set(await wire(store))


@pytest.mark.requirement("X-55")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize(("runs", "kill_first"), [(2, False), (1, True)], ids=["twice", "killed midway"])
async def test_a_job_that_is_repeated_leaves_the_rows_of_one_run(
    store: Store, database_url_again: str, case: Case, runs: int, kill_first: bool
):
    once = await rows_after(store, await wire(store), case, runs=1, kill_first=False)
    async with open_store(database_url_again, StoreSettings(), door="test") as other:
        again = await rows_after(other, await wire(other), case, runs=runs, kill_first=kill_first)

    assert again == once
