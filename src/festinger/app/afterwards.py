"""What is written down after an answer was given?

What somebody recalled or read is noted beside the requests: an answer waits for none of it. Whoever builds on what
was noted, a report on a recall above all, waits until everything that was begun before is written.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

LAST_WORDS_SECONDS = 2.0
"""What is still being written when the house closes gets as long."""


class Afterwards:
    """The notes of one app that are being written."""

    def __init__(self) -> None:
        self._writing: set[asyncio.Task[Any]] = set()

    def write(self, work: Coroutine[Any, Any, Any]) -> None:
        """Have it written beside everything else."""
        task = asyncio.create_task(work)
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def written(self) -> None:
        """Wait for everything that was begun before now."""
        if self._writing:
            await asyncio.wait(set(self._writing))

    async def finish(self) -> None:
        """Wait a moment for what is still being written, and let the rest go."""
        if self._writing:
            await asyncio.wait(set(self._writing), timeout=LAST_WORDS_SECONDS)
        for task in set(self._writing):
            task.cancel()
