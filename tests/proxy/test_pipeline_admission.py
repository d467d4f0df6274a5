"""A crowd at the door is let in one by one, and everybody else has a turn in between."""

import asyncio
from itertools import pairwise

import pytest

from festinger.proxy.pipeline import BurstPacer


async def enter(queue: BurstPacer, name: str, seen: list[str]) -> None:
    await queue.wait_for_turn()
    seen.append(name)


async def flow(seen: list[str], *, times: int) -> None:
    """An answer that is already on its way."""
    for _ in range(times):
        seen.append("flows")
        await asyncio.sleep(0)


async def test_who_comes_alone_passes_at_once():
    queue, seen = BurstPacer(), list[str]()
    alone = enter(queue, "one", seen)

    with pytest.raises(StopIteration):
        alone.send(None)
    assert seen == ["one"]


async def test_between_two_of_a_crowd_what_flows_goes_on_and_nobody_overtakes():
    queue, seen = BurstPacer(), list[str]()
    names = [str(number) for number in range(20)]

    async with asyncio.TaskGroup() as group:
        group.create_task(flow(seen, times=100))
        for name in names:
            group.create_task(enter(queue, name, seen))

    places = [seen.index(name) for name in names]
    assert places == sorted(places)
    between = [seen[first:second].count("flows") for first, second in pairwise(places)]
    assert min(between) >= 1


async def test_who_leaves_the_line_holds_nobody_up():
    queue, seen = BurstPacer(), list[str]()
    tasks = [asyncio.create_task(enter(queue, str(number), seen)) for number in range(4)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    tasks[2].cancel()
    await asyncio.wait(tasks)

    assert seen == ["0", "3"]
    await enter(queue, "later", seen)
    assert seen[-1] == "later"
