import asyncio

import pytest

from festinger.store.connection import cancel_tasks


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
