"""Are there only a few different sentences among the latest ones?

A model that is stuck says the same handful of things in changing order, which has no exact period. Sentences end
at a full stop or at the end of a line; short ones are left out, because they recur in any honest text.
"""

import re
from collections import Counter, deque
from collections.abc import Iterator

SHORTEST = 20
LONGEST = 2_000
"""What runs on for longer is taken as a sentence of its own."""

_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_NOT_WORD = re.compile(r"[\W_]+")


class Sentences:
    """Cuts a growing text into sentences, without case and punctuation; only those that are long enough."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = ""

    def grow(self, piece: str) -> Iterator[str]:
        """The sentences that this piece has ended."""
        *ended, self._rest = _END.split(self._rest + piece)
        if len(self._rest) > LONGEST:
            ended.append(self._rest)
            self._rest = ""
        for sentence in ended:
            if len(sentence.strip()) >= SHORTEST:
                yield _NOT_WORD.sub(" ", sentence).strip().casefold()


class Latest:
    """The last so many sentences, and how many different ones they are."""

    __slots__ = ("_counts", "_kept", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: deque[str] = deque()
        self._counts: Counter[str] = Counter()

    def add(self, sentence: str) -> None:
        self._kept.append(sentence)
        self._counts[sentence] += 1
        if len(self._kept) > self._size:
            oldest = self._kept.popleft()
            self._counts[oldest] -= 1
            if not self._counts[oldest]:
                del self._counts[oldest]

    @property
    def distinct(self) -> int | None:
        """How many different ones there are, once enough have come."""
        return len(self._counts) if len(self._kept) == self._size else None
