"""How does a new cluster come to be?

It grows in a folder beside its place and is moved there when it is whole: initialised with checksums, with its
settings and a superuser who can log in. Whoever dies in between leaves nothing that could be taken for a
cluster. Starting, furnishing and upgrading it are other modules' matter.
"""

import os
import shutil
from importlib.resources import files
from pathlib import Path

from festinger.errors import CannotStart
from festinger.store.binaries import Binaries
from festinger.store.home import Layout, make_folder, open_private, remedy, sync_folder, usable
from festinger.store.programs import Command, Outcome, run
from festinger.store.server_user import Account

SUPERUSER = "postgres"
CONFIGURATION = "festinger.conf"
INCLUDE = f"\n# Festinger's own settings; lines of yours below this one win.\ninclude = '{CONFIGURATION}'\n"


def major_of(data: Path) -> int | None:
    """The major version that wrote this cluster; none if there is no cluster."""
    note = data / "PG_VERSION"
    return int(note.read_text(encoding="ascii").strip()) if note.exists() else None


async def grow(layout: Layout, binaries: Binaries, *, account: Account, password: str) -> None:
    """A new, empty cluster in its place."""
    with usable(layout.home):
        await initialise(layout.growing, binaries, account=account)
        await admit(layout.growing, binaries, account=account, password=password)
        layout.growing.rename(layout.data)
        sync_folder(layout.home)


async def initialise(data: Path, binaries: Binaries, *, account: Account, checksums: bool = True) -> None:
    """Run `initdb` in a fresh folder and lay our settings beside its own."""
    shutil.rmtree(data, ignore_errors=True)
    make_folder(data, uid=account.uid, gid=account.gid)
    # Case folding of all of Unicode, order by code point, the same on every system and in every version.
    locale = ("--locale-provider=builtin", "--locale=C.UTF-8")
    sums = "--data-checksums" if checksums else "--no-data-checksums"
    # Nobody is let in before our own pg_hba.conf stands.
    command: Command = [
        binaries["initdb"],
        "-D",
        data,
        "-U",
        SUPERUSER,
        "-A",
        "reject",
        "-E",
        "UTF8",
        *locale,
        sums,
    ]
    _succeeded(await run(command, account=account), data)
    with (data / "postgresql.conf").open("a", encoding="utf-8") as file:
        file.write(INCLUDE)
    configure(data, account=account)
    write_for(account, data / "pg_hba.conf", _shipped("embedded_hba.conf"))


def configure(data: Path, *, account: Account) -> None:
    """Bring the settings of a cluster to those of this version."""
    write_for(account, data / CONFIGURATION, _shipped("embedded.conf"))


async def admit(data: Path, binaries: Binaries, *, account: Account, password: str) -> None:
    """Let the superuser of a cluster that is not running log in with this password.

    Whoever owns the files owns the cluster, so this opens no door that was closed. Nothing may be made this way:
    what is made without a running server gets numbers that the next major version uses itself.
    """
    command: Command = [binaries["postgres"], "--single", "-D", data, "-c", "exit_on_error=on", "template1"]
    statements = _shipped("superuser.sql").replace(":'password'", f"'{password}'")
    _succeeded(await run(command, account=account, given=statements), data)


def _succeeded(outcome: Outcome, data: Path) -> None:
    if outcome.status != 0:
        raise CannotStart(
            f"The embedded database could not be prepared: {outcome.reason}.",
            hint=remedy(outcome.reason, data.parent),
        )


def write_for(account: Account, path: Path, text: str) -> None:
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
