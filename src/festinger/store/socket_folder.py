"""In which folder does the server's socket lie?

In the home, unless that makes a path that clients cannot use; then in a short private folder, named
after the home, so that the next start finds the same one. Only the server's user can enter either.
"""

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from festinger.errors import CannotStart
from festinger.store.home import PRIVATE_FOLDER, Layout, make_folder, usable
from festinger.store.server_user import Account

SOCKET_NAME = ".s.PGSQL.5432"
LONGEST_PATH = 100
"""Bytes of a socket's path. Linux takes 107 and others 103; some programs copy it into less."""


def fits(folder: Path) -> bool:
    """Whether clients can name a socket in it: short enough, and without the comma that separates hosts for libpq."""
    return len(os.fsencode(folder / SOCKET_NAME)) <= LONGEST_PATH and "," not in str(folder)


def socket_folder(layout: Layout, *, account: Account) -> Path:
    """The folder, made if need be."""
    if fits(layout.socket):
        with usable(layout.socket):
            make_folder(layout.socket, uid=account.uid, gid=account.gid)
        if is_private(layout.socket, account):
            return layout.socket
        raise CannotStart(
            f"Others than `{account.name}` can enter `{layout.socket}`.",
            hint="Remove that folder; it is made again with the right mode.",
        )
    return _short(layout.home, account, short_places(os.environ, euid=os.geteuid()))


def sweep(folder: Path) -> None:
    """Remove what a dead server left. Its lock file names a pid, which may be a zombie's or a stranger's by now."""
    for name in (SOCKET_NAME, f"{SOCKET_NAME}.lock"):
        (folder / name).unlink(missing_ok=True)


def short_places(environment: Mapping[str, str], *, euid: int) -> list[Path]:
    """Where short-lived private folders may lie, best first."""
    own = environment.get("XDG_RUNTIME_DIR")
    runtime = [Path("/run")] if euid == 0 else [Path(own)] if own else []
    return [*runtime, Path(tempfile.gettempdir()), Path("/var/tmp"), Path("/dev/shm")]  # noqa: S108


def is_private(folder: Path, account: Account) -> bool:
    """Whether it is a folder that this account owns and nobody else can enter. Links do not count."""
    found = folder.lstat()
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == account.uid
        and stat.S_IMODE(found.st_mode) == PRIVATE_FOLDER
    )


def _short(home: Path, account: Account, places: Iterable[Path]) -> Path:
    identity = home.stat()
    # The inode keeps a copy of a home apart from the home that it was copied from.
    mark = hashlib.sha256(f"{home}:{identity.st_dev}:{identity.st_ino}".encode()).hexdigest()[:16]
    tried = []
    for place in places:
        folder = place / f"festinger-{mark}"
        tried.append(str(place))
        try:
            if not place.is_dir() or not fits(folder):
                continue
            make_folder(folder, uid=account.uid, gid=account.gid)
            # Names in a shared folder can be foreseen: one that somebody else made first is passed over.
            if is_private(folder, account):
                return folder
        except OSError:
            continue
    raise CannotStart(
        f"The path of the home is too long for a socket, and no short private folder can be made in {', '.join(tried)}.",
        hint="Choose a home with a shorter path, or free space in the temporary folder.",
    )
