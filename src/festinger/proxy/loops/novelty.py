"""Follows how long a growing text has said nothing new.

A text goes on as long as it brings words that did not yet follow each other in it: the next number, name or row is
enough. A text that only says again what it has said stands still, in whatever order. Numbers, signs and single letters
never stand still, since matrices, drawings and progress dots repeat by nature.
"""

import re

SEQUENCE = 12
"""Words that follow each other: so many that rows of yes and no are hardly ever the same."""
KEPT = 8_192
"""Sequences after which the older half is forgotten."""
LEAST_STALE = 100
"""Characters of words at the end of a cut text that are worth leaving out."""
LONGEST_WORD = 64
"""Longer runs of letters are encoded bytes."""

_WORD = re.compile(r"\w+")
_LETTER = re.compile(r"[^\W\d_]")


class Novelty:
    """One text."""

    def __init__(self) -> None:
        self._rest = ""
        self._latest: tuple[str, ...] = ()
        self._seen: set[int] = set()
        self._older: set[int] = set()
        self._read = 0
        self.stale = 0
        """Characters of words since something new was said."""
        self.new_until = 0
        """Where the latest news ends in the text."""

    def grow(self, piece: str) -> None:
        """Read on. The last word waits until it has ended."""
        text = self._rest + piece
        end = len(text)
        for found in _WORD.finditer(text):
            if found.end() == len(text) and len(found.group()) <= LONGEST_WORD:
                end = found.start()
                break
            self._add(found.group().casefold(), self._read + found.end())
        self._rest = text[end:]
        self._read += end

    def _add(self, word: str, end: int) -> None:
        self._latest = (*self._latest, word)[-SEQUENCE:]
        sequence = hash(self._latest)
        if sequence not in self._seen:
            self._seen.add(sequence)
            if sequence not in self._older:
                self.stale, self.new_until = 0, end
                self._forget()
                return
            self._forget()
        if 1 < len(word) <= LONGEST_WORD and _LETTER.search(word):
            self.stale += len(word) + 1

    def _forget(self) -> None:
        if len(self._seen) > KEPT:
            self._older, self._seen = self._seen, set()


def collapsed(text: str) -> str:
    """A text that was cut, without what says nothing new at its end. The same text is always shortened alike."""
    novelty = Novelty()
    # The last word may have been cut, too, and then looks like a new one.
    novelty.grow(text)
    if novelty.stale >= LEAST_STALE:
        return text[: novelty.new_until]
    bare = text.rstrip()
    return bare.rstrip(bare[-1]) + bare[-1] if bare else bare
