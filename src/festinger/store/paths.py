"""Locates Festinger's files, parses database URLs and holds file locks.

The home holds data and backups; the config directory holds what must not lie next to the data (passwords and
keys). New folders are private whatever the umask is; existing ones are never changed. A database URL may hold
a password, so it is parsed here once and kept out of logs, errors and pages. The locks use `flock`: whoever
starts or stops the server holds the start lock, and all processes of the server inherit the server lock, so
it is free exactly when the last of them is gone. A pid file cannot say that of a killed, zombie or copied
server.
"""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict

from festinger.clock import Stopwatch
from festinger.errors import BadSetting, CannotStart

ROOT_HOME = Path("/var/lib/festinger")

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600
WALKABLE_BY_GROUP = 0o710
"""Mode of root's home: the server's user may pass through to its data, but not list the folder."""


def default_home(*, euid: int, person: Path) -> Path:
    """Return the home for a user who set none; `person` is that user's home directory."""
    return ROOT_HOME if euid == 0 else person / ".local" / "share" / "festinger"


def config_directory(*, person: Path) -> Path:
    return person / ".config" / "festinger"


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeLayout:
    """Paths inside a home."""

    home: Path

    @property
    def data(self) -> Path:
        """The cluster. It exists complete or not at all."""
        return self.home / "pg"

    @property
    def growing(self) -> Path:
        """A cluster under construction; worthless if the process that makes it died."""
        return self.home / "pg.growing"

    @property
    def upgraded_cluster(self) -> Path:
        """A finished cluster of the new major version, about to replace the old one."""
        return self.home / "pg.upgraded"

    @property
    def outdated_cluster(self) -> Path:
        """The cluster of the old major version, kept until the new one has answered."""
        return self.home / "pg.outdated"

    @property
    def upgrade_workspace(self) -> Path:
        """Scripts and sockets of a running upgrade."""
        return self.home / "pg.workshop"

    @property
    def socket(self) -> Path:
        return self.home / "socket"

    @property
    def run(self) -> Path:
        """Locks and holder lists of the processes that share the server."""
        return self.home / "run"

    @property
    def binaries(self) -> Path:
        return self.home / "bin"

    @property
    def backups(self) -> Path:
        return self.home / "backups"

    @property
    def spool(self) -> Path:
        """Writes that wait while the store is down."""
        return self.home / "spool"

    @property
    def log(self) -> Path:
        return self.home / "postgres.log"

    @property
    def server(self) -> Path:
        """Connection details written by the Festinger server that runs on this home."""
        return self.home / "server.json"

    @property
    def hooks(self) -> Path:
        """What the hooks of coding agents need, and backups of these tools' configuration."""
        return self.home / "hooks"

    @property
    def forgotten(self) -> Path:
        return self.home / "forgotten"


def make_folder(path: Path, *, mode: int = PRIVATE_FOLDER, uid: int = -1, gid: int = -1) -> bool:
    """Create a folder with exactly this mode and owner unless it exists; return whether it was missing."""
    if path.is_dir():
        return False
    # Parents are created one by one because `mkdir(parents=True)` ignores the mode for them.
    make_folder(path.parent, mode=mode, uid=uid, gid=gid)
    try:
        path.mkdir(mode=mode)
    except FileExistsError:
        return False
    path.chmod(mode)
    if (uid, gid) != (-1, -1):
        os.chown(path, uid, gid)
    return True


def open_private_file(path: Path, flags: int) -> int:
    """Open a file that only its owner can read; refuse a symbolic link."""
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE_FILE)


def sync_folder(path: Path) -> None:
    """Make renames inside this folder survive a power cut."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def explain_os_errors(path: Path) -> Iterator[None]:
    """Turn file-system errors about `path` into `CannotStart` with a remedy."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise CannotStart(
            f"Festinger cannot use `{error.filename or path}`: {reason}.", hint=suggest_remedy(reason, path)
        ) from error


def suggest_remedy(reason: str, path: Path) -> str:
    """Suggest what to do about a file-system error, given the message of the system or the server."""
    told = reason.lower()
    if "no space left" in told or "disk quota" in told:
        return f"Free some space on the disk of `{path}`, or choose another home with `FESTINGER_HOME`."
    if "read-only" in told:
        return f"`{path}` is on a read-only file system; choose another home with `FESTINGER_HOME`."
    if "permission denied" in told or "not permitted" in told:
        return f"Make `{path}` writable for this user, or choose another home with `FESTINGER_HOME`."
    if "too long" in told:
        return "Choose a home with a shorter path with `FESTINGER_HOME`."
    return f"Look at `{path}`, or choose another home with `FESTINGER_HOME`."


HIDDEN = "…"


def check_database_url(url: str) -> str:
    """Return `url` if it can be parsed; otherwise raise `BadSetting` without repeating it."""
    if "://" in url and urlsplit(url).netloc.count("@") > 1:
        # libpq would read the rest of the password as the host and name it in its messages.
        raise BadSetting("The password in `database_url` has an `@`.", hint="Write it as `%40`.")
    try:
        conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # `from None`: libpq's message repeats the whole text, including the password.
        raise BadSetting(
            "`database_url` is not a Postgres URL.", hint="Write `postgresql://user:password@host:5432/name`."
        ) from None
    return url


def redact_password(text: str, url: str) -> str:
    """Remove the password of `url` from `text`, plain or URL-quoted."""
    password = str(conninfo_to_dict(url).get("password") or "")
    if not password:
        return text
    forms = {password, quote(password), quote(password, safe="")}
    # Longest first: a shorter form may be the prefix of a longer one.
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return text


POLL_SECONDS = 0.02


def is_locked(path: Path) -> bool:
    """Return whether some process holds this lock exclusively."""
    handle = open_private_file(path, os.O_RDWR | os.O_CREAT)
    try:
        # Shared, so that two concurrent checks do not see each other.
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def try_lock(path: Path) -> int | None:
    """Return a descriptor that holds the lock until all its copies are closed, or `None` if it is taken."""
    handle = open_private_file(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


@asynccontextmanager
async def hold_lock(path: Path, *, stopwatch: Stopwatch, seconds: float) -> AsyncIterator[None]:
    """Hold the lock for the block; wait at most `seconds` for it."""
    began = stopwatch()
    while (handle := try_lock(path)) is None:
        if stopwatch() - began > seconds:
            raise CannotStart(
                f"Another process has been starting or stopping the embedded database for {seconds:.0f} seconds.",
                hint="Wait for it, or end it; then try again.",
            )
        await asyncio.sleep(POLL_SECONDS)
    try:
        yield
    finally:
        os.close(handle)
