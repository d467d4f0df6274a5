"""Creates a Postgres cluster, and detects, pings and stops the server on it.

A new cluster grows in a folder next to its final place and is moved there when it is complete (checksums,
settings, a superuser that can log in), so a crash never leaves anything that looks like a cluster.
`postmaster.pid` outlives a killed server, and its pid may belong to a zombie or another program. So the
server lock decides whether a server runs, or the process itself for one that was started by hand; the file
only says where the socket is. A server is ready once a connection has run a statement.
"""

import asyncio
import os
import shutil
import signal
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import psutil
import psycopg
import structlog

from festinger.clock import Stopwatch
from festinger.errors import CannotStart
from festinger.store import paths
from festinger.store.connection import closing_connection
from festinger.store.embedded.programs import Account, Binaries, Command, ProgramResult, run_program
from festinger.store.paths import (
    HomeLayout,
    explain_os_errors,
    make_folder,
    open_private_file,
    suggest_remedy,
    sync_folder,
)
from festinger.store.queries import load_queries

SUPERUSER = "postgres"
CONFIGURATION = "festinger.conf"
INCLUDE = f"\n# Festinger's own settings; lines of yours below this one win.\ninclude = '{CONFIGURATION}'\n"


def cluster_major_version(data: Path) -> int | None:
    """Return the major version that wrote this cluster, or `None` if there is no cluster."""
    note = data / "PG_VERSION"
    return int(note.read_text(encoding="ascii").strip()) if note.exists() else None


async def create_cluster(layout: HomeLayout, binaries: Binaries, *, account: Account, password: str) -> None:
    """Create a new, empty cluster in its final place."""
    with explain_os_errors(layout.home):
        await initialize_cluster(layout.growing, binaries, account=account)
        await set_superuser_password(layout.growing, binaries, account=account, password=password)
        layout.growing.rename(layout.data)
        sync_folder(layout.home)


async def initialize_cluster(data: Path, binaries: Binaries, *, account: Account, checksums: bool = True) -> None:
    """Run `initdb` in a fresh folder and add our settings to its own."""
    shutil.rmtree(data, ignore_errors=True)
    make_folder(data, uid=account.uid, gid=account.gid)
    # Case folding for all of Unicode and code-point order, the same on every system and version.
    locale = ("--locale-provider=builtin", "--locale=C.UTF-8")
    sums = "--data-checksums" if checksums else "--no-data-checksums"
    # Nobody can log in until our own pg_hba.conf is written.
    command: Command = [binaries["initdb"], "-D", data, "-U", SUPERUSER, "-A", "reject", "-E", "UTF8", *locale, sums]
    _require_success(await run_program(command, account=account), data)
    with (data / "postgresql.conf").open("a", encoding="utf-8") as file:
        file.write(INCLUDE)
    write_cluster_config(data, account=account)
    write_owned_file(account, data / "pg_hba.conf", _read_shipped_file("embedded_hba.conf"))


def write_cluster_config(data: Path, *, account: Account) -> None:
    """Update the settings of a cluster to those of this version."""
    write_owned_file(account, data / CONFIGURATION, _read_shipped_file("embedded.conf"))


async def set_superuser_password(data: Path, binaries: Binaries, *, account: Account, password: str) -> None:
    """Set the superuser password of a cluster that is not running.

    Whoever owns the files owns the cluster, so this grants no new access. Create no objects this way: without
    a running server they get object ids that the next major version uses itself.
    """
    command: Command = [binaries["postgres"], "--single", "-D", data, "-c", "exit_on_error=on", "template1"]
    statements = _read_shipped_file("superuser.sql").replace(":'password'", f"'{password}'")
    _require_success(await run_program(command, account=account, given=statements), data)


def _require_success(outcome: ProgramResult, data: Path) -> None:
    if outcome.status != 0:
        raise CannotStart(
            f"The embedded database could not be prepared: {outcome.reason}.",
            hint=suggest_remedy(outcome.reason, data.parent),
        )


