"""A program that writes rows through the embedded server, to be run in numbers and to be killed.

    python -m tests.store.writer HOME CONFIG NAME FIRST COUNT [LOG]

Each row is written in a transaction of its own. When the deed has returned it is acknowledged: first in LOG,
with fsync, so that the log never knows less than the world was told, then as a line of output. To follow
more than rows through a kill, add deeds to `DEEDS`.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psycopg
from tests.store.homes import Home, opened

Connection = psycopg.AsyncConnection[Any]
Operation = Callable[[Connection, str, int], Awaitable[None]]

TABLE = "create table if not exists written (writer text, number integer, primary key (writer, number))"


async def write_row(connection: Connection, writer: str, number: int) -> None:
    async with connection.transaction():
        await connection.execute("insert into written values (%s, %s)", (writer, number))


DEEDS: tuple[Operation, ...] = (write_row,)


async def write(home: Home, name: str, *, first: int, count: int, log: int | None) -> None:
    async with opened(home) as url, await Connection.connect(url, autocommit=True) as connection:
        await connection.execute("select pg_advisory_lock(1)")
        await connection.execute(TABLE)
        await connection.execute("select pg_advisory_unlock(1)")
        for number in range(first, first + count):
            for operation in DEEDS:
                await operation(connection, name, number)
            acknowledge(name, number, log)


def acknowledge(name: str, number: int, log: int | None) -> None:
    if log is not None:
        os.write(log, f"{name} {number}\n".encode())
        os.fsync(log)
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def main(home: str, config: str, name: str, first: str, count: str, log: str | None = None) -> None:
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) if log else None
    place = Home(path=Path(home), config=Path(config))
    asyncio.run(write(place, name, first=int(first), count=int(count), log=handle))


if __name__ == "__main__":
    main(*sys.argv[1:])
