"""Is the server there, does it answer, and how is it told to go?

`postmaster.pid` is a note that a killed server leaves behind, and its pid may belong to a zombie or to
another program by now. So the server lock decides, and for a server that somebody started by hand the process
itself; the note only says where the socket is. Ready means that a connection has run a statement.
"""

import asyncio
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
import structlog

from festinger.clock import Stopwatch
from festinger.store import locks
from festinger.store.closing import held
from festinger.store.cluster import write_for
from festinger.store.home import Layout
from festinger.store.queries import queries_of
from festinger.store.server_user import Account

log = structlog.get_logger()

Q = queries_of("festinger.store")

NOTE = "postmaster.pid"
IMPOSSIBLE_PID = 2**31 - 2
"""No system gives this pid to anybody, so Postgres takes the one who wrote it for dead."""

CONNECT_SECONDS = 2
PATIENCE = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0))
"""How the server is asked to stop, and for how long before it is asked more firmly: fast, at once, by force."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What a server wrote down about itself."""

    pid: int
    socket: Path | None


def server_lock(layout: Layout) -> Path:
    return layout.run / "server.lock"


def note_of(data: Path) -> Note | None:
    try:
        lines = (data / NOTE).read_text(encoding="utf-8").splitlines()
        pid = int(lines[0])
    except (FileNotFoundError, IndexError, ValueError):
        return None
    socket = lines[4].strip() if len(lines) > 4 else ""
    return Note(pid=pid, socket=Path(socket) if socket else None)


def is_running(layout: Layout) -> bool:
    """Whether any process of a server on this data is alive."""
    return locks.taken(server_lock(layout)) or postmaster_of(layout.data) is not None


def postmaster_of(data: Path) -> int | None:
    """The pid of the live postmaster on this data; a zombie or another program with its number is none."""
    note = note_of(data)
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


def disarm(data: Path, *, account: Account) -> None:
    """Make a note of the dead harmless.

    Postgres refuses to start while the noted pid exists, be it a zombie or a stranger. The note is not removed,
    because its other lines let Postgres find out whether a child of the dead server still has the memory.
    """
    path = data / NOTE
    if path.exists():
        _, _, rest = path.read_text(encoding="utf-8").partition("\n")
        write_for(account, path, f"{IMPOSSIBLE_PID}\n{rest}")


async def ping(url: str) -> None:
    """Connect and run a statement, or raise what psycopg says."""
    connecting = psycopg.AsyncConnection.connect(url, connect_timeout=CONNECT_SECONDS)
    async with held(await connecting) as connection:
        await connection.execute(Q["ping"].sql)


async def stop(layout: Layout, *, stopwatch: Stopwatch, launched: int | None = None) -> None:
    """Stop the server on this data and wait until its last process is gone.

    `launched` is the pid of one that was started a moment ago and may not have written its note yet.
    """
    note = note_of(layout.data)
    for order, seconds in PATIENCE:
        began = stopwatch()
        while is_running(layout) and stopwatch() - began < seconds:
            # Asked again and again: a server that has only just been born ignores the first call.
            _ask(postmaster_of(layout.data) or launched, order)
            await asyncio.sleep(locks.POLL_SECONDS)
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
