"""Asks a service that may be slow or hang, with a limit on open questions.

A question is never canceled when its caller stops waiting: its answer is used later. Every request asks again, so
that memory comes back as soon as the service does.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from festinger.runtime.lifecycle import Background

MOST_OPEN = 32
"""Open questions at once. A hung service must not pile up work without end."""

Answer = TypeVar("Answer")


class Questions:
    def __init__(self) -> None:
        self._open: set[asyncio.Task[Any]] = set()

    def ask(
        self, question: Coroutine[Any, Any, Answer], *, beside: Background
    ) -> asyncio.Task[Answer] | None:
        """Start a question in the background; `None` if too many are open."""
        if len(self._open) >= MOST_OPEN:
            question.close()
            return None
        task = beside.start(question)
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        return task
