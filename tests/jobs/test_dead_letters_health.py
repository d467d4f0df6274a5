"""What `doctor` says of background work."""

import pytest
from tests.jobs.deps import drain, make_jobs, run_sql

from festinger.errors import BadInput
from festinger.jobs.dead_letters import check_jobs, retry_dead_jobs
from festinger.jobs.model import JobRun
from festinger.jobs.queue import JobRegistry
from festinger.observability.checks import Check, CheckSeverity
from festinger.store.pool import Store


async def refuse(_run: JobRun, **_ids: object) -> None:
    raise BadInput("no")


async def checks(jobs: JobRegistry) -> dict[str, Check]:
    return {check.name: check for check in await check_jobs(jobs.deps)}


async def test_a_dead_job_fails_by_name_with_a_remedy(store: Store):
    jobs = make_jobs(store)
    jobs.register("judge_pairs", refuse)
    job = await jobs.defer(None, "judge_pairs")
    await drain(jobs)

    dead = (await checks(jobs))["jobs.dead"]

    assert dead.severity is CheckSeverity.FAIL
    assert "`judge_pairs` (1)" in dead.message
    assert "festinger jobs retry" in dead.remedy
    assert dead.details == {"jobs": [job]}
    await retry_dead_jobs(store)
    assert (await checks(jobs))["jobs.dead"].severity is CheckSeverity.OK


@pytest.mark.requirement("X-55")
async def test_a_job_without_a_living_worker_warns(store: Store):
    jobs = make_jobs(store)
    jobs.register("judge_pairs", refuse)
    await jobs.defer(None, "judge_pairs")
    await run_sql(store, "update procrastinate_jobs set status = 'doing'")

    stalled = (await checks(jobs))["jobs.stalled"]

    assert stalled.severity is CheckSeverity.WARN
    assert "festinger worker" in stalled.remedy


@pytest.mark.requirement("X-58")
async def test_a_queue_that_falls_behind_warns(store: Store):
    settings = {"jobs.max_waiting": 1, "jobs.keep_done_days": 7}
    jobs = make_jobs(store, settings=settings)
    jobs.register("judge_pairs", refuse)
    await jobs.defer(None, "judge_pairs")
    before = (await checks(jobs))["jobs.behind"]
    await jobs.defer(None, "judge_pairs")

    behind = (await checks(jobs))["jobs.behind"]

    assert before.severity is CheckSeverity.OK
    assert behind.severity is CheckSeverity.WARN
    assert "jobs.workers" in behind.remedy
