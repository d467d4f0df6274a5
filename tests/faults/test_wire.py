"""A planted fault is what the server itself would have made of it."""

from typing import Any

import psycopg
import pytest
from psycopg import errors as pg
from tests.faults.wire import Fault, faulty_relay_to, nth

RAISED = {
    Fault.DISK_FULL: pg.DiskFull,
    Fault.TOO_SLOW: pg.QueryCanceled,
    Fault.SERIALIZATION: pg.SerializationFailure,
    Fault.DEADLOCK: pg.DeadlockDetected,
    Fault.ENDED: pg.AdminShutdown,
    Fault.UNANSWERED: psycopg.OperationalError,
}
ADD = "insert into space (id, name) values (%s, %s)"


async def add_two(connection: "psycopg.AsyncConnection[Any]") -> None:
    for each in ("one", "two"):
        await connection.execute(ADD, [each, each])
    await connection.execute("commit")


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("number", [1, 2, 3])
async def test_the_statement_whose_turn_it_is_fails_and_its_transaction_with_it(
    database_url: str, fault: Fault, number: int
):
    async with faulty_relay_to(database_url) as wire:
        async with await psycopg.AsyncConnection.connect(wire.url, autocommit=True) as connection:
            await connection.execute("begin")
            wire.arm(nth(number), fault)
            with pytest.raises(RAISED[fault]):
                await add_two(connection)
            wire.disarm()

        assert wire.is_reached
        assert wire.statements == [*[ADD.replace("%s, %s", "$1, $2")] * 2, "commit"][:number]
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            found = await (await connection.execute("select id from space where id in ('one', 'two')")).fetchall()
        is_committed = fault is Fault.UNANSWERED and number == 3
        assert len(found) == (2 if is_committed else 0)


async def test_each_statement_of_what_is_sent_at_once_has_its_turn(database_url: str):
    rows = [("one", "one"), ("two", "two"), ("three", "three")]
    async with faulty_relay_to(database_url) as wire:
        async with await psycopg.AsyncConnection.connect(wire.url, autocommit=True) as connection:
            wire.arm(nth(2), Fault.DISK_FULL)
            async with connection.transaction():
                with pytest.raises(pg.DiskFull):
                    async with connection.transaction(), connection.cursor() as cursor:
                        await cursor.executemany(ADD, rows)
            wire.disarm()

            found = await (await connection.execute("select id from space where id = 'one'")).fetchall()
    assert found == []
    assert wire.is_reached
