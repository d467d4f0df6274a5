"""A command that is asked to stop stops, though whoever it waits for swallows what it is told."""

import asyncio

import pytest

from festinger.cli.signals import cancelled_by_sigterm


async def deaf(times: int, *, heard: list[int]) -> None:
    """Goes on although it was cancelled, so many times."""
    for number in range(times):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            heard.append(number)
    await asyncio.Event().wait()


@pytest.mark.requirement("X-105")
async def test_a_cancellation_that_got_lost_is_said_again_and_counts_once():
    heard = list[int]()
    task = asyncio.create_task(cancelled_by_sigterm(deaf(2, heard=heard), again_after=0.01))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})

    assert task.cancelled()
    assert heard == [0, 1]
    assert task.cancelling() == 1


async def test_nobody_is_told_who_was_not_asked_to_stop():
    turns = 0

    async def working() -> int:
        nonlocal turns
        for _ in range(20):
            await asyncio.sleep(0.001)
            turns += 1
        return turns

    assert await cancelled_by_sigterm(working(), again_after=0.001) == 20
