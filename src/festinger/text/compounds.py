"""Which neighbouring words are one name?

Two to five words that each begin with a capital are one: `Glitch University` → `glitch_university`. At the start
of a sentence a capital says little, so a first word that only opens the sentence is left alone. Whatever stands
between the words (punctuation, a line break, the end of a sentence) ends a name. Words themselves come from
`tokens`.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import compress, count
from typing import NamedTuple

from festinger.text.sentences import breaks_line, ends_sentence
from festinger.text.words import FUNCTION_WORDS, words

LONGEST = 5
"""Words of a name; more in a row are mostly a title, with capitals for show."""

KEYWORDS = frozenset({"I", "ISA", "ISPART"})
"""Capitals that name nothing."""

_OPENERS = FUNCTION_WORDS | words("openers")
_HASHES = re.compile(r"(^|\n) {0,3}#{1,6}[ \t]{1,4}\Z")
_ALONE = re.compile(r"[ \t#*_]*(\n|\Z)")
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


class Cut(NamedTuple):
    """A text in pieces: gap, word, gap, word, …, gap; each word in its one form, and whether it has a capital."""

    parts: Sequence[str]
    folded: Sequence[str]
    capital: Sequence[bool]

    def written(self, index: int) -> str:
        return self.parts[2 * index + 1]

    def before(self, index: int) -> str:
        """The gap before a word; the one before the word after the last is the end of the text."""
        return self.parts[2 * index]

    def starts_sentence(self, index: int) -> bool:
        gap = self.before(index)
        if index == 0 or gap == " ":
            return index == 0
        return ends_sentence(gap, self.written(index - 1), self.written(index))


class Name(NamedTuple):
    """First and last word of a name, and how it is written as one."""

    first: int
    last: int
    text: str


def names(cut: Cut, *, known: Known) -> Iterator[Name]:
    """The names of several words, in their order."""
    for first, last in _runs(cut):
        opens = _only_opens(cut, first, last, known=known)
        if (name := _name(cut, first + opens, last, known=known)) is not None:
            yield name


def _runs(cut: Cut) -> Iterator[tuple[int, int]]:
    """First and last of each row of two or more words that may be one name."""
    first = last = -1
    for index in compress(count(), cut.capital):
        if index == last + 1 and last >= 0 and _are_one(cut, last, index):
            last = index
            continue
        if last > first:
            yield first, last
        first = last = index
    if last > first:
        yield first, last


def _are_one(cut: Cut, one: int, other: int) -> bool:
    """Whether a word and the next one may be of one name."""
    gap = cut.before(other)
    if gap != " " and (not gap.isspace() or breaks_line(gap)):
        return False
    return KEYWORDS.isdisjoint((cut.written(one), cut.written(other)))


def _only_opens(cut: Cut, first: int, last: int, *, known: Known) -> bool:
    """Whether the first word belongs to the sentence and not to the name."""
    if not cut.starts_sentence(first):
        return False
    if cut.folded[first] in _OPENERS:
        return True
    return known(_joined(cut, first + 1, last)) and not known(_joined(cut, first, last))


def _name(cut: Cut, first: int, last: int, *, known: Known) -> Name | None:
    if first == last or FUNCTION_WORDS.issuperset(cut.folded[first : last + 1]):
        return None
    text = _joined(cut, first, last)
    for_show = last - first >= LONGEST or _fills_heading(cut, first, last)
    return None if for_show and not known(text) else Name(first, last, text)


def _joined(cut: Cut, first: int, last: int) -> str:
    return "_".join(cut.folded[first : last + 1])


def _fills_heading(cut: Cut, first: int, last: int) -> bool:
    before, after = cut.before(first), cut.before(last + 1)
    if before == " ":
        return False
    if (hashes := _HASHES.search(before)) and (hashes[1] or first == 0):
        alone = _ALONE.match(after)
        return alone is not None and bool(alone[1] or last + 1 == len(cut.folded))
    opens_line = before.endswith("\n") or (first == 0 and not before)
    return opens_line and _UNDERLINED.match(after) is not None
