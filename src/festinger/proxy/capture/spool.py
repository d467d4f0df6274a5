"""Write-ahead files of captured entries, on disk before the store has them.

One record per line with its checksum, in files that belong to one process and are private to their owner.
Records are read in order and deleted once the store has them, so a record may come twice after a crash but is
never lost. A file larger than `SEGMENT_BYTES` is followed by a new one, so that consumed records leave the
disk under constant load too. Files of dead processes are adopted; unreadable lines are set aside.
"""

import fcntl
import os
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path

from festinger.store.paths import make_folder, open_private, sync_folder
from festinger.store.repositories.request_log import BAD, ENDING, HEAD_BYTES, MalformedLine, decode_line, encode_line

READ_BYTES = 2**20
SEGMENT_BYTES = 2**23
"""Also the most that is ingested a second time after a crash."""


def split_records(data: bytes) -> tuple[list[bytes | MalformedLine], int]:
    """Decode the records of complete lines; return them and the bytes they take."""
    whole = data.rfind(b"\n") + 1
    lines = data[:whole].split(b"\n")[:-1]
    return [decode_line(line) for line in lines], whole


class _SpoolFile:
    """One file, held by this process."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self.handle = handle
        self.size = os.fstat(handle).st_size
        self.read = 0
        self.lines = 0

    @property
    def waiting(self) -> int:
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
        while not (found := split_records(data))[1]:
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

    def throw_away(self, size: int, records: int) -> None:
        self.read += size
        self.lines += records
        if not self.waiting:
            os.ftruncate(self.handle, 0)
            self.size = self.read = self.lines = 0

    def close(self) -> None:
        if not self.waiting:
            self.path.unlink(missing_ok=True)
        os.close(self.handle)


class Spool:
    """The waiting records of one process. Methods access the disk: call them off the loop, one at a time."""

    def __init__(self, folder: Path, *, name: str) -> None:
        self._folder = folder
        self._name = name
        self._segments = 0
        self._files: deque[_SpoolFile] = deque()
        self._taken: tuple[_SpoolFile, int, int] | None = None

    @property
    def waiting(self) -> int:
        """Bytes waiting."""
        return sum(file.waiting for file in tuple(self._files))

    @property
    def refused_bytes(self) -> int:
        """Bytes set aside."""
        try:
            return (self._folder / BAD).stat().st_size
        except FileNotFoundError:
            return 0

    def adopt(self) -> int:
        """Adopt files that no process holds; return the bytes that wait in them."""
        if not self._folder.is_dir():
            return 0
        held = {file.path for file in self._files}
        found = [path for path in sorted(self._folder.glob(f"*{ENDING}")) if path not in held]
        left = [file for file in map(_adopt_file, found) if file is not None]
        for file in reversed(left):
            self._files.appendleft(file)
        return sum(file.waiting for file in left)

    def append(self, records: Sequence[bytes], *, limit: int) -> int:
        """Append records up to a total of `limit` waiting bytes; return how many were added."""
        room, fitting = limit - self.waiting, []
        for line in map(encode_line, records):
            room -= len(line)
            if room < 0:
                break
            fitting.append(line)
        if fitting:
            self._last().append(fitting)
        return len(fitting)

    def next(self, most: int) -> list[bytes | MalformedLine]:
        """The oldest records; they stay until `done`."""
        for file in self._files:
            if file.waiting:
                records, size = file.next(most)
                self._taken = (file, size, len(records))
                return records
        return []

    def done(self) -> None:
        """Delete what `next` returned; it is stored elsewhere."""
        if self._taken is not None:
            file, size, records = self._taken
            file.throw_away(size, records)
            self._taken = None
            if not file.waiting and file is not self._files[-1]:
                self._files.remove(file)
                file.close()

    def set_aside(self, line: bytes) -> None:
        """Keep a rejected record for a person to inspect."""
        make_folder(self._folder)
        handle = open_private(self._folder / BAD, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(handle, line.rstrip(b"\n") + b"\n")
        finally:
            os.close(handle)

    def close(self) -> None:
        for file in self._files:
            file.close()
        self._files.clear()

    def _last(self) -> _SpoolFile:
        last = self._files[-1] if self._files else None
        if last is None or last.path.name != self._segment_name() or last.size > SEGMENT_BYTES:
            self._segments += last is not None and last.path.name == self._segment_name()
            make_folder(self._folder)
            path = self._folder / self._segment_name()
            self._files.append(_SpoolFile(path, _open_locked(path)))
            sync_folder(self._folder)
        return self._files[-1]

    def _segment_name(self) -> str:
        return f"{self._name}{f'-{self._segments:06}' if self._segments else ''}{ENDING}"


def _open_locked(path: Path) -> int:
    handle = open_private(path, os.O_RDWR | os.O_CREAT)
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
