"""What does a client send that is in the middle of a conversation?

The whole history each time, and at its end a turn that nobody has seen: a system message, turns of a person and of a
model about things of the large world, and the newest words of the person. Only those are new from request to request.
"""

import json
from typing import Any

from festinger.bench.large_world import Prose, Size

TURN_CHARS = 2_000
NEWEST_CHARS = 1_024
MODEL = "stub"


class Conversation:
    """One conversation of about so many KiB, which goes on in many ways."""

    def __init__(
        self, size: Size, *, kib: int, seed: int, streamed: bool = False, model: str = MODEL
    ) -> None:
        self._prose = Prose(size, seed=seed)
        self._model, self._streamed = model, streamed
        self._history = [_said("system", f"Answer briefly. This is conversation {seed}.")]
        left = kib * 1024 - len(self.body("x" * NEWEST_CHARS))
        while left > 0:
            role = "user" if len(self._history) % 2 else "assistant"
            self._history.append(_said(role, self._prose.text(min(left, TURN_CHARS))))
            left = kib * 1024 - len(self.body("x" * NEWEST_CHARS))
        if len(self._history) % 2 == 0:
            self._history.append(_said("assistant", "Go on."))

    def bodies(self, count: int) -> list[bytes]:
        """So many requests, each with other newest words."""
        return [self.body(self._prose.text(NEWEST_CHARS)) for _ in range(count)]

    def body(self, newest: str) -> bytes:
        messages = [*self._history, _said("user", newest)]
        asked = {"model": self._model, "messages": messages, "stream": self._streamed}
        return json.dumps(asked).encode()


def _said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}
