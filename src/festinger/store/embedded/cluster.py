"""How does a new cluster come to be?

It grows in a folder beside its place and is moved there when it is whole: initialised with checksums, with its
settings and a superuser who can log in. Whoever dies in between leaves nothing that could be taken for a
cluster. Starting, furnishing and upgrading it are other modules' matter.

Is the server there, does it answer, and how is it told to go?

`postmaster.pid` is a note that a killed server leaves behind, and its pid may belong to a zombie or to
another program by now. So the server lock decides, and for a server that somebody started by hand the process
itself; the note only says where the socket is. Ready means that a connection has run a statement.
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
from festinger.store.paths import Layout, explain_os_errors, make_folder, open_private, suggest_remedy, sync_folder
from festinger.store.queries import queries_of

SUPERUSER = "postgres"
CONFIGURATION = "festinger.conf"
INCLUDE = f"\n# Festinger's own settings; lines of yours below this one win.\ninclude = '{CONFIGURATION}'\n"


def cluster_major_version(data: Path) -> int | None:
    """The major version that wrote this cluster; none if there is no cluster."""
    note = data / "PG_VERSION"
    return int(note.read_text(encoding="ascii").strip()) if note.exists() else None


async def create_cluster(layout: Layout, binaries: Binaries, *, account: Account, password: str) -> None:
    """A new, empty cluster in its place."""
    with explain_os_errors(layout.home):
        await initialize_cluster(layout.growing, binaries, account=account)
        await set_superuser_password(layout.growing, binaries, account=account, password=password)
        layout.growing.rename(layout.data)
        sync_folder(layout.home)


async def initialize_cluster(data: Path, binaries: Binaries, *, account: Account, checksums: bool = True) -> None:
    """Run `initdb` in a fresh folder and lay our settings beside its own."""
    shutil.rmtree(data, ignore_errors=True)
    make_folder(data, uid=account.uid, gid=account.gid)
    # Case folding of all of Unicode, order by code point, the same on every system and in every version.
    locale = ("--locale-provider=builtin", "--locale=C.UTF-8")
    sums = "--data-checksums" if checksums else "--no-data-checksums"
    # Nobody is let in before our own pg_hba.conf stands.
    command: Command = [binaries["initdb"], "-D", data, "-U", SUPERUSER, "-A", "reject", "-E", "UTF8", *locale, sums]
    _succeeded(await run_program(command, account=account), data)
    with (data / "postgresql.conf").open("a", encoding="utf-8") as file:
        file.write(INCLUDE)
    write_cluster_config(data, account=account)
    write_owned_file(account, data / "pg_hba.conf", _shipped("embedded_hba.conf"))


def write_cluster_config(data: Path, *, account: Account) -> None:
    """Bring the settings of a cluster to those of this version."""
    write_owned_file(account, data / CONFIGURATION, _shipped("embedded.conf"))


async def set_superuser_password(data: Path, binaries: Binaries, *, account: Account, password: str) -> None:
    """Let the superuser of a cluster that is not running log in with this password.

    Whoever owns the files owns the cluster, so this opens no door that was closed. Nothing may be made this way:
    what is made without a running server gets numbers that the next major version uses itself.
    """
    command: Command = [binaries["postgres"], "--single", "-D", data, "-c", "exit_on_error=on", "template1"]
    statements = _shipped("superuser.sql").replace(":'password'", f"'{password}'")
    _succeeded(await run_program(command, account=account, given=statements), data)


def _succeeded(outcome: ProgramResult, data: Path) -> None:
    if outcome.status != 0:
        raise CannotStart(
            f"The embedded database could not be prepared: {outcome.reason}.",
            hint=suggest_remedy(outcome.reason, data.parent),
        )


def write_owned_file(account: Account, path: Path, text: str) -> None:
    """Write a file of the server's user, beside and renamed.

    Root never follows a link here: the folder belongs to an unprivileged user, who could have laid one.
    """
    beside = path.with_name(f"{path.name}.new")
    beside.unlink(missing_ok=True)
    handle = open_private(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        if account.uid != os.geteuid():
            os.fchown(handle, account.uid, account.gid)
        file.write(text)
        file.flush()
        os.fsync(handle)
    beside.rename(path)


def _shipped(name: str) -> str:
    return files("festinger.store").joinpath(name).read_text(encoding="utf-8")


log = structlog.get_logger()

Q = queries_of("festinger.store")

NOTE = "postmaster.pid"
IMPOSSIBLE_PID = 2**31 - 2
"""No system gives this pid to anybody, so Postgres takes the one who wrote it for dead."""

CONNECT_SECONDS = 2
PATIENCE = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0))
"""How the server is asked to stop, and for how long before it is asked more firmly: fast, at once, by force."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostmasterInfo:
    """What a server wrote down about itself."""

    pid: int
    socket: Path | None


def server_lock(layout: Layout) -> Path:
    return layout.run / "server.lock"


def read_postmaster_info(data: Path) -> PostmasterInfo | None:
    try:
        lines = (data / NOTE).read_text(encoding="utf-8").splitlines()
        pid = int(lines[0])
    except (FileNotFoundError, IndexError, ValueError):
        return None
    socket = lines[4].strip() if len(lines) > 4 else ""
    return PostmasterInfo(pid=pid, socket=Path(socket) if socket else None)


def is_running(layout: Layout) -> bool:
    """Whether any process of a server on this data is alive."""
    return paths.is_locked(server_lock(layout)) or find_postmaster(layout.data) is not None


def find_postmaster(data: Path) -> int | None:
    """The pid of the live postmaster on this data; a zombie or another program with its number is none."""
    note = read_postmaster_info(data)
    if note is None:
        return None
    try:
        process = psutil.Process(note.pid)
        lives = process.status() != psutil.STATUS_ZOMBIE
        # A server works in its data directory; the same number in another program does not.
        ours = process.name().startswith("postgres") and Path(process.cwd()) == data.resolve()
    except psutil.Error:
        return None
    return note.pid if lives and ours else None


def invalidate_pid_file(data: Path, *, account: Account) -> None:
    """Make a note of the dead harmless.

    Postgres refuses to start while the noted pid exists, be it a zombie or a stranger. The note is not removed,
    because its other lines let Postgres find out whether a child of the dead server still has the memory.
    """
    path = data / NOTE
    if path.exists():
        _, _, rest = path.read_text(encoding="utf-8").partition("\n")
        write_owned_file(account, path, f"{IMPOSSIBLE_PID}\n{rest}")


async def ping(url: str) -> None:
    """Connect and run a statement, or raise what psycopg says."""
    connecting = psycopg.AsyncConnection.connect(url, connect_timeout=CONNECT_SECONDS)
    async with closing_connection(await connecting) as connection:
        await connection.execute(Q["ping"].sql)


async def stop_server(layout: Layout, *, stopwatch: Stopwatch, launched: int | None = None) -> None:
    """Stop the server on this data and wait until its last process is gone.

    `launched` is the pid of one that was started a moment ago and may not have written its note yet.
    """
    note = read_postmaster_info(layout.data)
    for order, seconds in PATIENCE:
        began = stopwatch()
        while is_running(layout) and stopwatch() - began < seconds:
            # Asked again and again: a server that has only just been born ignores the first call.
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
