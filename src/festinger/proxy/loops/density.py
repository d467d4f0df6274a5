"""How little does a text say for its length?

Text that repeats compresses well, whatever form the repetition has. Three things that compress as well and are no
loop are taken out first: rows of tables, indentation, and the cost of saying anything for the first time, which
would hide a loop in a short text. And because a passage may honestly be said twice, the very end must also
add little to what stands before it.
"""

import re
import zlib
from collections import Counter

WEIGHED = 2_000
LEAST = 256
FIRST_TIME = 80
"""Bytes that a text may cost before its length counts."""
END = 300
LITTLE = 0.22
"""An end that costs more than this, given what stands before it, says something new."""

WORDS = 300
SEQUENCE = 8
OFTEN = 3

_WORD = re.compile(r"\w+")

# A raw stream with a small window and small tables: a fifth of the time that the usual settings take.
_LEVEL, _WINDOW_BITS, _MEMORY = 1, -12, 5


class Scales:
    """The end of a growing text as it is weighed: without indentation and without rows of tables."""

    __slots__ = ("_at_start", "_in_row", "_text")

    def __init__(self) -> None:
        self._text = ""
        self._at_start = True
        self._in_row = False

    def grow(self, piece: str) -> None:
        first, *others = piece.split("\n")
        text = self._text + self._kept(first)
        for part in others:
            text += "" if self._in_row else "\n"
            self._at_start, self._in_row = True, False
            text += self._kept(part)
        self._text = text[-WEIGHED:]

    def _kept(self, part: str) -> str:
        if self._at_start:
            part = part.lstrip(" \t")
            self._at_start = not part
            self._in_row = part.startswith("|")
        return "" if self._in_row else part

    @property
    def data(self) -> bytes:
        return self._text.encode("utf-8", "replace")


def ratio(data: bytes) -> float:
    """The compressed share of a text; 1 where there is too little to weigh."""
    if len(data) < LEAST:
        return 1.0
    squeeze = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW_BITS, _MEMORY)
    return (len(squeeze.compress(data)) + len(squeeze.flush()) - FIRST_TIME) / len(data)


def adds_little(data: bytes) -> bool:
    """Whether the end of a text costs little more than what stands before it."""
    size = min(END, len(data) // 2)
    before, end = data[:-size], data[-size:]
    squeeze = zlib.compressobj(
        _LEVEL, zlib.DEFLATED, _WINDOW_BITS, _MEMORY, zlib.Z_DEFAULT_STRATEGY, zdict=before
    )
    return len(squeeze.compress(end)) + len(squeeze.flush()) < LITTLE * size


def often_said(text: str) -> float:
    """The share of the latest word sequences that stand there three times or more."""
    words = _WORD.findall(text)[-WORDS:]
    if len(words) < WORDS // 2:
        return 0.0
    sequences = Counter(zip(*(words[start:] for start in range(SEQUENCE)), strict=False))
    total = sum(sequences.values())
    return sum(count for count in sequences.values() if count >= OFTEN) / total
