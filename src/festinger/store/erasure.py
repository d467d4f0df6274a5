"""What did people ask us to erase, so that no backup brings it back?

A ledger outside the database, in the home: one line an erased thing, with its id and a salted hash of its
words, never the words. Appended and synced before the erasing transaction commits; read again after a restore.
Erasing itself belongs to the rooms that own the rows.

Where in the database do words stand that somebody asked to forget?

Anywhere: in messages, notes, results that were kept, reasons. So every column that can hold words is looked at, of
every table that belongs to a space, whoever owns it and whenever it was made, and the words are cut out of it. Keys,
references and closed sets of values hold no words and are left alone. Rows are erased by the rooms that own them;
this is what finds the copies that nobody thought of.
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

from festinger.clock import aware, iso
from festinger.errors import CannotStart
from festinger.ids import SpaceId
from festinger.store.embedded.password import Secret
from festinger.store.paths import make_folder, open_private
from festinger.store.pool import Store, Transaction
from festinger.store.queries import Query, queries_of
from festinger.text.blocks import MARK, ErasurePattern

log = structlog.get_logger()

FORMAT = 1
SALT_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureEntry:
    """One erased thing: where it was, what it was, and the mark by which its words are known again."""

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
        """The salted hash of these words, however they are spaced and cased."""
        words = " ".join(text.casefold().split())
        return hmac.new(self.salt, words.encode(), hashlib.sha256).hexdigest()


def open_erasure_ledger(path: Path, secret: Secret = os.urandom) -> ErasureLedger:
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
        return ErasureLedger(path=path, salt=bytes.fromhex(json.loads(head)["salt"]))
    except (ValueError, KeyError, TypeError) as error:
        raise CannotStart(
            f"The forget ledger `{path}` is damaged.", hint="Bring it back from a copy of the home."
        ) from error


def append_entries(ledger: ErasureLedger, entries: Iterable[ErasureEntry]) -> None:
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


def read_entries(ledger: ErasureLedger) -> list[ErasureEntry]:
    """Every entry, oldest first. A line that a crash cut off was never acknowledged and is passed over, aloud."""
    _, *lines = ledger.path.read_text(encoding="utf-8", errors="replace").splitlines()
    entries = []
    for number, line in enumerate(lines, 2):
        try:
            body = json.loads(line)
            entries.append(ErasureEntry(at=aware(datetime.fromisoformat(body.pop("at"))), **body))
        except (ValueError, KeyError, TypeError, AttributeError):
            log.warning("unreadable line in the forget ledger", room="store", line=number)
    return entries


def _as_json(entry: ErasureEntry) -> dict[str, Any]:
    return {"space": entry.space, "kind": entry.kind, "id": entry.id, "mark": entry.mark, "at": iso(entry.at)}


def _line(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


Q = queries_of("festinger.store")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextColumn:
    table: str
    name: str
    kind: str


async def erase_words(transaction: Transaction, space: SpaceId, cuts: Iterable[ErasurePattern]) -> Counter[str]:
    """Cut words out of everything that a space keeps; how many rows of each table held some."""
    found: Counter[str] = Counter()
    wanted = list(cuts)
    columns = await find_text_columns(transaction) if wanted else []
    for column in columns:
        for cut in wanted:
            found[column.table] += await _clean(transaction, space, column, cut)
    return +found


async def find_text_columns(transaction: Transaction) -> list[TextColumn]:
    """Every column of a space's tables that may hold words of people."""
    rows = await transaction.all(Q["columns_of_words"])
    return [TextColumn(table=row["relation"], name=row["name"], kind=row["kind"]) for row in rows]


async def _clean(transaction: Transaction, space: SpaceId, column: TextColumn, cut: ErasurePattern) -> int:
    if column.kind == "jsonb":
        return await _clean_documents(transaction, space, column, cut)
    query = Q["cut_text" if column.kind == "text" else "cut_texts"]
    return await transaction.run(_of(query, column), space=space, pattern=cut.pattern, mark=MARK)


async def _clean_documents(transaction: Transaction, space: SpaceId, column: TextColumn, cut: ErasurePattern) -> int:
    """Documents are cut here, text by text: a pattern over their whole could tear their brackets."""
    rows = await transaction.all(_of(Q["find_documents"], column), space=space, pattern=cut.json_pattern)
    for row in rows:
        document = json.dumps(cut.out_of_json(row["document"]), ensure_ascii=False)
        await transaction.run(_of(Q["put_document"], column), space=space, place=row["place"], document=document)
    return len(rows)


def _of(query: Query, column: TextColumn) -> Query:
    """The statement over one column. Names come from the catalogue, and are quoted by psycopg."""
    places = {"{table}": column.table, "{column}": column.name}
    text = query.sql
    for place, name in places.items():
        text = text.replace(place, sql.Identifier(name).as_string(None))
    return replace(query, sql=text)


async def vacuum(store: Store) -> None:
    """Give the room of erased rows back, so that nothing of them is left in the files."""
    async with store.apart() as connection:
        await connection.execute(Q["vacuum_everything"].sql)
