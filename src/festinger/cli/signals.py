"""When does a command end before it is done?

SIGTERM cancels a command, so that whatever it has open is closed on the way out; Ctrl-C does so by asyncio's own
doing. A cancellation that got lost on the way is said again. A process that stays takes the first signal as a wish to finish, and the second as an order: every task is
cancelled. The third finds the system's own handling again, and kills.
"""

import asyncio
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

STOP = (signal.SIGINT, signal.SIGTERM)
TERMINATED = 128 + signal.SIGTERM
"""What a shell sees of a command that SIGTERM ended."""

AGAIN_SECONDS = 5.0
"""What a command is given to end before it is told again."""

T = TypeVar("T")


async def cancelled_by_sigterm(work: Coroutine[Any, Any, T], *, again_after: float = AGAIN_SECONDS) -> T:
    """Do the work; SIGTERM cancels it."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def cancel() -> None:
        loop.remove_signal_handler(signal.SIGTERM)
        task.cancel()

    loop.add_signal_handler(signal.SIGTERM, cancel)
    reminder = _Reminder(task, every=again_after)
    try:
        return await work
    finally:
        reminder.stop()
        loop.remove_signal_handler(signal.SIGTERM)


class _Reminder:
    """Cancels a task again that was cancelled before and goes on all the same: before Python 3.12 waiting may lose it."""

    def __init__(self, task: asyncio.Task[Any], *, every: float) -> None:
        self._task, self._every, self._was_cancelled = task, every, False
        self._look()

    def stop(self) -> None:
        self._next.cancel()

    def _look(self) -> None:
        if self._task.cancelling() and self._was_cancelled:
            # Said twice, but counted once: by the count asyncio knows whose wish it was.
            self._task.uncancel()
            self._task.cancel()
        self._was_cancelled = self._task.cancelling() > 0
        self._next = self._task.get_loop().call_later(self._every, self._look)


@contextmanager
def asked_to_stop() -> Iterator[asyncio.Event]:
    """An event that the first signal sets. It is listened to until the block ends, which is when everything
    is closed."""
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
