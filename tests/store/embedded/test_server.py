import asyncio
import ctypes
import os
import shutil
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest
from tests.store.homes import Home, account, as_root, asked, connected, copy_as_it_is, launched, names, opened, writer

from festinger.clock import system_stopwatch
from festinger.errors import CannotStart, StoreUnfit
from festinger.store.embedded import cluster, holders, password
from festinger.store.embedded import programs as embedded_programs
from festinger.store.embedded import start as embedded_start
from festinger.store.embedded.start import EmbeddedServerSpec, deadline_in, start_server

SET_CHILD_SUBREAPER = 36
"""The number of `PR_SET_CHILD_SUBREAPER` for `prctl`: orphans become children of this process."""


@pytest.fixture
def undead() -> Iterator[None]:
    """Servers whose starter is gone become children of the test, and stay zombies when they are killed."""
    prctl = ctypes.CDLL(None).prctl
    prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    yield
    prctl(SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    for child in psutil.Process().children():
        if child.status() == psutil.STATUS_ZOMBIE:
            os.waitpid(child.pid, 0)


def wait_until_gone(home: Home) -> None:
    while home.is_running:  # the test's own time limit ends this
        pass


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A file system of 8 MB."""
    folder.mkdir()
    small = ["mount", "-t", "tmpfs", "-o", "size=8m,mode=0711", "tmpfs", str(folder)]
    if subprocess.run(small, check=False, capture_output=True).returncode:
        pytest.skip("no small disk can be made here")
    yield
    subprocess.run(["umount", str(folder)], check=True)


def modified(file: str) -> int:
    return Path(file).stat().st_ctime_ns


def modes(path: Path) -> dict[Path, int]:
    return {folder: folder.stat().st_mode for folder in (path, *path.parents)}


@pytest.mark.requirement("X-21")
async def test_a_first_start_makes_a_cluster_without_a_port_that_writes_through(fresh: Home) -> None:
    said: list[str] = []

    async with opened(fresh, progress=said.append) as url:
        assert await asked(url, "select current_database()") == "festinger"
        for setting, value in {"listen_addresses": "", "fsync": "on", "data_checksums": "on"}.items():
            assert await asked(url, f"show {setting}") == value
        server = psutil.Process(fresh.postmaster)
        listening = [found for found in server.net_connections("inet") if found.status == "LISTEN"]
        assert listening == []
        assert await asked(url, "select extversion from pg_extension where extname = 'vector'") >= "0.8"

    assert (fresh.path / "pg" / "PG_VERSION").read_text().strip() == "18"
    assert [line.split()[0] for line in said] == ["Preparing", "Starting"]


@pytest.mark.requirement("X-21")
async def test_a_second_start_finds_what_the_first_one_wrote_and_prepares_nothing(home: Home) -> None:
    said: list[str] = []
    async with opened(home) as url, connected(url) as connection:
        await connection.execute("create table kept as select 7 as number")

    async with opened(home, progress=said.append) as url:
        assert await asked(url, "select number from kept") == 7

    assert [line.split()[0] for line in said] == ["Starting"]


@pytest.mark.requirement("X-21")
async def test_the_socket_lies_in_a_folder_that_only_the_server_s_user_can_enter(home: Home) -> None:
    async with opened(home):
        folder = home.path / "socket"

        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert folder.stat().st_uid == account(home.layout.data).uid
        assert (folder / ".s.PGSQL.5432").is_socket()


@pytest.mark.requirement("X-21")
async def test_a_home_with_a_very_long_path_gets_a_short_socket_that_leaves_with_the_server(
    place: Path, home: Home
) -> None:
    deep = place / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    for folder in (deep.parent, deep):
        folder.chmod(0o711)
    far = Home(path=deep / "home", config=home.config)
    home.path.rename(far.path)

    async with opened(far) as url, opened(far) as joined:
        note = cluster.read_postmaster_info(far.layout.data)
        assert note is not None
        assert note.socket is not None
        assert len(str(note.socket / ".s.PGSQL.5432")) <= 100
        assert embedded_start.is_private(note.socket, account(far.layout.data))
        assert await asked(url, "select 1") == 1
        assert joined == url

    assert not note.socket.exists()


async def test_a_path_with_a_comma_a_space_and_quotes_is_a_path_like_any_other(place: Path, home: Home) -> None:
    odd = Home(path=place / "a, b 'c\" d%20", config=home.config)
    home.path.rename(odd.path)

    async with opened(odd) as url:
        assert await asked(url, "select 1") == 1


@pytest.mark.requirement("X-22")
async def test_no_folder_that_was_there_changes_its_mode(place: Path) -> None:
    stood = place / "stood"
    stood.mkdir()
    stood.chmod(0o751)
    before = modes(stood)
    owner = stood.stat().st_uid

    async with opened(Home(path=stood / "home", config=stood / "config")):
        assert modes(stood) == before

    assert modes(stood) == before
    assert stood.stat().st_uid == owner


@pytest.mark.requirement("X-22")
@pytest.mark.parametrize("umask", [0o000, 0o077])
async def test_what_we_make_is_private_whatever_the_caller_s_umask(fresh: Home, umask: int) -> None:
    before = os.umask(umask)
    try:
        async with opened(fresh):
            pass
    finally:
        os.umask(before)

    everything = [fresh.path, fresh.config, *fresh.path.rglob("*"), *fresh.config.rglob("*")]
    open_to_others = [path for path in everything if path.stat().st_mode & 0o007]
    assert open_to_others == []
    secret = fresh.config / password.FILE
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert password.FILE not in [path.name for path in fresh.path.rglob("*")]


@pytest.mark.requirement("X-22")
async def test_a_wrong_password_and_none_are_refused(home: Home) -> None:
    async with opened(home) as url:
        right = (home.config / password.FILE).read_text()
        for wrong in ("wrong", ""):
            for role in ("festinger", "postgres"):
                other = url.replace(f"festinger:{right}", f"{role}:{wrong}")
                with pytest.raises(psycopg.OperationalError, match=r"authentication failed|no password"):
                    await asked(other, "select 1")


@pytest.mark.requirement("X-22")
async def test_the_application_is_no_superuser_and_owns_its_database_alone(home: Home) -> None:
    async with opened(home) as url:
        row = "select rolsuper or rolcreatedb or rolcreaterole or rolreplication from pg_roles where rolname = user"
        assert await asked(url, row) is False
        with pytest.raises(psycopg.OperationalError, match="pg_hba"):
            await asked(url.replace("/festinger?", "/postgres?"), "select 1")


@as_root
@pytest.mark.requirement("X-22")
async def test_as_root_the_server_runs_unprivileged_and_no_other_user_reaches_its_socket(home: Home) -> None:
    async with opened(home):
        assert psutil.Process(home.postmaster).uids().effective != 0
        line = socket.socket(socket.AF_UNIX)
        os.seteuid(1)
        try:
            with line, pytest.raises(PermissionError):
                line.connect(str(home.path / "socket" / ".s.PGSQL.5432"))
        finally:
            os.seteuid(0)


@as_root
@pytest.mark.requirement("X-22")
async def test_programs_in_a_closed_environment_are_copied_once_and_run(
    fresh: Home, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = place / "closed" / "site-packages"
    packages.mkdir(parents=True)
    (place / "closed").chmod(0o700)
    wheel = embedded_programs.bundled_binaries().folder.parent
    for real in (wheel, wheel.with_name(f"{wheel.name}.libs")):
        (packages / real.name).symlink_to(real)
    closed = embedded_programs.binaries_in_package(packages / wheel.name, embedded_programs.MAJOR)
    monkeypatch.setattr("festinger.store.embedded.server.bundled_binaries", lambda: closed)
    before = modes(packages)

    async with opened(fresh) as url:
        assert await asked(url, "select 1") == 1
        program = psutil.Process(fresh.postmaster).exe()
        assert program.startswith(str(fresh.path / "bin"))
        made = modified(program)
    (fresh.path / "bin" / "0.0.1").mkdir()
    async with opened(fresh):
        assert modified(program) == made
        assert len(names(fresh.path / "bin")) == 1

    assert modes(packages) == before


@as_root
async def test_as_root_a_home_that_the_server_s_user_cannot_enter_is_refused_and_left_closed(place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o700)

    with pytest.raises(CannotStart, match="cannot enter") as refusal:
        async with opened(Home(path=closed / "home", config=place / "config")):
            pass

    assert "/var/lib/festinger" in refusal.value.hint
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


@pytest.mark.requirement("X-23")
async def test_a_killed_and_unreaped_postmaster_is_not_running(home: Home, undead: None) -> None:
    async with opened(home, stop_when_idle=False):
        pid = home.postmaster
    os.kill(pid, signal.SIGKILL)

    async with opened(home) as url:
        assert psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
        assert await asked(url, "select 1") == 1
        assert home.postmaster != pid


@pytest.mark.requirement("X-23")
async def test_a_start_waits_for_the_last_child_of_a_killed_postmaster(home: Home) -> None:
    async with opened(home, stop_when_idle=False) as url:
        straggler = psycopg.connect(url)
        backend = psutil.Process(straggler.info.backend_pid)
        pid = home.postmaster
    backend.suspend()
    os.kill(pid, signal.SIGKILL)
    turns = 0

    async def open_again() -> int:
        async with opened(home) as url:
            assert turns == 50
            return int(await asked(url, "select 1"))

    opening = asyncio.create_task(open_again())
    # The opener looks every 20 ms; it gets many chances to start too early.
    while turns < 50:
        await asyncio.sleep(0.01)
        assert not opening.done()
        turns += 1
    backend.resume()

    assert await opening == 1
    straggler.close()


@pytest.mark.requirement("X-23")
async def test_a_note_with_the_pid_of_another_program_does_not_stop_a_start(home: Home) -> None:
    async with opened(home, stop_when_idle=False):
        pid = home.postmaster
    os.kill(pid, signal.SIGKILL)
    who = account(home.layout.data)
    with launched(["sleep", "1000"], **who.subprocess_arguments()) as stranger:
        note = home.layout.data / cluster.NOTE
        note.write_text(note.read_text().replace(str(pid), str(stranger.pid), 1))

        async with opened(home) as url:
            assert await asked(url, "select 1") == 1

        assert stranger.poll() is None
        stranger.kill()


@pytest.mark.requirement("X-24")
async def test_three_processes_that_write_200_rows_each_make_600_rows(fresh: Home) -> None:
    programs = [launched(writer(fresh, name, "0", "200"), stdout=subprocess.DEVNULL) for name in "abc"]

    assert [await asyncio.to_thread(program.wait) for program in programs] == [0, 0, 0]
    assert not fresh.is_running
    async with opened(fresh) as url:
        assert await asked(url, "select count(*) from written") == 600


@pytest.mark.requirement("X-24")
async def test_the_server_stays_until_the_last_one_leaves(home: Home) -> None:
    async with AsyncExitStack() as first, AsyncExitStack() as second:
        url = await first.enter_async_context(opened(home))
        pid = home.postmaster
        assert await second.enter_async_context(opened(home)) == url
        await first.aclose()

        assert home.postmaster == pid
        assert await asked(url, "select 1") == 1
        await second.aclose()

        assert not home.is_running


@pytest.mark.requirement("X-24")
async def test_a_crashed_owner_leaves_the_server_up_and_the_next_one_joins_it(home: Home) -> None:
    with launched(writer(home, "w", "0", "100000"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "0\n"
        pid = home.postmaster
        owner.kill()

    async with opened(home):
        assert home.postmaster == pid
        listed = holders.read_holders(holders.holders_path(home.layout))
        assert listed == [holders.current_holder()]

    assert not home.is_running


@pytest.mark.requirement("X-24")
async def test_after_its_grace_an_idle_server_is_stopped_by_nobody_s_wait(home: Home) -> None:
    async with opened(home, grace=0.01):
        pass

    await asyncio.to_thread(wait_until_gone, home)

    assert not (home.layout.data / cluster.NOTE).exists()


@pytest.mark.requirement("X-24")
async def test_an_idle_server_that_somebody_came_back_to_is_not_stopped(home: Home) -> None:
    async with opened(home):
        assert not await holders.stop_if_idle(home.layout, stopwatch=system_stopwatch)
        assert home.is_running


@pytest.mark.requirement("X-24")
async def test_a_server_that_shall_not_rest_stays_up(home: Home) -> None:
    async with opened(home, stop_when_idle=False):
        pass

    assert home.is_running
    await home.stop()
    assert not home.is_running


async def test_ctrl_c_in_the_terminal_does_not_reach_the_server(home: Home) -> None:
    async with opened(home):
        assert os.getsid(home.postmaster) != os.getsid(0)
        assert os.getpgid(home.postmaster) != os.getpgid(0)


async def test_a_home_copied_while_running_opens_as_a_server_of_its_own(home: Home, place: Path) -> None:
    async with opened(home) as url, connected(url) as connection:
        await connection.execute("create table kept as select 7 as number")
        copy = Home(path=place / "copy", config=home.config)
        copy_as_it_is(home.path, copy.path)

        async with opened(copy) as other:
            assert other != url
            assert copy.postmaster != home.postmaster
            assert await asked(other, "select number from kept") == 7


async def test_a_lost_password_is_made_anew_by_whoever_owns_the_data(home: Home) -> None:
    (home.config / password.FILE).unlink()

    async with opened(home) as url:
        assert await asked(url, "select 1") == 1


async def test_a_running_server_with_another_password_is_not_joined(home: Home, place: Path) -> None:
    async with opened(home):
        with pytest.raises(CannotStart, match="another password"):
            async with opened(Home(path=home.path, config=place / "elsewhere")):
                pass
        assert home.is_running


async def test_a_password_file_that_others_can_read_stops_the_start(home: Home) -> None:
    (home.config / password.FILE).chmod(0o644)

    with pytest.raises(CannotStart, match="Others can read"):
        async with opened(home):
            pass


async def test_a_start_that_fails_says_why_and_leaves_nothing_running(home: Home) -> None:
    with (home.layout.data / "postgresql.conf").open("a") as file:
        file.write("shared_buffers = 'much'\n")

    with pytest.raises(CannotStart, match="configuration file") as refusal:
        async with opened(home):
            pass

    assert str(home.layout.log) in refusal.value.hint
    assert not home.is_running


async def test_a_start_that_takes_too_long_leaves_nothing_running(home: Home) -> None:
    server = EmbeddedServerSpec(
        layout=home.layout,
        binaries=embedded_programs.bundled_binaries(),
        account=account(home.layout.data),
        password=(home.config / password.FILE).read_text(),
    )

    with pytest.raises(CannotStart, match="did not answer within 0 seconds"):
        await start_server(server, deadline_in(0, system_stopwatch))

    assert not home.is_running


async def test_a_cancelled_start_leaves_nothing_running(home: Home) -> None:
    def cancel(_line: str) -> None:
        asyncio.get_running_loop().call_soon(opening.cancel)

    async def enter() -> None:
        async with opened(home, progress=cancel):
            pass

    opening = asyncio.create_task(enter())
    with pytest.raises(asyncio.CancelledError):
        await opening

    assert not home.is_running


async def test_a_home_that_cannot_be_written_is_named_with_what_to_do(place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o500)
    closed.chmod(0o555)
    nobody = 65534
    as_somebody = os.geteuid() == 0
    if as_somebody:
        os.seteuid(nobody)
    try:
        with pytest.raises(CannotStart, match="Permission denied") as refusal:
            async with opened(Home(path=closed / "home", config=closed / "config")):
                pass
    finally:
        if as_somebody:
            os.seteuid(0)

    assert "writable" in refusal.value.hint


@as_root
async def test_a_full_disk_is_named_with_what_to_do_and_leaves_no_half_cluster(place: Path) -> None:
    with small_disk(place / "disk"):
        home = Home(path=place / "disk" / "home", config=place / "config")
        with pytest.raises(CannotStart, match="No space left") as refusal:
            async with opened(home):
                pass
        assert not home.layout.data.exists()

    assert "Free some space" in refusal.value.hint


async def test_data_of_a_newer_major_version_is_not_touched(home: Home) -> None:
    note = home.layout.data / "PG_VERSION"
    note.write_text("99\n")

    with pytest.raises(StoreUnfit, match="PostgreSQL 99"):
        async with opened(home):
            pass

    assert note.read_text() == "99\n"
    assert not (home.layout.data / cluster.NOTE).exists()


async def test_a_folder_that_is_no_database_is_not_touched(fresh: Home, grown: Home) -> None:
    shutil.copytree(grown.config, fresh.config)
    fresh.layout.data.mkdir(parents=True)
    for folder in (fresh.path, fresh.layout.data):
        folder.chmod(0o711)
    who = account(fresh.layout.data)
    os.chown(fresh.layout.data, who.uid, who.gid)
    (fresh.layout.data / "letters.txt").write_text("dear")

    with pytest.raises(CannotStart, match="not a database"):
        async with opened(fresh):
            pass

    assert [path.name for path in fresh.layout.data.iterdir()] == ["letters.txt"]


async def test_a_cluster_whose_maker_was_killed_is_made_again(fresh: Home, grown: Home) -> None:
    shutil.copytree(grown.config, fresh.config)
    half = fresh.layout.growing
    half.mkdir(parents=True)
    fresh.path.chmod(0o711)
    (half / "PG_VERSION").write_text("18\n")

    async with opened(fresh) as url:
        assert await asked(url, "select 1") == 1

    assert not half.exists()


def test_a_password_is_not_shown_with_the_server_that_has_it(home: Home) -> None:
    who = account(home.layout.data)
    server = EmbeddedServerSpec(
        layout=home.layout, binaries=embedded_programs.bundled_binaries(), account=who, password="canary"
    )

    assert "canary" not in repr(server)
    assert "canary" in server.url(socket=Path("/s"))


@pytest.mark.requirement("X-23", "X-26")
async def test_a_server_that_dies_under_its_holder_is_started_again(home: Home) -> None:
    async with opened(home) as url:
        before = home.postmaster
        os.kill(before, signal.SIGKILL)
        async with asyncio.timeout(60):
            while not await _answers(url):  # noqa: ASYNC110 - the server tells nobody when it answers
                await asyncio.sleep(0.05)
        after = home.postmaster

    assert after != before
    assert not home.is_running


async def _answers(url: str) -> bool:
    try:
        return bool(await asked(url, "select 1") == 1)
    except psycopg.OperationalError:
        return False
