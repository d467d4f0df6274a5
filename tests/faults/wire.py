"""A wire to the server on which one statement can be made to fail, in the ways in which statements really fail.

It reads the protocol of Postgres and counts what clients have executed: simple queries, among them begin and commit,
and each execution of a prepared or an unnamed statement, also within a batch. A statement that is to fail is replaced
by one that raises the wanted error, so that the server itself aborts the transaction; or the server process is ended
before the statement; or the client is cut off from the answer to it.
"""

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from enum import StrEnum

import psycopg
from tests.store.relay import Relay


class Fault(StrEnum):
    DISK_FULL = "53100"
    TOO_SLOW = "57014"
    SERIALIZATION = "40001"
    DEADLOCK = "40P01"
    ENDED = "ended"
    """The server process is ended before it gets the statement."""
    UNANSWERED = "unanswered"
    """The statement is executed; the connection is lost before its answer."""


KINDS = {
    Fault.DISK_FULL: "disk_full",
    Fault.TOO_SLOW: "too_slow",
    Fault.SERIALIZATION: "busy",
    Fault.DEADLOCK: "busy",
    Fault.ENDED: "lost",
    Fault.UNANSWERED: "lost",
}
"""What a caller is told, as the kind of `StoreDown`."""

IsDue = Callable[[int, str], bool]
"""Whether a statement is to fail: by its number since the wire was armed, from 1, and by its text."""

QUERY, EXECUTE, KEY = b"Q", b"E", b"K"
ANSWERED = (b"C", b"E", b"I")
"""Messages of the server that end an answer: it is done, it failed, or there was nothing to do."""
PATIENCE_MS = 10_000
HEAD = 5
"""Bytes before the body of a message: its type and its length."""


def nth(number: int) -> IsDue:
    return lambda now, _statement: now == number


class FaultyRelay(Relay):
    """Counts statements while it is armed, and fails one of them."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._direct = url
        self._is_due: IsDue | None = None
        self.is_reached = False
        """Whether a statement failed since the wire was armed."""
        self.fault = Fault.DISK_FULL
        self.statements: list[str] = []
        """What was executed since it was armed; prepared statements by their text."""

    def arm(self, is_due: IsDue, fault: Fault = Fault.DISK_FULL) -> None:
        """From now on count statements, and fail the first that is due."""
        self._is_due, self.is_reached, self.fault, self.statements = is_due, False, fault, []

    def disarm(self) -> None:
        """Let everything pass uncounted."""
        self._is_due = None

    def fails(self, statement: str) -> bool:
        """Count a statement; return whether it is to fail."""
        if self._is_due is None:
            return False
        self.statements.append(statement)
        if self.is_reached or not self._is_due(len(self.statements), statement):
            return False
        self.is_reached = True
        return True

    async def end_server_process(self, process: int) -> None:
        async with await psycopg.AsyncConnection.connect(self._direct, autocommit=True) as connection:
            await connection.execute("select pg_terminate_backend(%s, %s)", [process, PATIENCE_MS])

    async def _call(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far = await asyncio.open_unix_connection(self._server)
        line = _Line(self, near=(reader, writer), far=far)
        for work in (line.ask(), line.answer()):
            pipe = asyncio.create_task(work)
            self._pipes.add(pipe)
            pipe.add_done_callback(self._pipes.discard)


class _Line:
    """One connection."""

    def __init__(
        self,
        relay: FaultyRelay,
        *,
        near: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        far: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        self._relay = relay
        self._reader, self._writer = near
        self._far_reader, self._far_writer = far
        self._process = 0
        self._is_cut_off = False
        self._is_listening = False
        self._prepared: dict[bytes, str] = {}
        self._bound: dict[bytes, str] = {}

    async def ask(self) -> None:
        """Pass on what the client says."""
        try:
            (length,) = struct.unpack("!i", head := await self._reader.readexactly(4))
            self._far_writer.write(head + await self._reader.readexactly(length - 4))
            async for messages in _read(self._reader):
                for kind, body in messages:
                    self._far_writer.write(await self._replace_if_due(kind, body))
        except asyncio.IncompleteReadError:
            pass
        finally:
            self._far_writer.close()

    async def answer(self) -> None:
        """Pass on what the server says."""
        try:
            async for messages in _read(self._far_reader):
                if self._is_cut_off:
                    if any(kind in ANSWERED for kind, _ in messages):
                        break
                    continue
                for kind, body in messages:
                    if kind == KEY:
                        self._process = struct.unpack_from("!i", body)[0]
                self._writer.write(b"".join(_packed(kind, body) for kind, body in messages))
        finally:
            self._writer.close()

    async def _replace_if_due(self, kind: bytes, body: bytes) -> bytes:
        message = _packed(kind, body)
        statement = self._statement(kind, body)
        if statement is None:
            return message
        # Who listens for changes of others is no part of any operation, nor is what the driver drops from its cache.
        self._is_listening |= statement.startswith("listen ")
        if self._is_listening or statement.startswith("DEALLOCATE") or not self._relay.fails(statement):
            return message
        match self._relay.fault:
            case Fault.ENDED:
                await self._relay.end_server_process(self._process)
                return b""
            case Fault.UNANSWERED:
                self._is_cut_off = True
                return message
            case code:
                raising = f"do $$ begin raise exception 'planted' using errcode = '{code}'; end $$".encode() + b"\0"
                return _packed(QUERY, raising) if kind == QUERY else _executed(raising)

    def _statement(self, kind: bytes, body: bytes) -> str | None:
        """The statement that a message has executed; nothing for what only prepares one."""
        match kind:
            case b"P":
                name, text, _ = body.split(b"\0", 2)
                self._prepared[name] = text.decode()
            case b"B":
                portal, name, _ = body.split(b"\0", 2)
                self._bound[portal] = self._prepared[name]
            case b"E":
                return self._bound[body.partition(b"\0")[0]]
            case b"Q":
                return body.rstrip(b"\0").decode()
        return None


async def _read(reader: asyncio.StreamReader) -> AsyncIterator[list[tuple[bytes, bytes]]]:
    """All messages that are there, again and again: the type and the body of each."""
    data = b""
    while more := await reader.read(65_536):
        data, at, found = data + more, 0, []
        while len(data) >= at + HEAD and len(data) > (end := at + struct.unpack_from("!i", data, at + 1)[0]):
            found.append((data[at : at + 1], data[at + HEAD : end + 1]))
            at = end + 1
        data = data[at:]
        yield found


def _packed(kind: bytes, body: bytes) -> bytes:
    return struct.pack("!ci", kind, len(body) + 4) + body


def _executed(statement: bytes) -> bytes:
    """The messages that execute another statement in place of one that is bound already."""
    parse = _packed(b"P", b"\0" + statement + b"\0\0")
    bind = _packed(b"B", b"fault\0" + b"\0" + b"\0\0" * 3)
    return parse + bind + _packed(EXECUTE, b"fault\0" + b"\0" * 4)


@asynccontextmanager
async def faulty_relay_to(url: str) -> AsyncIterator[FaultyRelay]:
    relay = FaultyRelay(url)
    await relay.mend()
    try:
        yield relay
    finally:
        await relay.close()
