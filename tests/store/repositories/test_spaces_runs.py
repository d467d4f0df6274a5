import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import psutil
import pytest

from festinger.store.pool import Store
from festinger.store.repositories.spaces import (
    ProcessRun,
    RunSummary,
    begin_run,
    end_run,
    find_pinning_runs,
    is_alive,
    latest_crash,
    load_run_summary,
)

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
RUN = ProcessRun(id=UUID(int=1), door="serve", version="0.1.0", host="desk", pid=100, started_at=MONDAY)


async def start(store: Store, run: ProcessRun, *, alive: bool = False) -> list[ProcessRun]:
    async with store.transaction() as transaction:
        return await begin_run(transaction, run, is_alive=lambda _: alive)


def later(run: ProcessRun, number: int, hours: int) -> ProcessRun:
    return replace(run, id=UUID(int=number), pid=100 + number, started_at=MONDAY + hours * HOUR)


@pytest.mark.requirement("X-100")
async def test_a_process_that_is_gone_without_a_word_is_told_once_to_the_next_on_its_machine(store: Store) -> None:
    await start(store, RUN)

    found = await start(store, later(RUN, 2, 1))
    again = await start(store, later(RUN, 3, 2), alive=True)

    assert found == [RUN]
    assert again == []
    assert await latest_crash(store, since=MONDAY) == replace(RUN, clean=False)


@pytest.mark.requirement("X-100")
async def test_a_process_that_said_goodbye_or_still_lives_is_no_crash(store: Store) -> None:
    await start(store, RUN)
    await end_run(store, RUN.id, at=MONDAY + HOUR)
    await start(store, later(RUN, 2, 1))

    found = await start(store, later(RUN, 3, 2), alive=True)

    assert found == []
    assert await latest_crash(store, since=MONDAY) is None


@pytest.mark.requirement("X-100")
async def test_a_process_on_another_machine_is_not_judged_from_here(store: Store) -> None:
    await start(store, replace(RUN, host="elsewhere"))

    assert await start(store, later(RUN, 2, 1)) == []


@pytest.mark.requirement("X-100")
async def test_a_life_is_all_runs_with_their_restarts_crashes_and_time_awake(store: Store) -> None:
    for number, door in ((8, "cli"), (9, "worker")):
        aside = replace(RUN, id=UUID(int=number), door=door, started_at=MONDAY - HOUR)
        await start(store, aside)
        await end_run(store, aside.id, at=MONDAY)
    await start(store, RUN)
    await end_run(store, RUN.id, at=MONDAY + 2 * HOUR)
    await start(store, later(RUN, 2, 5))
    await start(store, later(RUN, 3, 10))

    summed = await load_run_summary(store, now=MONDAY + 11 * HOUR)

    assert summed == RunSummary(runs=3, crashes=1, since=MONDAY, awake=3 * HOUR)
    assert summed.restarts == 2


async def test_before_the_first_run_there_is_no_life(store: Store) -> None:
    summed = await load_run_summary(store, now=MONDAY)

    assert summed == RunSummary(runs=0, crashes=0, since=None, awake=timedelta())
    assert summed.restarts == 0


async def test_an_old_crash_is_no_news(store: Store) -> None:
    await start(store, RUN)
    await start(store, later(RUN, 2, 1))

    assert await latest_crash(store, since=MONDAY + HOUR / 2) is None


@pytest.mark.requirement("X-100")
def test_a_process_lives_while_its_number_is_its_own() -> None:
    born = datetime.fromtimestamp(psutil.Process().create_time(), UTC)
    mine = replace(RUN, pid=os.getpid(), started_at=born + timedelta(seconds=30))
    earlier_owner = replace(mine, started_at=born - timedelta(seconds=30))

    assert is_alive(mine)
    assert not is_alive(earlier_owner)


FAR_FUTURE = MONDAY + timedelta(days=36_500)
"""Later than any process of this machine was born, so that only its being there decides."""


@pytest.mark.requirement("X-100")
def test_a_process_that_has_ended_does_not_live_before_or_after_its_parent_knows() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    run = replace(RUN, pid=child.pid, started_at=FAR_FUTURE)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    assert not is_alive(run)
    child.wait()
    assert not is_alive(run)


@pytest.mark.requirement("X-100")
def test_this_process_lives() -> None:
    assert is_alive(replace(RUN, pid=os.getpid(), started_at=FAR_FUTURE))


async def test_who_pins_a_setting_is_known_while_it_runs(store: Store) -> None:
    key = "proxy.upstream"
    pinning = [replace(later(RUN, number, number), pins=("home", key)) for number in (2, 3)]
    for run in (RUN, *pinning, replace(later(RUN, 4, 4), host="elsewhere", pins=(key,))):
        await start(store, run, alive=True)
    await end_run(store, UUID(int=2), at=MONDAY + 5 * HOUR)

    here = await find_pinning_runs(store, key, host="desk", is_alive=lambda _: True)
    gone = await find_pinning_runs(store, key, host="desk", is_alive=lambda _: False)

    assert [run.id.int for run in here] == [3, 4]
    assert [run.id.int for run in gone] == [4]
    assert await find_pinning_runs(store, "server.port", host="desk", is_alive=lambda _: True) == []
