"""Where does Festinger keep its things, and who may look into them?

The home holds data and backups, the config directory holds what must not lie beside the data (passwords and
keys). Folders are made private whatever the caller's umask is, and a folder that was there before is never
changed: its owner had a reason. What lies inside the files is their writers' matter.

Where is the database, and what may be said about it aloud?

A database URL may hold a password. It is read here once, so that neither a wrong URL nor a message of libpq
can carry the password into a log line, an error or a page. Nothing here connects.

Who may go first, and is anybody still in there?

Two file locks of the kernel (`flock`). The start lock is held by whoever starts or stops the server. The
server lock is handed to the server at its birth and held by all its processes: it is free exactly when the
last of them is gone, which no pid file can say of a killed, undead or copied server.
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
"""The home of root: the server's own user may pass through to its data, but not look around."""


def default_home(*, euid: int, person: Path) -> Path:
    """The home of whoever set none; `person` is their own home directory."""
    return ROOT_HOME if euid == 0 else person / ".local" / "share" / "festinger"


def config_directory(*, person: Path) -> Path:
    return person / ".config" / "festinger"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What lies where in a home."""

    home: Path

    @property
    def data(self) -> Path:
        """The cluster. It stands there whole or not at all."""
        return self.home / "pg"

    @property
    def growing(self) -> Path:
        """A cluster that is being made; worthless if its maker died."""
        return self.home / "pg.growing"

    @property
    def upgraded(self) -> Path:
        """A finished cluster of the new major version, on its way to the place of the old one."""
        return self.home / "pg.upgraded"

    @property
    def outdated(self) -> Path:
        """The cluster of the old major version, until the new one has answered."""
        return self.home / "pg.outdated"

    @property
    def workshop(self) -> Path:
        """Where an upgrade keeps its scripts and sockets."""
        return self.home / "pg.workshop"

    @property
    def socket(self) -> Path:
        return self.home / "socket"

    @property
    def run(self) -> Path:
        """Locks and notes of the processes that share the server."""
        return self.home / "run"

    @property
    def binaries(self) -> Path:
        return self.home / "bin"

    @property
    def backups(self) -> Path:
        return self.home / "backups"

    @property
    def spool(self) -> Path:
        """What waits for the store while it is away."""
        return self.home / "spool"

    @property
    def log(self) -> Path:
        return self.home / "postgres.log"

    @property
    def server(self) -> Path:
        """Where the server that runs on this home says how to reach it."""
        return self.home / "server.json"

    @property
    def forgotten(self) -> Path:
        return self.home / "forgotten"


def make_folder(path: Path, *, mode: int = PRIVATE_FOLDER, uid: int = -1, gid: int = -1) -> bool:
    """Make a folder with exactly this mode and owner; whether it was missing. One that is there stays as it is."""
    if path.is_dir():
        return False
    # Missing parents are made one by one, because `mkdir(parents=True)` ignores the mode for them.
    make_folder(path.parent, mode=mode, uid=uid, gid=gid)
    try:
        path.mkdir(mode=mode)
    except FileExistsError:
        return False
    path.chmod(mode)
    if (uid, gid) != (-1, -1):
        os.chown(path, uid, gid)
    return True


def open_private(path: Path, flags: int) -> int:
    """A file descriptor on a file that only its owner can read; a link in its place is refused."""
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE_FILE)


def sync_folder(path: Path) -> None:
    """Make a rename inside this folder outlive a power cut."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def explain_os_errors(path: Path) -> Iterator[None]:
    """Turn what the file system says about `path` into what a person can do about it."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise CannotStart(
            f"Festinger cannot use `{error.filename or path}`: {reason}.", hint=suggest_remedy(reason, path)
        ) from error


def suggest_remedy(reason: str, path: Path) -> str:
    """What to do about a file-system complaint, in the system's or the server's words."""
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
    """`url`, if it can be read as one; else `BadSetting`, which does not repeat it."""
    if "://" in url and urlsplit(url).netloc.count("@") > 1:
        # libpq would take the rest of the password for the host, and name it in its messages.
        raise BadSetting("The password in `database_url` has an `@`.", hint="Write it as `%40`.")
    try:
        conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # `from None`: the message of libpq repeats the whole text, password included.
        raise BadSetting(
            "`database_url` is not a Postgres URL.", hint="Write `postgresql://user:password@host:5432/name`."
        ) from None
    return url


def describe_database(url: str) -> str:
    """The database as it may be named to anybody: user, host, port and name."""
    parts = conninfo_to_dict(check_database_url(url))
    host = parts.get("host") or parts.get("hostaddr") or "localhost"
    return f"{parts.get('user') or ''}@{host}:{parts.get('port') or 5432}/{parts.get('dbname') or ''}"


def redact_password(text: str, url: str) -> str:
    """`text` with the password of `url` taken out, in whichever form it stands there."""
    password = str(conninfo_to_dict(url).get("password") or "")
    if not password:
        return text
    forms = {password, quote(password), quote(password, safe="")}
    # The longest first: a shorter form may be the beginning of a longer one.
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return text


POLL_SECONDS = 0.02


def is_locked(path: Path) -> bool:
    """Whether somebody holds this lock exclusively."""
    handle = open_private(path, os.O_RDWR | os.O_CREAT)
    try:
        # Shared, so that two who look at the same moment do not see each other.
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def try_lock(path: Path) -> int | None:
    """A descriptor that holds the lock until it and all its copies are closed; none if it is taken."""
    handle = open_private(path, os.O_RDWR | os.O_CREAT)
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
