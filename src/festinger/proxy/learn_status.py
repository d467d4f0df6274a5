"""What is known of the statements of a request while they are learned, and after.

Values and ports only, so that the proxy can start before anything that learns is loaded.
"""

import asyncio
from dataclasses import dataclass
from typing import Protocol

from festinger.proxy.understanding import Understood
from festinger.settings.tree import ProxySettings

WAIT_SECONDS = 1.0
"""How long an answer that is about to begin waits for what a person asked to be remembered."""
KEPT = frozenset({"stored", "confirmed", "refined", "superseded", "pending"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnStatus:
    """What became of the statements that a person asked to have remembered; told in a header."""

    actions: tuple[str, ...] = ()
    is_late: bool = False
    failed: str = ""

    def __str__(self) -> str:
        if self.failed:
            return f"failed; reason={self.failed}"
        if self.is_late:
            return "pending"
        kept = [action for action in self.actions if action in KEPT]
        return f"{len(kept)}; actions={','.join(self.actions)}" if self.actions else "0"


class Learning:
    """The learning of one request, under way."""

    def __init__(self, task: asyncio.Task[LearnStatus], *, is_asked: bool) -> None:
        self._task = task
        self.is_asked = is_asked
        """Whether a person asked to have something remembered."""

    async def status(self) -> LearnStatus:
        """What was learned, as far as it is known within `WAIT_SECONDS`."""
        await asyncio.wait({self._task}, timeout=WAIT_SECONDS)
        return self._task.result() if self._task.done() else LearnStatus(is_late=True)


class TurnLearner(Protocol):
    def start(self, understood: Understood, *, settings: ProxySettings) -> Learning | None:
        """Begin to learn from the new turns of a request; `None` if there is nothing to learn from."""


class NullLearner:
    def start(self, understood: Understood, *, settings: ProxySettings) -> Learning | None:
        return None
