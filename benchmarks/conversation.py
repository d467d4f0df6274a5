"""Generates the requests of a client in the middle of a conversation.

Each has the whole history and ends with a new turn: a system message, turns of a person and a model about
things of the large world, the stub's last answer, and the person's newest words. A system that remembers has
seen all but the last two in the previous request.
"""

import json
from collections.abc import Iterator
from itertools import count, islice
from typing import Any

from benchmarks.large_world import LargeWorldSize, Prose
from benchmarks.passing import Requests
from benchmarks.stub import WORDS

TURN_CHARS = 2_000
NEWEST_CHARS = 300
"""A few sentences."""
NEXT_TURNS = 5
"""How many turns each conversation continues."""
MODEL = "stub"
ANSWER = "".join(WORDS)


class ConversationGenerator:
    """Any number of conversations of a given size in KiB. Each names itself in every turn, to be unique."""

    def __init__(
        self, size: LargeWorldSize, *, kib: int, seed: str, streamed: bool = False, model: str = MODEL
    ) -> None:
        self._prose = Prose(size, seed=seed)
        self._model, self._streamed, self._seed = model, streamed, seed
        self._numbers = count()
        self._shared: list[dict[str, Any]] = []
        while (left := kib * 1024 - self._length()) > 0:
            role = "user" if len(self._shared) % 2 == 0 else "assistant"
            self._shared.append(_said(role, self._prose.text(min(left, TURN_CHARS))))
        if len(self._shared) % 2:
            self._shared.append(_said("assistant", "Go on."))

    def going_on(self, count: int) -> Requests:
        """Requests for the next turns of conversations that have begun."""
        told = [[*self._talk()] for _ in range(-(-count // NEXT_TURNS))]
        turns = [body for talk in told for body in talk[1:]]
        return Requests(before=[talk[0] for talk in told], timed=turns[:count])

    def beginning(self, count: int) -> Requests:
        """Requests for conversations that nobody has seen, with a long history all the same."""
        return Requests(
            timed=[
                self._body([*self._begun(), _said("assistant", f"{ANSWER} {number}"), self._newest()])
                for number in range(count)
            ]
        )

    def from_the_start(self, count: int) -> Requests:
        """Requests for conversations, each from its first turn on."""
        return Requests(timed=[*islice((body for _ in range(count) for body in self._talk()), count)])

    def _talk(self) -> Iterator[bytes]:
        """A conversation, turn by turn."""
        messages = self._begun()
        yield self._body(messages)
        for _ in range(NEXT_TURNS):
            messages = [*messages, _said("assistant", ANSWER), self._newest()]
            yield self._body(messages)

    def _length(self) -> int:
        """The length of a conversation's last request with the history so far."""
        newest = _said("user", "x" * NEWEST_CHARS)
        turns = [_said("assistant", ANSWER), newest] * NEXT_TURNS
        return len(self._body([*self._told(0), newest, *turns]))

    def _begun(self) -> list[dict[str, Any]]:
        return [*self._told(next(self._numbers)), self._newest()]

    def _told(self, number: int) -> list[dict[str, Any]]:
        name = f"{self._seed}.{number}"
        shared = [_said(said["role"], f"{said['content']} {name}") for said in self._shared]
        return [_said("system", f"Answer briefly. This is conversation {name}."), *shared]

    def _newest(self) -> dict[str, Any]:
        return _said("user", self._prose.text(NEWEST_CHARS))

    def _body(self, messages: list[dict[str, Any]]) -> bytes:
        return json.dumps({"model": self._model, "messages": messages, "stream": self._streamed}).encode()


def _said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}
