"""Which known words stand in a script that puts no spaces between them?

A run of Han, Kana, Hangul, Thai, Khmer or Lao is searched from left to right for the longest piece that is known.
What is left between such pieces is no word: to cut it, one would have to know the language. All other scripts
are left to `tokens`.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from festinger.text.normal import marks

WINDOW = 16
"""The longest piece that is looked up, in characters."""

_SPACELESS = (
    "\u0e00-\u0e7f"  # Thai
    "\u0e80-\u0eff"  # Lao
    "\u1780-\u17ff\u19e0-\u19ff"  # Khmer
    "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"  # Hangul
    "\u3041-\u30ff\u31f0-\u31ff\U0001b000-\U0001b16f"  # Kana
    "\u3005\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
)

_JOINERS = "._-@"
_RUN = re.compile(f"([{_SPACELESS}]+)")

Known = Callable[[str], bool]


def has_spaceless(characters: Iterable[str]) -> bool:
    """Whether one of the characters of a text is of such a script."""
    return _RUN.search("".join(characters)) is not None


def cut(word: str, known: Known) -> Iterator[tuple[int, int]]:
    """Where in the word other words stand: known pieces of its spaceless runs, and whatever is between the runs."""
    if word.isascii():
        yield 0, len(word)
        return
    start = 0
    for index, piece in enumerate(_RUN.split(word)):
        end = start + len(piece)
        if index % 2:
            yield from _known_pieces(word, start, end, known=known)
        elif trimmed := piece.rstrip(_JOINERS).lstrip(_JOINERS + marks()):
            first = start + piece.index(trimmed)
            yield first, first + len(trimmed)
        start = end


def _known_pieces(word: str, start: int, end: int, *, known: Known) -> Iterator[tuple[int, int]]:
    while start < end:
        # A mark belongs to the letter before it, so no word begins with one.
        longest = min(end, start + WINDOW) if word[start].isalnum() else start
        for stop in range(longest, start, -1):
            if known(word[start:stop]):
                yield start, stop
                start = stop
                break
        else:
            start += 1
