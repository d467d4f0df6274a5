"""Loads, creates and stores the master key.

It is 32 bytes in base64, from the environment or from a private file that is created at the first start. A
file that others could read or swap stops the start. During a rotation the new key waits in a second file
until the database has recorded it; `store.secrets` then decides which of the two is in force.

Encrypts secrets at rest.

A sealed value is `v1:gcm:` and base64 of nonce, ciphertext and tag (AES-256-GCM). Its location (table,
column, space, row) is authenticated, so a value that was moved to another row does not open there. Keys for
each purpose are derived from the master key. `store.secrets` lists the sealed columns and rotates the key.
"""

import base64
import binascii
import errno
import json
import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import SecretStr

from festinger.errors import BadSetting, CannotStart, KeyFileExposed, SecretUnreadable

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


def ensure_master_key(environment: Mapping[str, str], file: Path, *, data: Path, entropy: Entropy) -> MasterKey:
    """Return the master key, created if there is none. It may never lie in the data directory `data`."""
    if given := environment.get(VARIABLE):
        return MasterKey(raw=_decode_environment_key(given))
    path = file.expanduser().absolute()
    if path.resolve().is_relative_to(data.expanduser().resolve()):
        raise BadSetting(
            "`secrets.key_file` lies in the data directory.",
            hint="Put the key elsewhere: who copies the data must not get the key with it.",
        )
    with suppress(FileNotFoundError):
        return read_key_file(path)
    # If ten processes start at once, one creates the key and all ten read it.
    with suppress(FileExistsError):
        write_key_file(path, generate_master_key(entropy))
    return read_key_file(path)


def generate_master_key(entropy: Entropy) -> MasterKey:
    return MasterKey(raw=entropy(KEY_BYTES))


def read_key_file(path: Path) -> MasterKey:
    """Return the key in this file, if only its owner can access the file."""
    with _opened(path) as descriptor:
        _check_exposure(path, os.fstat(descriptor))
        text = os.read(descriptor, 4096)
    return MasterKey(raw=_decode_key(path, text), file=path)


def write_key_file(path: Path, key: MasterKey) -> None:
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
    _fsync_folder(path)


def next_key_path(path: Path) -> Path:
    return path.with_name(path.name + NEXT_SUFFIX)


def replace_with_next_key(path: Path) -> None:
    """Replace the current key by the waiting one, atomically."""
    next_key_path(path).replace(path)
    _fsync_folder(path)


def delete_next_key(path: Path) -> None:
    next_key_path(path).unlink(missing_ok=True)
    _fsync_folder(path)


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


def _decode_key(path: Path, text: bytes) -> bytes:
    with suppress(binascii.Error, ValueError):
        raw = base64.b64decode(text.strip(), validate=True)
        if len(raw) == KEY_BYTES:
            return raw
    raise CannotStart(
        f"`{path}` does not hold a master key.",
        hint="Restore it from your copy. Or remove it: a new one is made, and each secret must be set again.",
    )


def _decode_environment_key(text: str) -> bytes:
    with suppress(binascii.Error, ValueError):
        raw = base64.b64decode(text.strip(), validate=True)
        if len(raw) == KEY_BYTES:
            return raw
    raise BadSetting(f"`{VARIABLE}` is not {KEY_BYTES} bytes in base64.", hint="`openssl rand -base64 32` makes one.")


def _fsync_folder(path: Path) -> None:
    # A file name survives a power cut only once its folder is synced.
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


PREFIX = "v1:gcm:"
NONCE_BYTES = 12
TAG_BYTES = 16
ID_BYTES = 8

AT_REST = "secrets at rest"
KEY_ID = "name of the master key"

SHOWN_CHARS = 4
SHORT_SECRET = 12
"""A shorter secret does not even show its last characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretLocation:
    """Where a sealed value is stored."""

    table: str
    column: str
    space: str
    row: str

    @property
    def bound(self) -> bytes:
        # JSON keeps the four fields apart: no two locations encode to the same bytes.
        return json.dumps([self.table, self.column, self.space, self.row]).encode()


def derive_key(master: MasterKey, purpose: str) -> bytes:
    """Derive the key for one purpose. It reveals neither the master key nor another purpose's key."""
    hkdf = HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=f"festinger v1 {purpose}".encode())
    return hkdf.derive(master.raw)


class Vault:
    """Seals and opens secrets with the current master key."""

    __slots__ = ("_cipher", "_entropy", "key_id")

    def __init__(self, master: MasterKey, entropy: Entropy) -> None:
        self._cipher = AESGCM(derive_key(master, AT_REST))
        self._entropy = entropy
        self.key_id = key_id(master)

    def seal(self, secret: SecretStr, place: SecretLocation) -> str:
        nonce = self._entropy(NONCE_BYTES)
        box = nonce + self._cipher.encrypt(nonce, secret.get_secret_value().encode(), place.bound)
        return PREFIX + base64.b64encode(box).decode("ascii")

    def open(self, sealed: str, place: SecretLocation) -> SecretStr:
        """Return what was sealed here; raise `SecretUnreadable` if key, location or value do not match."""
        box = _decode_sealed(sealed)
        try:
            plain = self._cipher.decrypt(box[:NONCE_BYTES], box[NONCE_BYTES:], place.bound)
        except InvalidTag as error:
            raise SecretUnreadable from error
        return SecretStr(plain.decode())


def key_id(master: MasterKey) -> str:
    """Return an id of the master key that may be stored and shown; it reveals nothing about the key."""
    return derive_key(master, KEY_ID)[:ID_BYTES].hex()


def mask_secret(secret: SecretStr) -> str:
    """Return all that is ever shown of a secret."""
    plain = secret.get_secret_value()
    return "set" if len(plain) < SHORT_SECRET else f"set (…{plain[-SHOWN_CHARS:]})"


def _decode_sealed(sealed: str) -> bytes:
    try:
        box = base64.b64decode(sealed.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError) as error:
        raise SecretUnreadable("This secret is not in a form that can be read.") from error
    if not sealed.startswith(PREFIX) or len(box) < NONCE_BYTES + TAG_BYTES:
        raise SecretUnreadable("This secret is not in a form that can be read.")
    return box
