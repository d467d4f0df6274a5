"""Write-ahead files of captured entries, on disk before the store has them.

One record per line with its checksum, in files that belong to one process and are private to their owner.
Records are read in order and deleted once the store has them, so a record may come twice after a crash but is
never lost. A file larger than `SEGMENT_BYTES` is followed by a new one, so that consumed records leave the
disk under constant load too. Files that no process holds are adopted: those of dead processes, and those that
a server sealed for its worker. The name of a file begins with its store, so that a server on the same home but
another database leaves it alone. Unreadable lines are set aside.
"""

import fcntl
import os
import re
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path

from festinger.store.paths import make_folder, open_private_file, sync_folder
from festinger.store.repositories.request_log import (
    BAD,
    ENDING,
    HEAD_BYTES,
    MalformedLine,
    decode_spool_line,
    encode_spool_line,
)

READ_BYTES = 2**20
SEGMENT_BYTES = 2**23
"""Also the most that is ingested a second time after a crash."""
MOST_SEALED = 64
"""With more sealed files than this waiting, the current one grows instead."""

_STORE = re.compile(r"[0-9a-f]{8}\.")


def decode_records(data: bytes) -> tuple[list[bytes | MalformedLine], int]:
    """Decode the records of complete lines; return them and the bytes they take."""
    whole = data.rfind(b"\n") + 1
    lines = data[:whole].split(b"\n")[:-1]
    return [decode_spool_line(line) for line in lines], whole


