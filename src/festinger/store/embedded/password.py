"""Loads or creates the password of the embedded server.

Generated once and kept in the config directory in a file that only its owner can read, never next to the
data. It opens every embedded cluster of this person; one brought from elsewhere gets it at its next start.
"""

import base64
import os
from collections.abc import Callable
from pathlib import Path

from festinger.errors import CannotStart
from festinger.store.paths import explain_os_errors, make_folder, open_private_file

Secret = Callable[[int], bytes]
"""Returns this many bytes from the operating system's random source."""

FILE = "database-password"
BYTES = 32


def load_or_create_password(config: Path, secret: Secret) -> str:
    """Return the password from the config directory; create it if it is missing."""
    path = config / FILE
    with explain_os_errors(path):
        make_folder(config)
        try:
            return _read(path)
        except FileNotFoundError:
            return _made(path, secret)


def _read(path: Path) -> str:
    with os.fdopen(open_private_file(path, os.O_RDONLY), encoding="ascii") as file:
        if os.fstat(file.fileno()).st_mode & 0o077:
            raise CannotStart(f"Others can read the database password in `{path}`.", hint=f"Run `chmod 600 {path}`.")
        found = file.read().strip()
    if not found:
        raise CannotStart(f"The file `{path}` is empty.", hint="Remove it; a new password is made then.")
    return found


def _made(path: Path, secret: Secret) -> str:
    fresh = base64.urlsafe_b64encode(secret(BYTES)).decode().rstrip("=")
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(open_private_file(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", encoding="ascii") as file:
        file.write(fresh)
        file.flush()
        os.fsync(file.fileno())
    try:
        # A link never overwrites: of two homes that start at once, one makes the password for both.
        os.link(beside, path)
    except FileExistsError:
        return _read(path)
    finally:
        beside.unlink()
    return fresh
