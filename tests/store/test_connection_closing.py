"""A connection of our own is closed however whoever holds it is stopped."""

import asyncio
import re
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

import festinger.store
from festinger.store.connection import closing_connection
from festinger.store.embedded import cluster

STORE = Path(festinger.store.__file__).parent
UNHELD = re.compile(r"(?:async with|^\s+)\s*await [^\n]*(?:connect|dial|_as_superuser)\([^\n]* as ", re.MULTILINE)


async def for_ever() -> None:
    await asyncio.Event().wait()


async def connect(url: str) -> "psycopg.AsyncConnection[tuple[object, ...]]":
    return await psycopg.AsyncConnection.connect(url)


async def stopped(task: "asyncio.Task[None]", *, times: int) -> None:
    """Cancel a task so often, each time when it has come to where it waits."""
    for _ in range(times):
        for _ in range(10):
            await asyncio.sleep(0)
        task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("hangs", "times", "ends"),
    [("commit", 1, True), ("rollback", 2, False)],
    ids=["while committing", "again while rolling back"],
)
async def test_whoever_is_cancelled_while_letting_go_leaves_no_connection_open(
    hangs: str, times: int, ends: bool, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = await connect(database_url)
    monkeypatch.setattr(connection, hangs, for_ever)

    async def hold() -> None:
        async with closing_connection(connection):
            if not ends:
                await for_ever()

    await stopped(asyncio.create_task(hold()), times=times)

    assert connection.closed


async def test_what_was_done_is_committed_and_what_failed_is_not(database_url: str) -> None:
    async with closing_connection(await connect(database_url)) as connection:
        await connection.execute("create table kept (word text)")

    async def fail() -> None:
        async with closing_connection(await connect(database_url)) as connection:
            await connection.execute("insert into kept values ('lost')")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    async with closing_connection(await connect(database_url)) as connection:
        rows = await (await connection.execute("select * from kept")).fetchall()

    assert rows == []
    assert connection.closed


async def test_a_ping_that_is_cancelled_at_its_end_leaves_nothing_open(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[psycopg.AsyncConnection[tuple[object, ...]]] = []
    at_its_end = asyncio.Event()

    async def hanging(connection: "psycopg.AsyncConnection[tuple[object, ...]]") -> None:
        made.append(connection)
        at_its_end.set()
        await for_ever()

    monkeypatch.setattr(psycopg.AsyncConnection, "commit", hanging)
    task = asyncio.create_task(cluster.ping(database_url))
    await at_its_end.wait()
    await stopped(task, times=1)

    assert [connection.closed for connection in made] == [True]


def test_every_connection_of_the_store_is_held() -> None:
    found = [
        f"{path.name}: {match.group().strip()}"
        for path in sorted(STORE.glob("*.py"))
        for match in UNHELD.finditer(path.read_text(encoding="utf-8"))
    ]

    assert found == []
    assert UNHELD.search("    async with await line.dial() as connection:\n")
