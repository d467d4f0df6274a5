"""What did people ask us to erase, so that no backup brings it back?

A ledger outside the database, in the home: one line an erased thing, with its id and a salted hash of its
words, never the words. Appended and synced before the erasing transaction commits; read again after a restore.
Erasing itself belongs to the rooms that own the rows.
"""

import fcntl
import hashlib
import hmac
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import structlog

from festinger.clock import aware, iso
from festinger.errors import CannotStart
from festinger.store.home import make_folder, open_private
from festinger.store.password import Secret

log = structlog.get_logger()

FORMAT = 1
SALT_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """One erased thing: where it was, what it was, and the mark by which its words are known again."""

    space: str
    kind: str
    id: str
    mark: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    path: Path
    salt: bytes

    def mark(self, text: str) -> str:
        """The salted hash of these words, however they are spaced and cased."""
        words = " ".join(text.casefold().split())
        return hmac.new(self.salt, words.encode(), hashlib.sha256).hexdigest()


def open_ledger(path: Path, secret: Secret = os.urandom) -> Ledger:
    """The ledger at `path`; the first to ask makes it, with a salt of its own."""
    make_folder(path.parent)
    handle = open_private(path, os.O_RDWR | os.O_CREAT)
    with os.fdopen(handle, "r+b") as file:
        fcntl.flock(handle, fcntl.LOCK_EX)
        head = file.readline()
        if not head.endswith(b"\n"):
            # New, or cut off while it was made: nothing can have been marked with that salt yet.
            file.seek(0)
            file.truncate()
            head = _line({"format": FORMAT, "salt": secret(SALT_BYTES).hex()})
            file.write(head)
            file.flush()
            os.fsync(handle)
    try:
        return Ledger(path=path, salt=bytes.fromhex(json.loads(head)["salt"]))
    except (ValueError, KeyError, TypeError) as error:
        raise CannotStart(
            f"The forget ledger `{path}` is damaged.", hint="Bring it back from a copy of the home."
        ) from error


def append(ledger: Ledger, entries: Iterable[Forgotten]) -> None:
    """Write the entries to disk; when this returns they outlive a power cut."""
    lines = b"".join(_line(_as_json(entry)) for entry in entries)
    if not lines:
        return
    handle = open_private(ledger.path, os.O_RDWR | os.O_APPEND)
    with os.fdopen(handle, "r+b") as file:
        fcntl.flock(handle, fcntl.LOCK_EX)
        # A line that a crash cut off must not swallow the next one.
        file.seek(-1, os.SEEK_END)
        whole = file.read(1) == b"\n"
        file.write(lines if whole else b"\n" + lines)
        file.flush()
        os.fsync(handle)


def read(ledger: Ledger) -> list[Forgotten]:
    """Every entry, oldest first. A line that a crash cut off was never acknowledged and is passed over, aloud."""
    _, *lines = ledger.path.read_text(encoding="utf-8", errors="replace").splitlines()
    entries = []
    for number, line in enumerate(lines, 2):
        try:
            body = json.loads(line)
            entries.append(Forgotten(at=aware(datetime.fromisoformat(body.pop("at"))), **body))
        except (ValueError, KeyError, TypeError, AttributeError):
            log.warning("unreadable line in the forget ledger", room="store", line=number)
    return entries


def _as_json(entry: Forgotten) -> dict[str, Any]:
    return {
        "space": entry.space,
        "kind": entry.kind,
        "id": entry.id,
        "mark": entry.mark,
        "at": iso(entry.at),
    }


def _line(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
