"""What runs beside the requests of this process?

Tasks that live as long as the app. One that ends by an error of ours is logged; none outlives the app.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import structlog

from festinger.errors import FestingerError
from festinger.store.connection import end_all

log = structlog.get_logger(room="app")

Result = TypeVar("Result")

AGAIN_SECONDS = 1.0
"""What a task is given to end its own tasks before it is told again."""


class Background:
    """The tasks of one app."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        """Run it beside everything else."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def stop(self) -> None:
        """Cancel what still runs and wait until it is gone."""
        await end_all(self._tasks, again_after=AGAIN_SECONDS)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, FestingerError):
            log.warning("background work failed", error=error.message)
        elif error is not None:
            log.error("background work failed", exc_info=error)
