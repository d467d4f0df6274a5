import os
import signal
from pathlib import Path

import pytest
from tests.store.homes import Home, account, asked, connected, opened

from festinger.clock import system_stopwatch
from festinger.errors import CannotStart, StoreUnfit
from festinger.store.backup import backup as manifests
from festinger.store.embedded import cluster, password, programs, upgrade
from festinger.store.embedded.programs import run_program
from festinger.store.embedded.server import ensure_database
from festinger.store.embedded.start import EmbeddedServerSpec, deadline_in, start_server
from festinger.store.paths import HomeLayout, make_folder

OLD = 16


async def grow_old(home: Home, *, checksums: bool, extra: str = "select 1") -> EmbeddedServerSpec:
    """A cluster as an older Festinger made it: PostgreSQL 16, our roles, a row, and a crash at the end."""
    who = account(home.layout.data)
    secret = password.load_or_create_password(home.config, lambda count: b"s" * count)
    old = EmbeddedServerSpec(layout=home.layout, binaries=programs.bundled_binaries(OLD), account=who, password=secret)
    make_folder(home.path, mode=0o711)
    make_folder(home.layout.run)
    make_folder(home.layout.data, uid=who.uid, gid=who.gid)
    sums = ["--data-checksums"] if checksums else []
    init: list[str | Path] = [
        old.binaries["initdb"],
        "-D",
        home.layout.data,
        "-U",
        "postgres",
        "-A",
        "scram-sha-256",
        "-N",
    ]
    secret_file = home.layout.data.with_name("secret")
    cluster.write_owned_file(who, secret_file, secret)
    made = await run_program([*init, "--pwfile", secret_file, "-E", "UTF8", "--locale=C", *sums], account=who)
    assert made.status == 0, made.err
    secret_file.unlink()
    with (home.layout.data / "postgresql.conf").open("a") as conf:
        conf.write("listen_addresses = ''\n")
    socket = await start_server(old, deadline_in(60, system_stopwatch))
    await ensure_database(old, socket)
    async with connected(old.url(socket=socket)) as connection:
        await connection.execute("create table kept as select 7 as number, '[1,2,3]'::halfvec(3) as vector")
    async with connected(old.url(socket=socket, role="postgres")) as connection:
        await connection.execute(extra)
    os.kill(home.postmaster, signal.SIGKILL)
    return old


@pytest.mark.requirement("X-36")
@pytest.mark.parametrize("checksums", [True, False])
async def test_data_of_an_older_major_version_is_backed_up_and_moved(fresh: Home, checksums: bool) -> None:
    await grow_old(fresh, checksums=checksums)
    said: list[str] = []

    async with opened(fresh, progress=said.append) as url:
        assert str(await asked(url, "show server_version")).startswith("18.")
        assert await asked(url, "select number from kept where vector = '[1,2,3]'") == 7
        assert await asked(url, "show data_checksums") == "on"
        assert await asked(url, "show listen_addresses") == ""

    assert "from PostgreSQL 16 to 18" in said[0]
    [dump] = (fresh.path / "backups").glob("before-postgres-18-*.dump")
    saved = manifests.read_manifest(dump)
    assert (saved.tables, saved.postgres) == ({"public.kept": 1}, OLD)
    assert sorted(path.name for path in fresh.path.glob("pg*")) == ["pg"]


@pytest.mark.requirement("X-36")
async def test_a_failed_upgrade_leaves_the_old_data_usable_and_says_why(fresh: Home) -> None:
    # `pg_upgrade` refuses a cluster with a database that nobody may connect to.
    closed = "update pg_database set datallowconn = false where datname = 'template1'"
    old = await grow_old(fresh, checksums=True, extra=closed)

    with pytest.raises(CannotStart, match="could not be moved") as refusal:
        async with opened(fresh):
            pass

    assert "as it was" in refusal.value.hint
    assert not fresh.is_running
    assert (fresh.layout.data / "PG_VERSION").read_text() == "16\n"
    assert sorted(path.name for path in fresh.path.glob("pg*")) == ["pg"]
    socket = await start_server(old, deadline_in(60, system_stopwatch))
    assert await asked(old.url(socket=socket), "select number from kept") == 7
    await fresh.stop()


async def test_a_version_that_the_programs_do_not_know_is_not_touched(fresh: Home) -> None:
    make_folder(fresh.path, mode=0o711)
    who = account(fresh.layout.data)
    make_folder(fresh.layout.data, uid=who.uid, gid=who.gid)
    (fresh.layout.data / "PG_VERSION").write_text("14\n")

    with pytest.raises(StoreUnfit, match="PostgreSQL 14"):
        async with opened(fresh):
            pass

    assert not fresh.is_running


@pytest.mark.requirement("X-36")
async def test_an_upgrade_killed_between_its_two_moves_is_finished_by_the_next_start(home: Home) -> None:
    async with opened(home) as url, connected(url) as connection:
        await connection.execute("create table kept as select 7 as number")
    home.layout.data.rename(home.layout.upgraded_cluster)

    async with opened(home) as url:
        assert await asked(url, "select number from kept") == 7


def test_a_finished_cluster_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    layout = HomeLayout(home=tmp_path)
    for folder, major in ((layout.data, "16"), (layout.upgraded_cluster, "18")):
        folder.mkdir()
        (folder / "PG_VERSION").write_text(major)

    upgrade.finish_upgrade(layout)

    assert (layout.data / "PG_VERSION").read_text() == "18"
    assert (layout.outdated_cluster / "PG_VERSION").read_text() == "16"
    upgrade.remove_old_cluster(layout)
    assert [path.name for path in tmp_path.iterdir()] == ["pg"]


@pytest.mark.parametrize(
    ("said", "logs", "line"),
    [
        ("Restoring …", ["fine", "pg_restore: error: no such thing\nmore"], "no such thing"),
        ("Checking a ok\nChecking b fatal\n\nAll must allow connections\nMore", [], "All must allow connections"),
        ("odd words", [], "odd words"),
        ("", [], "pg_upgrade gave no reason"),
    ],
)
def test_the_reason_of_a_failed_upgrade_is_found(said: str, logs: list[str], line: str) -> None:
    assert upgrade.find_upgrade_failure_reason(said, logs) == line
