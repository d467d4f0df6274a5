"""What if the server freezes in the middle of a word?

A server keeps its own limits, and says so when one is passed. One that froze, or that a network swallowed, keeps and
says nothing; then the wire is cut from this side, and whoever waits learns it as `StoreDown`. How long to wait is
decided by who asks.
"""

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

import psycopg

from festinger.store.faults import down
from festinger.store.line import Connection

LONGEST_SECONDS = 24 * 3600.0
"""Even patient work ends."""


class Watch:
    """Ends a connection from this side, in whichever state it is."""

    def __init__(self, connection: Connection) -> None:
        self.has_cut = False
        self._connection = connection

    def cut(self) -> None:
        self.has_cut = True
        with socket.socket(fileno=os.dup(self._connection.fileno())) as wire:
            wire.shutdown(socket.SHUT_RDWR)


@contextmanager
def in_time(connection: Connection, seconds: float) -> Iterator[None]:
    """Cut a connection whose server does not say anything for so long.

    The wire is cut instead of the caller being cancelled: psycopg answers that by asking the server once more.
    """
    watch = Watch(connection)
    timer = asyncio.get_running_loop().call_later(min(seconds, LONGEST_SECONDS), watch.cut)
    try:
        yield
    except psycopg.OperationalError as error:
        if not watch.has_cut:
            raise
        raise down("frozen", "The database stopped answering in the middle of a statement.") from error
    finally:
        timer.cancel()


class Bracket:
    """The beginning and the end of a transaction, each within its time."""

    def __init__(self, connection: Connection, *, deadline: float) -> None:
        self._transaction = connection.transaction()
        self._connection = connection
        self._deadline = deadline

    async def __aenter__(self) -> None:
        with in_time(self._connection, self._deadline):
            await self._transaction.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        with in_time(self._connection, self._deadline):
            return await self._transaction.__aexit__(kind, error, trace)
