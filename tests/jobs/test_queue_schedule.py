"""Cron lines from the settings, each due run once."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.jobs.deps import SETTINGS, Hands, drain, make_jobs

from festinger.jobs.model import JobRun
from festinger.jobs.queue import JobRegistry, defer_due_jobs, latest_due_time, list_scheduled_jobs, next_due_time
from festinger.store.pool import Store

EVE = datetime(2026, 1, 4, 20, tzinfo=UTC)
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


async def nothing(_run: JobRun) -> None:
    pass


async def minutes(workers: list[JobRegistry], hands: Hands, until: datetime) -> list[datetime]:
    """Let the clock run, minute by minute, with a tick of every worker; the moments at which a run began."""
    began = []
    while hands.now < until:
        hands.forward(timedelta(minutes=1))
        deferred = await asyncio.gather(*(defer_due_jobs(jobs) for jobs in workers))
        began += [hands.now for jobs in deferred for _ in jobs]
        if began and began[-1] == hands.now:
            await drain(workers[0])
    return began


@pytest.mark.requirement("X-54")
async def test_three_workers_and_a_schedule_that_changes_at_runtime_make_one_run(store: Store):
    hands = Hands(now=datetime(2026, 1, 5, 1, 50, tzinfo=UTC))
    settings = {**SETTINGS, "world.resolution_schedule": "0 2 * * *"}
    workers = [make_jobs(store, hands, settings=settings) for _ in range(3)]
    for jobs in workers:
        jobs.register("resolve_conflicts", nothing, schedule="world.resolution_schedule")
        await defer_due_jobs(jobs)

    hands.forward(timedelta(minutes=5))
    settings["world.resolution_schedule"] = "0 3 * * *"
    began = await minutes(workers, hands, datetime(2026, 1, 5, 3, 5, tzinfo=UTC))

    assert began == [datetime(2026, 1, 5, 3, tzinfo=UTC)]


@pytest.mark.requirement("X-54")
async def test_a_changed_schedule_does_not_make_up_a_moment_that_was_never_due(store: Store):
    hands = Hands(now=datetime(2026, 1, 5, 2, tzinfo=UTC) - timedelta(minutes=1))
    settings = {**SETTINGS, "world.resolution_schedule": "0 2 * * *"}
    jobs = make_jobs(store, hands, settings=settings)
    jobs.register("resolve_conflicts", nothing, schedule="world.resolution_schedule")
    await defer_due_jobs(jobs)
    hands.now = datetime(2026, 1, 5, 2, tzinfo=UTC)
    first = await defer_due_jobs(jobs)
    await drain(jobs)

    hands.now = datetime(2026, 1, 5, 23, 0, tzinfo=UTC)
    await defer_due_jobs(jobs)
    settings["world.resolution_schedule"] = "0 3 * * *"
    hands.forward(timedelta(minutes=1))

    assert len(first) == 1
    assert await defer_due_jobs(jobs) == []


@pytest.mark.requirement("X-54")
async def test_a_schedule_changed_within_the_last_minute_still_runs_on_time(store: Store):
    hands = Hands(now=datetime(2026, 1, 5, 2, 59, tzinfo=UTC))
    settings = {**SETTINGS, "world.resolution_schedule": "0 2 * * *"}
    jobs = make_jobs(store, hands, settings=settings)
    jobs.register("resolve_conflicts", nothing, schedule="world.resolution_schedule")
    await defer_due_jobs(jobs)

    settings["world.resolution_schedule"] = "0 3 * * *"
    hands.now = datetime(2026, 1, 5, 3, tzinfo=UTC)

    assert len(await defer_due_jobs(jobs)) == 1


@pytest.mark.requirement("X-54")
async def test_after_three_days_off_one_run_is_made_up(store: Store):
    hands = Hands(now=EVE)
    jobs = make_jobs(store, hands)
    jobs.register("deep_sleep", nothing, schedule="0 2 * * *")
    await defer_due_jobs(jobs)

    hands.forward(timedelta(days=3))
    late = await defer_due_jobs(jobs)
    await drain(jobs)
    again = await defer_due_jobs(jobs)

    assert (len(late), again) == (1, [])


@pytest.mark.requirement("X-54")
async def test_a_new_installation_makes_nothing_up(store: Store):
    jobs = make_jobs(store, Hands(now=EVE))
    jobs.register("deep_sleep", nothing, schedule="0 2 * * *")

    assert await defer_due_jobs(jobs) == []


@pytest.mark.requirement("X-54")
async def test_an_empty_schedule_never_runs(store: Store):
    hands = Hands(now=EVE)
    jobs = make_jobs(store, hands, settings={**SETTINGS, "store.backup_schedule": ""})
    jobs.register("backup", nothing, schedule="store.backup_schedule")
    await defer_due_jobs(jobs)
    hands.forward(timedelta(days=3))

    assert await defer_due_jobs(jobs) == []


async def test_a_clock_that_steps_back_starts_nothing_twice(store: Store):
    hands = Hands(now=EVE)
    jobs = make_jobs(store, hands)
    jobs.register("deep_sleep", nothing, schedule="0 2 * * *")
    await defer_due_jobs(jobs)
    hands.forward(timedelta(hours=7))
    assert len(await defer_due_jobs(jobs)) == 1
    await drain(jobs)

    hands.now -= timedelta(days=1)
    assert await defer_due_jobs(jobs) == []
    hands.now += timedelta(days=1)
    assert await defer_due_jobs(jobs) == []


@pytest.mark.requirement("X-54")
async def test_the_schedule_shows_last_next_and_how_it_ended(store: Store):
    hands = Hands(now=EVE)
    jobs = make_jobs(store, hands)
    jobs.register("deep_sleep", nothing, schedule="0 2 * * *")
    await defer_due_jobs(jobs)
    hands.forward(timedelta(hours=7))
    [job] = await defer_due_jobs(jobs)
    await drain(jobs)

    [shown] = await list_scheduled_jobs(jobs)

    assert (shown.name, shown.line, shown.last_job, shown.result) == ("deep_sleep", "0 2 * * *", job, "done")
    assert shown.last_due_at == datetime(2026, 1, 5, 2, tzinfo=UTC)
    assert shown.next_at == datetime(2026, 1, 6, 2, tzinfo=UTC)
    assert shown.result_at == hands.now


async def test_a_job_that_never_ran_is_shown_with_its_next_run(store: Store):
    jobs = make_jobs(store, Hands(now=EVE))
    jobs.register("deep_sleep", nothing, schedule="0 2 * * *")

    [shown] = await list_scheduled_jobs(jobs)

    assert (shown.last_due_at, shown.result) == (None, "")
    assert shown.next_at == datetime(2026, 1, 5, 2, tzinfo=UTC)


MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))


@given(now=MOMENTS, hour=st.integers(0, 23), minute=st.integers(0, 59))
def test_a_daily_line_was_last_due_within_a_day_at_its_minute(now: datetime, hour: int, minute: int):
    due = latest_due_time(f"{minute} {hour} * * *", now=now, after=EPOCH)

    assert due is not None
    assert timedelta(0) <= now - due < timedelta(days=1)
    assert (due.hour, due.minute, due.second) == (hour, minute, 0)


@given(now=MOMENTS)
def test_a_moment_is_due_once(now: datetime):
    due = latest_due_time("*/5 * * * *", now=now, after=EPOCH)

    assert due is not None
    assert latest_due_time("*/5 * * * *", now=now, after=due) is None


@given(now=MOMENTS)
def test_the_next_run_lies_ahead(now: datetime):
    following = next_due_time("0 2 * * *", now=now)

    assert following is not None
    assert now < following <= now + timedelta(days=1)


def test_a_line_that_never_comes_true_is_never_due():
    assert latest_due_time("0 0 30 2 *", now=EVE, after=EPOCH) is None
    assert next_due_time("0 0 30 2 *", now=EVE) is None
