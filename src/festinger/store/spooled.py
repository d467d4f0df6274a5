"""How is what waits in files written, and how are words cut out of it?

A record is a line with its checksum, so that a torn or garbled one is known. Files that a living process holds are
left to it: it brings what is in them to the database, where the words are cut out. Those that a dead one left behind,
and lines that were set aside, are cut here. What a record means is its writer's matter.
"""

import fcntl
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from festinger.store.home import open_private
from festinger.text.blocks import Cut

ENDING = ".spool"
BAD = "spool.bad"
HEAD_BYTES = 9
"""Eight hexadecimal digits of the checksum, and a blank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A line that holds no record."""

    line: bytes
    reason: str
    number: int = 0
    file: str = ""


def line_of(record: bytes) -> bytes:
    """A record, which holds no line break, as a line."""
    return b"%08x %b\n" % (crc32(record), record)


def record_in(line: bytes) -> bytes | Refused:
    """The record of a line, without its break."""
    record = line[HEAD_BYTES:]
    if len(line) < HEAD_BYTES or line[:HEAD_BYTES] != b"%08x " % crc32(record):
        return Refused(line=line, reason="garbled")
    return record


def cut_files(folder: Path, cuts: Sequence[Cut]) -> int:
    """Cut words out of every file of a folder that nobody holds; how many files held some."""
    if not cuts or not folder.is_dir():
        return 0
    return sum(_cut_file(path, cuts) for path in sorted({*folder.glob(f"*{ENDING}"), folder / BAD}))


def _cut_file(path: Path, cuts: Sequence[Cut]) -> bool:
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


def _cut_line(line: bytes, cuts: Sequence[Cut]) -> bytes:
    """A record is cut text by text and gets a new checksum; what is no record is cut as it stands."""
    record = record_in(line)
    try:
        document = json.loads(record) if isinstance(record, bytes) else None
    except ValueError:
        document = None
    if document is None:
        return _cut_text(line, cuts)
    clean = document
    for cut in cuts:
        clean = cut.out_of_json(clean)
    return line if clean == document else line_of(json.dumps(clean, ensure_ascii=False).encode())[:-1]


def _cut_text(line: bytes, cuts: Sequence[Cut]) -> bytes:
    text = line.decode("utf-8", "surrogateescape")
    for cut in cuts:
        text = cut.out_of_json(text)
    return text.encode("utf-8", "surrogateescape")


def _put_in_place(path: Path, data: bytes) -> None:
    """Written beside and moved over it, so that a crash leaves one or the other."""
    beside = path.with_name(f"{path.name}.cut")
    handle = open_private(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        os.write(handle, data)
        os.fsync(handle)
    finally:
        os.close(handle)
    beside.replace(path)
