"""Stores the request log, and encodes spool files and erases words from them.

The log holds one row per request that memory served, by the id sent with its response, for some days. It
holds no text of a request unless a setting allows it. A spooled record is a line with its checksum, so that
torn or garbled lines are recognized. Files that a live process holds are left to it: it writes them to the
database, where words are erased. Files of dead processes, and lines that were set aside, are cleaned here.
"""

import fcntl
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from zlib import crc32

from festinger.errors import NotFound
from festinger.ids import AgentId, SessionId, SpaceId
from festinger.store.paths import open_private_file
from festinger.store.pool import Store, Transaction
from festinger.store.queries import load_queries
from festinger.text.blocks import ErasurePattern

Q = load_queries("festinger.store")

BATCH = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRequest:
    id: str
    at: datetime
    agent: AgentId
    session: SessionId | None
    route: str
    model: str
    status: int | None
    """Status sent to the client; none if it disconnected before."""
    memory: str
    reason: str
    ended: str | None
    before_ms: float
    after_ms: float
    details: Mapping[str, Any] = field(default_factory=dict)


async def log_requests(transaction: Transaction, space: SpaceId, requests: Sequence[LoggedRequest]) -> None:
    latest = {each.id: asdict(each) for each in requests}
    # The same order everywhere; otherwise two processes could deadlock on each other's rows.
    rows = json.dumps([latest[key] for key in sorted(latest)], default=str)
    await transaction.run(Q["log_requests"], space=space, rows=rows)


async def find_request(store: Store, space: SpaceId, request: str) -> LoggedRequest:
    missing = NotFound(
        f"There is no request `{request[:80]}` in the log.",
        hint="Requests on chat routes are kept for `proxy.request_log_days`.",
    )
    return LoggedRequest(**await store.one(Q["find_request"], missing, space=space, id=request))


async def list_requests(
    store: Store,
    space: SpaceId,
    *,
    session: SessionId | None = None,
    since: datetime | None = None,
    before: datetime | None = None,
    limit: int = 100,
) -> list[LoggedRequest]:
    """Return requests, newest first."""
    rows = await store.all(Q["list_requests"], space=space, session=session, since=since, before=before, limit=limit)
    return [LoggedRequest(**row) for row in rows]


async def daily_overhead(store: Store, space: SpaceId, since: datetime) -> list[dict[str, Any]]:
    """Return for each day how long requests waited for us: the median and the 95th percentile, in ms."""
    return [dict(row) for row in await store.all(Q["daily_overhead"], space=space, since=since)]


async def count_requests(store: Store, *, since: datetime) -> dict[tuple[str, str], int]:
    """Count the requests of all spaces by what memory did for them and why."""
    rows = await store.all(Q["count_requests"], since=since)
    return {(row["memory"], row["reason"]): row["requests"] for row in rows}


async def prune_requests(store: Store, *, before: datetime) -> int:
    """Delete older requests in batches; return how many."""
    removed = 0
    while batch := await store.run(Q["prune_requests"], before=before, limit=BATCH):
        removed += batch
    return removed


ENDING = ".spool"
BAD = "spool.bad"
HEAD_BYTES = 9
"""Eight hexadecimal digits of the checksum, and a blank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MalformedLine:
    """A line that holds no valid record."""

    line: bytes
    reason: str
    number: int = 0
    file: str = ""


def encode_spool_line(record: bytes) -> bytes:
    """Encode a record, which must hold no line break, as a line."""
    return b"%08x %b\n" % (crc32(record), record)


def decode_spool_line(line: bytes) -> bytes | MalformedLine:
    """Return the record of a line that has no trailing line break."""
    record = line[HEAD_BYTES:]
    if len(line) < HEAD_BYTES or line[:HEAD_BYTES] != b"%08x " % crc32(record):
        return MalformedLine(line=line, reason="garbled")
    return record


def erase_words_in_spool(folder: Path, cuts: Sequence[ErasurePattern]) -> int:
    """Erase words from every file of a folder that no process holds; return how many files changed."""
    if not cuts or not folder.is_dir():
        return 0
    return sum(_cut_file(path, cuts) for path in sorted({*folder.glob(f"*{ENDING}"), folder / BAD}))


def _cut_file(path: Path, cuts: Sequence[ErasurePattern]) -> bool:
    try:
        handle = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lines = path.read_bytes().splitlines()
        kept = [_cut_line(line, cuts) for line in lines]
        if kept == lines:
            return False
        _put_in_place(path, b"".join(line + b"\n" for line in kept))
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(handle)


def _cut_line(line: bytes, cuts: Sequence[ErasurePattern]) -> bytes:
    """Clean a record string by string and update its checksum; clean anything else as plain text."""
    record = decode_spool_line(line)
    try:
        document = json.loads(record) if isinstance(record, bytes) else None
    except ValueError:
        document = None
    if document is None:
        return _cut_text(line, cuts)
    clean = document
    for cut in cuts:
        clean = cut.erase_from_json(clean)
    return line if clean == document else encode_spool_line(json.dumps(clean, ensure_ascii=False).encode())[:-1]


def _cut_text(line: bytes, cuts: Sequence[ErasurePattern]) -> bytes:
    text = line.decode("utf-8", "surrogateescape")
    for cut in cuts:
        text = cut.erase_from_json(text)
    return text.encode("utf-8", "surrogateescape")


def _put_in_place(path: Path, data: bytes) -> None:
    """Write a temporary file and rename it over `path`, so that a crash leaves one or the other."""
    beside = path.with_name(f"{path.name}.cut")
    handle = open_private_file(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        os.write(handle, data)
        os.fsync(handle)
    finally:
        os.close(handle)
    beside.replace(path)
