"""Handles the signals that end a command early.

SIGTERM cancels a command, so that whatever it has open is closed on the way out; for Ctrl-C asyncio does the
same. A long-running process takes the first signal as a request to finish, and cancels every task at the
second. The third meets the system's own handling, and kills.
"""

import asyncio
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

STOP = (signal.SIGINT, signal.SIGTERM)
TERMINATED = 128 + signal.SIGTERM
"""The exit code of a command that SIGTERM ended."""

T = TypeVar("T")


async def cancel_on_sigterm(work: Coroutine[Any, Any, T]) -> T:
    """Run the work; SIGTERM cancels it."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def cancel() -> None:
        loop.remove_signal_handler(signal.SIGTERM)
        task.cancel()

    loop.add_signal_handler(signal.SIGTERM, cancel)
    try:
        return await work
    finally:
        loop.remove_signal_handler(signal.SIGTERM)


@contextmanager
def handle_stop_signals() -> Iterator[asyncio.Event]:
    """An event that the first signal sets; handled until the block ends, when everything is closed."""
    loop, asked = asyncio.get_running_loop(), asyncio.Event()

    def stop() -> None:
        if not asked.is_set():
            asked.set()
            return
        for number in STOP:
            loop.remove_signal_handler(number)
        for task in asyncio.all_tasks(loop):
            task.cancel()

    for number in STOP:
        loop.add_signal_handler(number, stop)
    try:
        yield asked
    finally:
        for number in STOP:
            loop.remove_signal_handler(number)
