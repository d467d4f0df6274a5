"""Starts the embedded server on its data, or joins one that is already running.

A start is retried while the obstacle passes by itself (the last children of a killed server), but only until
the deadline; then whatever was started is stopped, and the error gives the reason and a remedy. The socket
lies in the home unless that path is too long for clients; then in a short private folder named after the
home, so that the next start finds the same one. Only the server's user can enter either.
"""

import asyncio
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psycopg

from festinger.clock import Stopwatch
from festinger.errors import CannotStart
from festinger.store import paths
from festinger.store.embedded import cluster
from festinger.store.embedded.programs import Account, Binaries, Command, start_detached
from festinger.store.paths import (
    PRIVATE_FOLDER,
    HomeLayout,
    explain_os_errors,
    make_folder,
    open_private_file,
    suggest_remedy,
)

SOCKET_NAME = ".s.PGSQL.5432"
LONGEST_PATH = 100
"""Maximum bytes of a socket path. Linux allows 107 and others 103; some programs copy it into less."""


def is_usable_socket_folder(folder: Path) -> bool:
    """Return whether clients can use a socket in it: short, and no comma, which separates hosts for libpq."""
    return len(os.fsencode(folder / SOCKET_NAME)) <= LONGEST_PATH and "," not in str(folder)


def ensure_socket_folder(layout: HomeLayout, *, account: Account) -> Path:
    """Return the socket folder, created if needed."""
    if is_usable_socket_folder(layout.socket):
        with explain_os_errors(layout.socket):
            make_folder(layout.socket, uid=account.uid, gid=account.gid)
        if is_private(layout.socket, account):
            return layout.socket
        raise CannotStart(
            f"Others than `{account.name}` can enter `{layout.socket}`.",
            hint="Remove that folder; it is made again with the right mode.",
        )
    return _make_short_socket_folder(layout.home, account, short_socket_parents(os.environ, euid=os.geteuid()))


def remove_stale_socket(folder: Path) -> None:
    """Remove the socket of a dead server. Its lock file may name the pid of a zombie or a stranger."""
    for name in (SOCKET_NAME, f"{SOCKET_NAME}.lock"):
        (folder / name).unlink(missing_ok=True)


def short_socket_parents(environment: Mapping[str, str], *, euid: int) -> list[Path]:
    """Return where short-lived private folders may lie, best first."""
    own = environment.get("XDG_RUNTIME_DIR")
    runtime = [Path("/run")] if euid == 0 else [Path(own)] if own else []
    return [*runtime, Path(tempfile.gettempdir()), Path("/var/tmp"), Path("/dev/shm")]  # noqa: S108


def is_private(folder: Path, account: Account) -> bool:
    """Return whether it is a folder (not a link) that this account owns and nobody else can enter."""
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == account.uid and stat.S_IMODE(found.st_mode) == PRIVATE_FOLDER


def _make_short_socket_folder(home: Path, account: Account, places: Iterable[Path]) -> Path:
    identity = home.stat()
    # The inode distinguishes a home from a copy of it.
    mark = hashlib.sha256(f"{home}:{identity.st_dev}:{identity.st_ino}".encode()).hexdigest()[:16]
    tried = []
    for place in places:
        folder = place / f"festinger-{mark}"
        tried.append(str(place))
        try:
            if not place.is_dir() or not is_usable_socket_folder(folder):
                continue
            make_folder(folder, uid=account.uid, gid=account.gid)
            # Names in a shared folder are predictable: skip one that somebody else created first.
            if is_private(folder, account):
                return folder
        except OSError:
            continue
    raise CannotStart(
        f"The path of the home is too long for a socket, and no short private folder can be made in {', '.join(tried)}.",
        hint="Choose a home with a shorter path, or free space in the temporary folder.",
    )


DATABASE = "festinger"
ROLE = "festinger"
LARGEST_LOG = 5_000_000
"""Size in bytes above which a start rotates the server's log. It holds only errors, so it grows slowly."""

PASSING = ("pre-existing shared memory block", "lock file", "Is another postmaster", "is still starting")
REFUSED_LOGIN = "password authentication failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    stopwatch: Stopwatch
    ends: float
    seconds: float

    @property
    def over(self) -> bool:
        return self.stopwatch() > self.ends

    def restart_from_now(self) -> "Deadline":
        """Return a deadline of the same length from now, for the next step."""
        return deadline_in(self.seconds, self.stopwatch)


