"""How is the database: each check, what makes it fail, and what it says to do."""

import os
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from festinger.clock import system_clock
from festinger.observability.checks import Check, CheckSeverity
from festinger.settings.tree import StoreSettings
from festinger.store.backup.backup import AUTOMATIC, SUFFIX
from festinger.store.health import check_backups, check_store
from festinger.store.paths import HomeLayout
from festinger.store.pool import Store, open_store
from festinger.store.repositories.spaces import ProcessRun, begin_run

DAILY = StoreSettings(backup_schedule="0 2 * * *")


async def checks(store: Store, home: Path, *, off: timedelta = timedelta(0)) -> dict[str, Check]:
    found = await check_store(store, StoreSettings(), home=home, now=system_clock() + off)
    return {check.name: check for check in found}


def backup_of(home: Path, *, age: timedelta) -> None:
    folder = HomeLayout(home=home).backups
    folder.mkdir(parents=True)
    made = folder / f"{AUTOMATIC}x{SUFFIX}"
    made.touch()
    at = (system_clock() - age).timestamp()
    os.utime(made, (at, at))


async def test_a_database_in_order_tells_its_versions_and_fails_nothing(store: Store, tmp_path: Path):
    found = await checks(store, tmp_path)

    assert "pgvector" in found["store.server"].message
    assert {check.severity for check in found.values()} == {CheckSeverity.OK}


@pytest.mark.parametrize(
    ("seconds", "severity"), [(1, CheckSeverity.OK), (9, CheckSeverity.WARN), (-9, CheckSeverity.WARN)]
)
async def test_clocks_more_than_five_seconds_apart_warn(
    seconds: int, severity: CheckSeverity, store: Store, tmp_path: Path
):
    clock = (await checks(store, tmp_path, off=timedelta(seconds=seconds)))["store.clock"]

    assert clock.severity is severity
    assert bool(clock.remedy) is (severity is CheckSeverity.WARN)


@pytest.mark.requirement("X-100")
async def test_a_crash_of_the_last_days_warns(store: Store, tmp_path: Path):
    def run(number: int) -> ProcessRun:
        return ProcessRun(id=UUID(int=number), door="serve", version="0", host="box", pid=1, started_at=system_clock())

    async with store.transaction() as transaction:
        await begin_run(transaction, run(1))
        await begin_run(transaction, run(2), is_alive=lambda _: False)
    stop = (await checks(store, tmp_path))["store.last_stop"]
    later = (await checks(store, tmp_path, off=timedelta(days=8)))["store.last_stop"]

    assert (stop.severity, later.severity) == (CheckSeverity.WARN, CheckSeverity.OK)
    assert "`serve`" in stop.message
    assert stop.remedy


async def test_a_closed_database_fails_and_says_what_to_do(database_url: str, tmp_path: Path):
    async with open_store(database_url, StoreSettings(), door="test") as store:
        await store.pool.close()
        found = await checks(store, tmp_path)

    assert [*found] == ["store.server"]
    assert found["store.server"].severity is CheckSeverity.FAIL
    assert found["store.server"].remedy


async def test_callers_that_wait_for_a_connection_warn(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(store.pool, "get_stats", lambda: {"requests_waiting": 3, "pool_size": 10})
    pool = (await checks(store, tmp_path))["store.pool"]

    assert pool.severity is CheckSeverity.WARN
    assert "store.pool_max" in pool.remedy


def test_wanted_backups_that_are_not_made_warn(tmp_path: Path):
    now = system_clock()
    none_wanted = check_backups(StoreSettings(), tmp_path, now=now)
    none_made = check_backups(DAILY, tmp_path, now=now)

    assert (none_wanted.severity, none_made.severity) == (CheckSeverity.OK, CheckSeverity.WARN)
    assert "festinger jobs run backup" in none_made.remedy


@pytest.mark.parametrize(("days", "severity"), [(1, CheckSeverity.OK), (8, CheckSeverity.WARN)])
def test_a_backup_of_last_week_warns(days: int, severity: CheckSeverity, tmp_path: Path):
    backup_of(tmp_path, age=timedelta(days=days))

    assert check_backups(DAILY, tmp_path, now=system_clock()).severity is severity
