"""Loads, creates and stores the master key.

It is 32 bytes in base64, from the environment or from a private file that is created at the first start. A
file that others could read or swap stops the start. During a rotation the new key waits in a second file
until the database has recorded it; `store.secrets` then decides which of the two is in force.
"""

import base64
import binascii
import errno
import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from festinger.errors import BadSetting, CannotStart, KeyFileExposed

Entropy = Callable[[int], bytes]
"""Returns this many unpredictable bytes."""

VARIABLE = "FESTINGER_SECRET_KEY"
KEY_BYTES = 32
FILE_MODE = 0o600
FOLDER_MODE = 0o700
READABLE_BY_OTHERS = 0o077
NEXT_SUFFIX = ".next"
"""Appended to the name of the current key file for a key that is being rotated in."""


def system_entropy(count: int) -> bytes:
    """Return random bytes of the operating system: the source of every key, secret and nonce."""
    return os.urandom(count)


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterKey:
    raw: bytes = field(repr=False)
    file: Path | None = None
    """Where it was read from; none if from the environment."""


def load_master_key(environment: Mapping[str, str], file: Path, *, data: Path, entropy: Entropy) -> MasterKey:
    """Return the master key, created if there is none. It may never lie in the data directory `data`."""
    if given := environment.get(VARIABLE):
        return MasterKey(raw=_from_environment(given))
    path = file.expanduser().absolute()
    if path.resolve().is_relative_to(data.expanduser().resolve()):
        raise BadSetting(
            "`secrets.key_file` lies in the data directory.",
            hint="Put the key elsewhere: who copies the data must not get the key with it.",
        )
    with suppress(FileNotFoundError):
        return read_key(path)
    # If ten processes start at once, one creates the key and all ten read it.
    with suppress(FileExistsError):
        write_key(path, new_key(entropy))
    return read_key(path)


def new_key(entropy: Entropy) -> MasterKey:
    return MasterKey(raw=entropy(KEY_BYTES))


def read_key(path: Path) -> MasterKey:
    """Return the key in this file, if only its owner can access the file."""
    with _opened(path) as descriptor:
        _check_exposure(path, os.fstat(descriptor))
        text = os.read(descriptor, 4096)
    return MasterKey(raw=_decoded(path, text), file=path)


def write_key(path: Path, key: MasterKey) -> None:
    """Write a key atomically; raise `FileExistsError` if one is there."""
    path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        os.fchmod(descriptor, FILE_MODE)
        os.write(descriptor, base64.b64encode(key.raw) + b"\n")
        os.fsync(descriptor)
        # A link, not a rename: it never replaces a key that another process has just created.
        os.link(draft, path)
    finally:
        os.close(descriptor)
        Path(draft).unlink()
    _settle_folder(path)


def next_file(path: Path) -> Path:
    return path.with_name(path.name + NEXT_SUFFIX)


def promote_next(path: Path) -> None:
    """Replace the current key by the waiting one, atomically."""
    next_file(path).replace(path)
    _settle_folder(path)


def discard_next(path: Path) -> None:
    next_file(path).unlink(missing_ok=True)
    _settle_folder(path)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise KeyFileExposed(f"`{path}` is a link.") from error
        raise CannotStart(f"The master key in `{path}` cannot be opened: {error.strerror}.") from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _check_exposure(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise KeyFileExposed(f"`{path}` is not a plain file.")
    if found.st_mode & READABLE_BY_OTHERS:
        raise KeyFileExposed(f"`{path}` has the mode {stat.S_IMODE(found.st_mode):04o}.")
    if found.st_uid != os.geteuid():
        raise KeyFileExposed(f"`{path}` belongs to another user.")


def _decoded(path: Path, text: bytes) -> bytes:
    with suppress(binascii.Error, ValueError):
        raw = base64.b64decode(text.strip(), validate=True)
        if len(raw) == KEY_BYTES:
            return raw
    raise CannotStart(
        f"`{path}` does not hold a master key.",
        hint="Restore it from your copy. Or remove it: a new one is made, and each secret must be set again.",
    )


def _from_environment(text: str) -> bytes:
    with suppress(binascii.Error, ValueError):
        raw = base64.b64decode(text.strip(), validate=True)
        if len(raw) == KEY_BYTES:
            return raw
    raise BadSetting(f"`{VARIABLE}` is not {KEY_BYTES} bytes in base64.", hint="`openssl rand -base64 32` makes one.")


def _settle_folder(path: Path) -> None:
    # A file name survives a power cut only once its folder is synced.
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
