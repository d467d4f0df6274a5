"""Which neighbouring words are one name?

Two to five words that each begin with a capital are one: `Glitch University` → `glitch_university`. At the start
of a sentence a capital says little, so a first word that only opens the sentence is left alone. Whatever stands
between the words (punctuation, a line break, the end of a sentence) ends a name. Words themselves come from
`tokens`.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from festinger.text.sentences import breaks_line
from festinger.text.words import FUNCTION_WORDS, words

LONGEST = 5
"""Words of a name; more in a row are mostly a title, with capitals for show."""

KEYWORDS = frozenset({"I", "ISA", "ISPART"})
"""Capitals that name nothing."""

_OPENERS = FUNCTION_WORDS | words("openers")
_HASHES = re.compile(r"(?:^|\n) {0,3}#{1,6}[ \t]{1,4}$")
_HASHES_WINDOW = 16
_ALONE = re.compile(r"[ \t#*_]*(?:\n|$)")
_UNDERLINED = re.compile(r"[ \t]*\n {0,3}(?:===|---)")

Known = Callable[[str], bool]


class Token(NamedTuple):
    """A word in one form, or a name of several words joined by `_`.

    `start` and `end` are its place in the normalised text; `capital` tells how it begins there.
    """

    text: str
    start: int
    end: int
    capital: bool
    sentence_start: bool


def compounded(text: str, single: Sequence[Token], *, known: Known) -> list[Token]:
    """The tokens with names joined; `text` is normalised."""
    tokens: list[Token] = []
    at = 0
    for first, last in _runs(text, single):
        tokens += single[at:first]
        tokens += _joined(text, single[first : last + 1], known=known)
        at = last + 1
    tokens += single[at:]
    return tokens


def _runs(text: str, single: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """First and last of each row of two or more words that may be one name."""
    capitals = [index for index, token in enumerate(single) if token.capital]
    first = last = -1
    for index in capitals:
        if index == last + 1 and last >= 0 and _neighbours(text, single[last], single[index]):
            last = index
            continue
        if last > first:
            yield first, last
        first = last = index
    if last > first:
        yield first, last


def _neighbours(text: str, one: Token, other: Token) -> bool:
    gap = text[one.end : other.start]
    if other.sentence_start or (gap != " " and (not gap.isspace() or breaks_line(gap))):
        return False
    return text[one.start : one.end] not in KEYWORDS and text[other.start : other.end] not in KEYWORDS


def _joined(text: str, run: Sequence[Token], *, known: Known) -> Sequence[Token]:
    if _only_opens(run, known=known):
        return [run[0], *_joined_whole(text, run[1:], known=known)]
    return _joined_whole(text, run, known=known)


def _joined_whole(text: str, run: Sequence[Token], *, known: Known) -> Sequence[Token]:
    if len(run) == 1 or all(token.text in FUNCTION_WORDS for token in run):
        return run
    name = _name(run)
    if (len(run) > LONGEST or _fills_heading(text, run)) and not known(name):
        return run
    return [run[0]._replace(text=name, end=run[-1].end)]


def _only_opens(run: Sequence[Token], *, known: Known) -> bool:
    """Whether the first word belongs to the sentence and not to the name."""
    first = run[0]
    if not first.sentence_start:
        return False
    return first.text in _OPENERS or (known(_name(run[1:])) and not known(_name(run)))


def _name(run: Sequence[Token]) -> str:
    return "_".join(token.text for token in run)


def _fills_heading(text: str, run: Sequence[Token]) -> bool:
    start, end = run[0].start, run[-1].end
    if _HASHES.search(text[max(0, start - _HASHES_WINDOW) : start]):
        return _ALONE.match(text, end) is not None
    opens_line = start == 0 or text[start - 1] == "\n"
    return opens_line and _UNDERLINED.match(text, end) is not None
