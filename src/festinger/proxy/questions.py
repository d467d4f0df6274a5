"""How is somebody asked who may be late, or may hang?

A few questions at a time and no more: whoever comes while too many stand open does not wait in line. While the answers
come too late one after the other, one question at a time goes on, to notice when that is over, and nobody waits for it.
What fails late was late too. A question is never called off by whoever stops waiting for it.
"""

import asyncio
from collections.abc import Coroutine
from functools import partial
from typing import Any, TypeVar

from festinger.app.background import Background
from festinger.clock import Stopwatch, system_stopwatch
from festinger.proxy.patience import Patience

MOST_OPEN = 4
"""Questions that may stand open at once: more of them than are answered in about a deadline would only make each other
late."""

Answer = TypeVar("Answer")


class Questions:
    def __init__(self, *, patience: Patience | None = None, stopwatch: Stopwatch = system_stopwatch) -> None:
        self._patience = patience or Patience()
        self._stopwatch = stopwatch
        self._open: set[asyncio.Task[Any]] = set()

    def is_worth(self, seconds: float) -> bool:
        """Whether an answer may come within so many seconds."""
        return self._patience.is_worth(seconds)

    def ask(
        self, question: Coroutine[Any, Any, Answer], *, within: float, beside: Background
    ) -> asyncio.Task[Answer] | None:
        """Ask beside everything else, for an answer in so many seconds; none if too many questions stand open."""
        if len(self._open) >= (MOST_OPEN if self.is_worth(within) else 1):
            question.close()
            return None
        task = beside.start(question)
        self._open.add(task)
        task.add_done_callback(partial(self._over, self._stopwatch()))
        return task

    def _over(self, began: float, task: asyncio.Task[Any]) -> None:
        self._open.discard(task)
        if not task.cancelled():
            self._patience.answered(self._stopwatch() - began)
