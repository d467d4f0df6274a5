import asyncio

import pytest

from festinger.store.connection import cancel_tasks
from festinger.store.pool import Store


async def test_a_task_that_loses_its_first_cancellation_is_asked_again():
    lost = 0

    async def deaf_once() -> None:
        nonlocal lost
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            lost += 1
        await asyncio.Event().wait()

    task = asyncio.create_task(deaf_once())
    await asyncio.sleep(0)
    await cancel_tasks([task], again_after=0.01)

    assert task.cancelled()
    assert lost == 1


async def test_how_a_task_ended_is_not_looked_at():
    async def broken() -> None:
        raise ValueError("broken")

    task = asyncio.create_task(broken())
    await asyncio.sleep(0)
    await cancel_tasks([task])

    with pytest.raises(ValueError, match="broken"):
        task.result()


async def test_a_statement_that_is_canceled_again_and_again_leaves_its_connection_usable(
    store: Store, caplog: pytest.LogCaptureFixture
):
    backends: list[int] = []

    async def sleep_in_the_server() -> None:
        async with store.transaction() as transaction:
            backends.append(transaction.connection.info.backend_pid)
            await transaction.connection.execute("select pg_sleep(60)")

    task = asyncio.create_task(sleep_in_the_server())
    while not await _is_sleeping(store, backends):
        pass
    await cancel_tasks([task], again_after=0)

    assert task.cancelled()
    assert caplog.messages == []
    assert store.pool.get_stats().get("returns_bad", 0) == 0


async def _is_sleeping(store: Store, backends: list[int]) -> bool:
    async with store.transaction() as transaction:
        cursor = await transaction.connection.execute(
            "select 1 from pg_stat_activity where wait_event = 'PgSleep' and pid = any(%s)", [backends]
        )
        return await cursor.fetchone() is not None
