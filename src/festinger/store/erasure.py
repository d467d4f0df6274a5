"""Erases forgotten words from the database and keeps the ledger that stops backups from restoring them.

The ledger is a file in the home, outside the database: one line per erased item, with its id and a salted
hash of its words, never the words. It is appended and synced before the erasing transaction commits, and
replayed after a restore. The packages that own rows delete them; this module finds the remaining copies. It
searches every column that can hold words in every table that belongs to a space, and cuts them out. Keys,
references and closed value sets hold no words and are skipped.
"""

import fcntl
import hashlib
import hmac
import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import structlog
from psycopg import sql

from festinger.clock import aware
from festinger.errors import CannotStart
from festinger.ids import SpaceId
from festinger.records import record_json
from festinger.store.embedded.password import Secret
from festinger.store.paths import make_folder, open_private_file
from festinger.store.pool import Store, Transaction
from festinger.store.queries import Query, load_queries
from festinger.text.blocks import MARK, ErasurePattern

log = structlog.get_logger()

FORMAT = 1
SALT_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureEntry:
    """An erased item: where it was, what it was, and the hash that recognizes its words."""

    space: str
    kind: str
    id: str
    mark: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureLedger:
    path: Path
    salt: bytes

    def mark(self, text: str) -> str:
        """Return the salted hash of these words, ignoring case and spacing."""
        words = " ".join(text.casefold().split())
        return hmac.new(self.salt, words.encode(), hashlib.sha256).hexdigest()


def open_erasure_ledger(path: Path, secret: Secret = os.urandom) -> ErasureLedger:
    """Open the ledger at `path`; create it with a new salt if it is missing."""
    make_folder(path.parent)
    handle = open_private_file(path, os.O_RDWR | os.O_CREAT)
    with os.fdopen(handle, "r+b") as file:
        fcntl.flock(handle, fcntl.LOCK_EX)
        head = file.readline()
        if not head.endswith(b"\n"):
            # New, or cut off while being created: nothing can have been hashed with that salt yet.
            file.seek(0)
            file.truncate()
            head = _line({"format": FORMAT, "salt": secret(SALT_BYTES).hex()})
            file.write(head)
            file.flush()
            os.fsync(handle)
    try:
        return ErasureLedger(path=path, salt=bytes.fromhex(json.loads(head)["salt"]))
    except (ValueError, KeyError, TypeError) as error:
        raise CannotStart(
            f"The forget ledger `{path}` is damaged.", hint="Bring it back from a copy of the home."
        ) from error


def append_entries(ledger: ErasureLedger, entries: Iterable[ErasureEntry]) -> None:
    """Append the entries; when this returns they survive a power cut."""
    lines = b"".join(_line(record_json(entry)) for entry in entries)
    if not lines:
        return
    handle = open_private_file(ledger.path, os.O_RDWR | os.O_APPEND)
    with os.fdopen(handle, "r+b") as file:
        fcntl.flock(handle, fcntl.LOCK_EX)
        # A line that a crash cut off must not swallow the next one.
        file.seek(-1, os.SEEK_END)
        whole = file.read(1) == b"\n"
        file.write(lines if whole else b"\n" + lines)
        file.flush()
        os.fsync(handle)


def read_entries(ledger: ErasureLedger) -> list[ErasureEntry]:
    """Return all entries, oldest first; log and skip lines cut off by a crash, never acknowledged."""
    _, *lines = ledger.path.read_text(encoding="utf-8", errors="replace").splitlines()
    entries = []
    for number, line in enumerate(lines, 2):
        try:
            body = json.loads(line)
            entries.append(ErasureEntry(at=aware(datetime.fromisoformat(body.pop("at"))), **body))
        except (ValueError, KeyError, TypeError, AttributeError):
            log.warning("unreadable line in the forget ledger", room="store", line=number)
    return entries


def _line(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


Q = load_queries("festinger.store")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextColumn:
    table: str
    name: str
    kind: str


async def erase_words(transaction: Transaction, space: SpaceId, cuts: Iterable[ErasurePattern]) -> Counter[str]:
    """Cut words out of everything that a space holds; return the number of changed rows per table."""
    found: Counter[str] = Counter()
    wanted = list(cuts)
    columns = await find_text_columns(transaction) if wanted else []
    for column in columns:
        for cut in wanted:
            found[column.table] += await _clean(transaction, space, column, cut)
    return +found


async def find_text_columns(transaction: Transaction) -> list[TextColumn]:
    """Return every column of per-space tables that may hold people's words."""
    rows = await transaction.all(Q["columns_of_words"])
    return [TextColumn(table=row["relation"], name=row["name"], kind=row["kind"]) for row in rows]


async def _clean(transaction: Transaction, space: SpaceId, column: TextColumn, cut: ErasurePattern) -> int:
    if column.kind == "jsonb":
        return await _clean_documents(transaction, space, column, cut)
    query = Q["cut_text" if column.kind == "text" else "cut_texts"]
    return await transaction.run(_bind_column(query, column), space=space, pattern=cut.pattern, mark=MARK)


async def _clean_documents(transaction: Transaction, space: SpaceId, column: TextColumn, cut: ErasurePattern) -> int:
    """Cut JSON documents string by string: a pattern over the whole could break their syntax."""
    rows = await transaction.all(_bind_column(Q["find_documents"], column), space=space, pattern=cut.json_pattern)
    for row in rows:
        document = json.dumps(cut.erase_from_json(row["document"]), ensure_ascii=False)
        await transaction.run(
            _bind_column(Q["put_document"], column), space=space, place=row["place"], document=document
        )
    return len(rows)


def _bind_column(query: Query, column: TextColumn) -> Query:
    """Return the statement for one column. Names come from the catalog and are quoted by psycopg."""
    places = {"{table}": column.table, "{column}": column.name}
    text = query.sql
    for place, name in places.items():
        text = text.replace(place, sql.Identifier(name).as_string(None))
    return replace(query, sql=text)


async def vacuum(store: Store) -> None:
    """Give back the space of erased rows; their bytes may stay in a page until it is written over."""
    async with store.apart() as connection:
        await connection.execute(Q["vacuum_everything"].sql)
