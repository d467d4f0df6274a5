"""The embedded server as people meet it: an empty home, two doors, a restart."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.shell import Shell, patiently
from tests.store.homes import account, reachable_folder

import festinger
from festinger.clock import system_stopwatch
from festinger.store.embedded import cluster
from festinger.store.paths import HomeLayout


@pytest.fixture
def first_time() -> Iterator[Shell]:
    """Somebody who has never started Festinger. For root the place of the data is given to a user that every
    system has, so that none is made."""
    folder = reachable_folder()
    data = folder / "home" / "pg"
    if os.geteuid() == 0:
        data.mkdir(parents=True)
        data.parent.chmod(0o711)
        owner = account(data)
        os.chown(data, owner.uid, owner.gid)
    environment = {"HOME": str(folder), "FESTINGER_HOME": str(data.parent), "FESTINGER_EMBEDDING__MODEL": "none:"}
    yield Shell(home=folder, database=None, environment=environment)
    shutil.rmtree(folder)


def wait_until_stopped(home: Path) -> bool:
    """Whether the database server ends once nobody holds it."""
    return any(not cluster.is_running(HomeLayout(home=home)) for _ in patiently())


@pytest.mark.requirement("X-21", "X-24", "X-105", "P-01")
@pytest.mark.postgres
def test_two_doors_share_a_home_that_was_empty_and_what_they_learned_outlives_them(first_time: Shell):
    home = Path(first_time.environment["FESTINGER_HOME"])
    with first_time.server("--no-worker") as first, first_time.server("--no-worker") as second:
        first.wait_until("/admin/readyz", 200)
        second.wait_until("/admin/readyz", 200)
        changed = first_time.real("settings", "set", "jobs.max_waiting", "700")
        told = [served.log.read_text().count("Preparing the embedded database") for served in (first, second)]
        stopped = first.stop()
        left_alone = second.ask("/admin/readyz")[0]
        stopped_last = second.stop()

    assert sum(told) == 1
    assert changed.code == 0, changed.err
    assert (stopped, left_alone, stopped_last) == (0, 200, 0)
    assert wait_until_stopped(home)

    again = first_time.real("settings", "get", "jobs.max_waiting")
    assert (again.code, again.out) == (0, "700\n")
    assert "Starting the embedded database" in again.err
    assert first_time.real("status", "--json").json["life"]["crashes"] == 0
    asyncio.run(cluster.stop_server(HomeLayout(home=home), stopwatch=system_stopwatch))


@pytest.mark.requirement("U-02")
@pytest.mark.postgres
async def test_the_library_starts_a_database_that_its_handles_share_and_stops_it(
    first_time: Shell, monkeypatch: pytest.MonkeyPatch
):
    for name, value in first_time.environment.items():
        monkeypatch.setenv(name, value)
    home = Path(first_time.environment["FESTINGER_HOME"])
    async with festinger.open() as one, festinger.open() as two:
        await one.learn("The server has 32 GB")
        shared = await two.recall("How many GB has the server?")
        life = (await two.status())["life"]

    assert [each.text for each in shared.items] == ["The server has 32 GB"]
    assert life["crashes"] == 0
    assert wait_until_stopped(home)
