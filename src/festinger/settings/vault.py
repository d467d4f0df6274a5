"""Encrypts secrets at rest.

A sealed value is `v1:gcm:` and base64 of nonce, ciphertext and tag (AES-256-GCM). Its location (table,
column, space, row) is authenticated, so a value that was moved to another row does not open there. Keys for
each purpose are derived from the master key. `store.secrets` lists the sealed columns and rotates the key.
"""

import base64
import binascii
import json
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import SecretStr

from festinger.errors import SecretUnreadable
from festinger.settings.master_key import KEY_BYTES, Entropy, MasterKey

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
        box = _box(sealed)
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


def _box(sealed: str) -> bytes:
    try:
        box = base64.b64decode(sealed.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError) as error:
        raise SecretUnreadable("This secret is not in a form that can be read.") from error
    if not sealed.startswith(PREFIX) or len(box) < NONCE_BYTES + TAG_BYTES:
        raise SecretUnreadable("This secret is not in a form that can be read.")
    return box