class _SpoolFile:
    """One file, held by this process."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self.handle = handle
        self.size = os.fstat(handle).st_size
        self.read = 0
        self.lines = 0

    @property
    def unread_bytes(self) -> int:
        return self.size - self.read

    def append(self, lines: Iterable[bytes]) -> None:
        data = b"".join(lines)
        try:
            written = 0
            while written < len(data):
                written += os.pwrite(self.handle, data[written:], self.size + written)
            os.fdatasync(self.handle)
        except OSError:
            os.ftruncate(self.handle, self.size)  # half a line would corrupt the next one
            raise
        self.size += len(data)

    def next(self, most: int) -> tuple[list[bytes | MalformedLine], int]:
        """The next records, and the bytes they take."""
        data = b""
        while not (found := decode_records(data))[1]:
            piece = os.pread(self.handle, READ_BYTES, self.read + len(data))
            if not piece:
                torn = MalformedLine(line=data, reason="torn")
                return ([self._numbered(torn, 0)] if data else []), len(data)
            data += piece
        records = found[0][:most]
        size = sum(
            HEAD_BYTES + len(record) + 1 if isinstance(record, bytes) else len(record.line) + 1 for record in records
        )
        return [
            self._numbered(record, at) if isinstance(record, MalformedLine) else record
            for at, record in enumerate(records)
        ], size

    def _numbered(self, refused: MalformedLine, at: int) -> MalformedLine:
        return MalformedLine(line=refused.line, reason=refused.reason, number=self.lines + at + 1, file=self.path.name)

    def discard_records(self, size: int, records: int) -> None:
        self.read += size
        self.lines += records
        if not self.unread_bytes:
            os.ftruncate(self.handle, 0)
            self.size = self.read = self.lines = 0

    def close(self) -> None:
        if not self.unread_bytes:
            self.path.unlink(missing_ok=True)
        os.close(self.handle)


class Spool:
    """The waiting records of one process. Methods access the disk: call them off the loop, one at a time."""

    def __init__(self, folder: Path, *, name: str) -> None:
        self._folder = folder
        self._name = name
        self._segments = 0
        self._files: deque[_SpoolFile] = deque()
        self._taken: list[tuple[_SpoolFile, int, int]] = []
        self._sealed_bytes = 0

    @property
    def waiting(self) -> int:
        """Bytes waiting, those of sealed files as of the last call of `seal`."""
        return self._sealed_bytes + sum(file.unread_bytes for file in tuple(self._files))

    @property
    def refused_bytes(self) -> int:
        """Bytes set aside."""
        try:
            return (self._folder / BAD).stat().st_size
        except FileNotFoundError:
            return 0

    def adopt_unheld_files(self) -> int:
        """Adopt files that no process holds; return the bytes that wait in them."""
        if not self._folder.is_dir():
            return 0
        left = [file for path in self._unheld_files() if (file := _adopt_file(path)) is not None]
        own = [file for file in self._files if self._is_own(file.path)]
        others = [*left, *(file for file in self._files if file not in own)]
        self._files = deque([*sorted(others, key=lambda file: file.path.stem), *own])
        return sum(file.unread_bytes for file in left)

    def seal(self) -> None:
        """Leave what was appended to another process, and open the file of the next append in advance."""
        others = [size for path in self._unheld_files() if (size := _size(path))]
        written = [file for file in self._files if file.unread_bytes]
        if len(others) < MOST_SEALED:
            for file in written:
                self._files.remove(file)
                others.append(file.unread_bytes)
                file.close()
            if written and not self._files:
                self._segments += 1
                self._open_current_file()
        self._sealed_bytes = sum(others)

    def append(self, records: Sequence[bytes], *, limit: int) -> int:
        """Append records up to a total of `limit` waiting bytes; return how many were added."""
        room, fitting = limit - self.waiting, []
        for line in map(encode_spool_line, records):
            room -= len(line)
            if room < 0:
                break
            fitting.append(line)
        if fitting:
            self._open_current_file().append(fitting)
        return len(fitting)

    def next(self, most: int) -> list[bytes | MalformedLine]:
        """The oldest records; they stay until `done`."""
        found: list[bytes | MalformedLine] = []
        self._taken = []
        for file in self._files:
            if file.unread_bytes and len(found) < most:
                records, size = file.next(most - len(found))
                self._taken.append((file, size, len(records)))
                found += records
                if size < file.unread_bytes:
                    break
        return found

    def done(self) -> None:
        """Delete what `next` returned; it is stored elsewhere."""
        for file, size, records in self._taken:
            file.discard_records(size, records)
            if not file.unread_bytes and (file is not self._files[-1] or not self._is_own(file.path)):
                self._files.remove(file)
                file.close()
        self._taken = []

    def set_aside(self, line: bytes) -> None:
        """Keep a rejected record for a person to inspect."""
        make_folder(self._folder)
        handle = open_private_file(self._folder / BAD, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(handle, line.rstrip(b"\n") + b"\n")
        finally:
            os.close(handle)

    def close(self) -> None:
        for file in self._files:
            file.close()
        self._files.clear()

    def _unheld_files(self) -> list[Path]:
        """The files of this store that this process does not hold, oldest first."""
        held, store = {file.path for file in self._files}, _STORE.match(self._name)
        return [
            path
            for path in sorted(self._folder.glob(f"*{ENDING}"), key=lambda path: path.stem)
            if path not in held
            and ((named := _STORE.match(path.name)) is None or store is None or named[0] == store[0])
        ]

    def _is_own(self, path: Path) -> bool:
        return path.name.startswith(self._name)

    def _open_current_file(self) -> _SpoolFile:
        last = self._files[-1] if self._files else None
        if last is None or last.path.name != self._segment_name() or last.size > SEGMENT_BYTES:
            self._segments += last is not None and last.path.name == self._segment_name()
            make_folder(self._folder)
            while (path := self._folder / self._segment_name()).exists():
                self._segments += 1
            # Named once it is locked, or another process could adopt it in between.
            handle = _open_locked(fresh := path.with_suffix(".new"))
            fresh.rename(path)
            self._files.append(_SpoolFile(path, handle))
            sync_folder(self._folder)
        return self._files[-1]

    def _segment_name(self) -> str:
        return f"{self._name}{f'-{self._segments:06}' if self._segments else ''}{ENDING}"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _open_locked(path: Path) -> int:
    handle = open_private_file(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle


def _adopt_file(path: Path) -> _SpoolFile | None:
    """Take over a file; `None` if it belongs to a living process or is gone."""
    try:
        return _SpoolFile(path, _open_locked(path))
    except OSError:
        return None
