"""As whom does the embedded server run?

Postgres refuses to run as root, and rightly. For anybody else it runs as themselves; for root as the owner of
the data that is already there, else as a user of its own, else as one that every system has. Nothing here
touches a file.
"""

import os
import pwd
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from festinger.errors import CannotStart

OWN_USER = "festinger-pg"
STAND_INS = ("postgres", "nobody")

Lookup = Callable[[str], "Account | None"]
Make = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A user of this system, as a program is started under it."""

    name: str
    uid: int
    gid: int

    def as_process(self) -> dict[str, Any]:
        """The arguments that make `subprocess` start a program as this user and nobody else."""
        if self.uid == os.geteuid():
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


def server_account(data: Path) -> Account:
    """The account for the server on `data`, whether that is there yet or not."""
    if os.geteuid() != 0:
        return _account_of(os.geteuid())
    if data.exists() and (owner := data.stat().st_uid) != 0:
        return _account_of(owner)
    return unprivileged(lookup=known_account, make=make_system_user)


def unprivileged(*, lookup: Lookup, make: Make) -> Account:
    """Our own user, made if need be, else the first stand-in that this system knows."""
    if lookup(OWN_USER) is None:
        make(OWN_USER)
    for name in (OWN_USER, *STAND_INS):
        if found := lookup(name):
            return found
    raise CannotStart(
        "There is no unprivileged user for the database server to run as.",
        hint=f"Make one with `useradd --system {OWN_USER}`, or start Festinger as another user than root.",
    )


def known_account(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(name=name, uid=entry.pw_uid, gid=entry.pw_gid)


def make_system_user(name: str) -> None:
    """Try to make a user without home, shell or password. Whether it worked shows at the next look-up."""
    if tool := shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin"):
        command = [tool, "--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin", name]
    elif tool := shutil.which("adduser", path="/usr/sbin:/sbin:/usr/bin:/bin"):
        command = [tool, "-S", "-D", "-H", "-s", "/sbin/nologin", name]  # the form of small systems
    else:
        return
    subprocess.run(command, capture_output=True, check=False)


def _account_of(uid: int) -> Account:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        # A container may run as a number without a name; Postgres needs none, `initdb -U` is always given.
        return Account(name=str(uid), uid=uid, gid=os.getegid())
    return Account(name=entry.pw_name, uid=uid, gid=entry.pw_gid)