def deadline_in(seconds: float, stopwatch: Stopwatch) -> Deadline:
    return Deadline(stopwatch=stopwatch, ends=stopwatch() + seconds, seconds=seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedServerSpec:
    """What a server needs, whether it runs or not."""

    layout: HomeLayout
    binaries: Binaries
    account: Account
    password: str = field(repr=False)

    def url(self, *, socket: Path, role: str = ROLE, database: str = DATABASE) -> str:
        return f"postgresql://{role}:{quote(self.password)}@/{database}?host={quote(str(socket), safe='')}"


async def wait_for_running_server(server: EmbeddedServerSpec, deadline: Deadline) -> Path | None:
    """Return the socket folder of the running server once it answers, or `None` if it went away meanwhile."""
    while cluster.is_running(server.layout):
        note = cluster.read_postmaster_info(server.layout.data)
        refusal = await _refusal(server, note.socket if note else None)
        if note and note.socket and refusal is None:
            return note.socket
        if is_wrong_password(refusal or ""):
            raise CannotStart(
                "The running embedded database has another password than this config directory.",
                hint="Use the config directory of the processes that run, or end them; then start again.",
            )
        if deadline.over:
            raise CannotStart(
                f"The embedded database is up but did not answer within {deadline.seconds:.0f} seconds: {refusal}.",
                hint=f"End the processes that use `{server.layout.home}`, then start again.",
            )
        await asyncio.sleep(paths.POLL_SECONDS)
    return None


async def start_server(server: EmbeddedServerSpec, deadline: Deadline) -> Path:
    """Start the server on its data; return its socket folder once it answers."""
    with explain_os_errors(server.layout.home):
        socket = ensure_socket_folder(server.layout, account=server.account)
        adopted = False
        while (reason := await _attempt(server, socket, deadline)) is not None:
            if is_wrong_password(reason) and not adopted:
                await cluster.set_superuser_password(
                    server.layout.data, server.binaries, account=server.account, password=server.password
                )
                adopted = True
            elif deadline.over or not is_transient_failure(reason):
                raise CannotStart(f"The embedded database did not start: {reason}.", hint=_hint(reason, server.layout))
            await asyncio.sleep(paths.POLL_SECONDS)
    return socket


def is_transient_failure(reason: str) -> bool:
    """Return whether waiting may help because a dead server is not quite gone yet."""
    return any(words in reason for words in PASSING)


def is_wrong_password(reason: str) -> bool:
    return REFUSED_LOGIN in reason


async def _attempt(server: EmbeddedServerSpec, socket: Path, deadline: Deadline) -> str | None:
    """Launch once; return `None` if the server answers, else the reason. A failure leaves nothing running."""
    layout = server.layout
    lock = paths.try_lock(cluster.server_lock_path(layout))
    if lock is None:
        return "the last server on this data is still starting or stopping"
    heard = False
    try:
        cluster.invalidate_pid_file(layout.data, account=server.account)
        remove_stale_socket(socket)
        output = _open_log(layout.log)
        begins = os.lseek(output, 0, os.SEEK_END)
        pid = _launch(server, socket, output=output, lock=lock)
    finally:
        # From here on the lock lives exactly as long as the server's processes.
        os.close(lock)
    try:
        reason = await _wait_until_ready(server, socket, deadline)
        heard = reason is None
    finally:
        if not heard:
            await cluster.stop_server(layout, stopwatch=deadline.stopwatch, launched=pid)
    return reason if reason != _GONE else _read_failure_line(layout.log, begins)


_GONE = "gone"


def _launch(server: EmbeddedServerSpec, socket: Path, *, output: int, lock: int) -> int:
    quoted = str(socket).replace('"', '""')  # Postgres parses a list, where blanks and quotes have a meaning
    command: Command = [server.binaries["postgres"], "-D", server.layout.data, "-k", f'"{quoted}"']
    try:
        return start_detached(command, account=server.account, output=output, keep=(lock,))
    finally:
        os.close(output)


async def _wait_until_ready(server: EmbeddedServerSpec, socket: Path, deadline: Deadline) -> str | None:
    while (refusal := await _refusal(server, socket)) is not None:
        if is_wrong_password(refusal):
            return refusal
        if not cluster.is_running(server.layout):
            return _GONE
        if deadline.over:
            return f"it did not answer within {deadline.seconds:.0f} seconds ({refusal})"
        await asyncio.sleep(paths.POLL_SECONDS)
    return None


async def _refusal(server: EmbeddedServerSpec, socket: Path | None) -> str | None:
    """Return why the server does not answer, or `None` if it does."""
    if socket is None:
        return "it has not opened its socket yet"
    try:
        await cluster.ping(server.url(socket=socket, role=cluster.SUPERUSER, database="postgres"))
    except psycopg.OperationalError as error:
        return str(error).strip().partition("\n")[0]
    return None


def _open_log(path: Path) -> int:
    if path.exists() and path.stat().st_size > LARGEST_LOG:
        path.rename(path.with_suffix(".log.1"))
    return open_private_file(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def _read_failure_line(log: Path, begins: int) -> str:
    with log.open("rb") as file:
        file.seek(begins)
        lines = file.read().decode(errors="replace").splitlines()
    telling = [line for line in lines if "FATAL:" in line or "PANIC:" in line] or lines
    return telling[-1].rpartition("FATAL:")[2].rpartition("PANIC:")[2].strip() if telling else "it ended without a word"


def _hint(reason: str, layout: HomeLayout) -> str:
    return f"{suggest_remedy(reason, layout.home)} The server's log is `{layout.log}`."
