"""Was this message read before?

A conversation comes again with every turn, longer by a few messages. What was read of a message is kept by the
message itself, so that only new ones are read. Bounded by the characters that it holds; what was not used for the
longest time goes first. A message that may carry a block of ours is read anew each time: whose block it is depends
on more than its text.
"""

from collections import OrderedDict
from typing import Any

import orjson

from festinger.proxy.requests.turn import Turn
from festinger.text.blocks import OPEN

MOST_CHARS = 32 * 2**20
COST = 512
"""What an entry takes beside its text, about."""
COPIES = 3
"""The text stands in the key, in the turn, and there once more where it was cut into sayings."""
PLAIN_KEYS = 2
"""The members of a message that is nothing but a role and a text."""

_OPEN = OPEN.encode()

Key = tuple[str, int, str, str | bytes]


class Memo:
    def __init__(self, *, most_chars: int = MOST_CHARS) -> None:
        self._most = most_chars
        self._kept: OrderedDict[Key, tuple[Turn, int]] = OrderedDict()
        self._chars = 0

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, key: Key) -> Turn | None:
        """The turn that was read from this message."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    def keep(self, key: Key, turn: Turn) -> None:
        said = key[-1]
        size = COPIES * len(said) + COST
        if size > self._most or (_OPEN in said if isinstance(said, bytes) else OPEN in said):
            return
        self._kept[key] = (turn, size)
        self._chars += size
        while self._chars > self._most:
            _, (_, gone) = self._kept.popitem(last=False)
            self._chars -= gone


def key_of(message: dict[str, Any], listed: str, index: int) -> Key:
    """By which a message is known at its place of a list."""
    content = message.get("content")
    if len(message) == PLAIN_KEYS and type(content) is str and type(role := message.get("role")) is str:
        return listed, index, role, content
    return listed, index, "", orjson.dumps(message)