def write_owned_file(account: Account, path: Path, text: str) -> None:
    """Write a file owned by the server's user, through a temporary file and a rename.

    Root never follows a link here: the folder belongs to an unprivileged user, who could have placed one.
    """
    beside = path.with_name(f"{path.name}.new")
    beside.unlink(missing_ok=True)
    handle = open_private_file(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        if account.uid != os.geteuid():
            os.fchown(handle, account.uid, account.gid)
        file.write(text)
        file.flush()
        os.fsync(handle)
    beside.rename(path)


def _read_shipped_file(name: str) -> str:
    return files("festinger.store").joinpath(name).read_text(encoding="utf-8")


log = structlog.get_logger()

Q = load_queries("festinger.store")

NOTE = "postmaster.pid"
IMPOSSIBLE_PID = 2**31 - 2
"""No system assigns this pid, so Postgres considers its owner dead."""

CONNECT_SECONDS = 2
PATIENCE = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0))
"""Signals that stop the server, and how long to wait after each: fast, immediate, kill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostmasterInfo:
    """Contents of `postmaster.pid`."""

    pid: int
    socket: Path | None


def server_lock_path(layout: HomeLayout) -> Path:
    return layout.run / "server.lock"


def read_postmaster_info(data: Path) -> PostmasterInfo | None:
    try:
        lines = (data / NOTE).read_text(encoding="utf-8").splitlines()
        pid = int(lines[0])
    except (FileNotFoundError, IndexError, ValueError):
        return None
    socket = lines[4].strip() if len(lines) > 4 else ""
    return PostmasterInfo(pid=pid, socket=Path(socket) if socket else None)


def is_running(layout: HomeLayout) -> bool:
    """Return whether any process of a server on this data is alive."""
    return paths.is_locked(server_lock_path(layout)) or find_postmaster(layout.data) is not None


def find_postmaster(data: Path) -> int | None:
    """Return the pid of the live postmaster on this data; ignore zombies and other programs with that pid."""
    note = read_postmaster_info(data)
    if note is None:
        return None
    try:
        process = psutil.Process(note.pid)
        lives = process.status() != psutil.STATUS_ZOMBIE
        # A server's working directory is its data directory; that of another program with the same pid is
        # not.
        ours = process.name().startswith("postgres") and Path(process.cwd()) == data.resolve()
    except psutil.Error:
        return None
    return note.pid if lives and ours else None


def invalidate_pid_file(data: Path, *, account: Account) -> None:
    """Make the pid file of a dead server harmless.

    Postgres refuses to start while the recorded pid exists, even as a zombie or an unrelated process. The
    file is kept because its other lines let Postgres detect children of the dead server that still hold the
    memory.
    """
    path = data / NOTE
    if path.exists():
        _, _, rest = path.read_text(encoding="utf-8").partition("\n")
        write_owned_file(account, path, f"{IMPOSSIBLE_PID}\n{rest}")


async def ping(url: str) -> None:
    """Connect and run a statement; raise whatever psycopg raises."""
    connecting = psycopg.AsyncConnection.connect(url, connect_timeout=CONNECT_SECONDS)
    async with closing_connection(await connecting) as connection:
        await connection.execute(Q["ping"].sql)


async def stop_server(layout: HomeLayout, *, stopwatch: Stopwatch, launched: int | None = None) -> None:
    """Stop the server on this data and wait until its last process is gone.

    `launched` is the pid of a server that was just started and may not have written its pid file yet.
    """
    note = read_postmaster_info(layout.data)
    for order, seconds in PATIENCE:
        began = stopwatch()
        while is_running(layout) and stopwatch() - began < seconds:
            # Repeated, because a server that has just been started ignores the first signal.
            _ask(find_postmaster(layout.data) or launched, order)
            await asyncio.sleep(paths.POLL_SECONDS)
        if not is_running(layout):
            break
        log.warning("embedded server is slow to stop", room="store", asked=order.name)
    if note and note.socket and note.socket != layout.socket:
        with suppress(OSError):
            note.socket.rmdir()


def _ask(pid: int | None, order: signal.Signals) -> None:
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, order)
