"""How does a task end that waits for the database?

By being cancelled, and again until it is gone. Before Python 3.12 `asyncio.wait_for`, with which psycopg waits,
loses a cancellation that comes together with the answer: the task would then go on as if nobody had asked.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

AGAIN_SECONDS = 0.1


async def end_all(tasks: Iterable[asyncio.Task[Any]], *, again_after: float = AGAIN_SECONDS) -> None:
    """Cancel these tasks and return when all of them are gone; how they ended is not looked at."""
    all_of_them = list(tasks)
    while left := [task for task in all_of_them if not task.done()]:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=again_after)
    await asyncio.gather(*all_of_them, return_exceptions=True)
