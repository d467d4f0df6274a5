"""Which words of a note could only have come from the note?

Content words, names and numbers that stand nowhere in the request outside our blocks: if one of them comes up in a
reply, the note was read. Names and numbers must come up exactly, other words in any form; how rare a word is says
how much it tells. Pure; what follows is decided in `inference`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from festinger.judge.rules.words import stem
from festinger.text.vocabulary import is_common
from festinger.text.words import FUNCTION_WORDS, ends_sentence

_WORD = re.compile(r"[^\W_]+(?:[.,:'’@/_-][^\W_]+)*")
_PARTS = re.compile(r"[.,:'’@/_-]")
_POSSESSIVE = re.compile(r"['’]s$")

FREQUENT = ((5.0, 0.25), (4.0, 0.5), (3.0, 0.75))
"""What a word tells that is at least so common on the Zipf scale; rarer ones tell all."""

COMMON = 4.0
"""From here on a word comes up by chance: it tells something only beside one that stands out."""

_EMPTY = frozenset(FUNCTION_WORDS)
_SHORTEST = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word of a note: how it is known again, and how much it tells."""

    key: str
    is_exact: bool
    is_common: bool
    worth: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What a text holds, as words are looked up in it."""

    exact: frozenset[str]
    stems: frozenset[str]

    def __contains__(self, word: object) -> bool:
        if not isinstance(word, Word):
            return False
        return word.key in (self.exact if word.is_exact else self.stems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Words of a note, ready to be looked up in many sentences."""

    words: tuple[Word, ...]
    exact: frozenset[str]
    stems: frozenset[str]

    def within(self, text: Spoken) -> tuple[Word, ...]:
        """Those that a text holds. Most texts hold none, which two sets tell at once."""
        if self.exact.isdisjoint(text.exact) and self.stems.isdisjoint(text.stems):
            return ()
        return tuple(word for word in self.words if word in text)


def listed(words: Iterable[Word]) -> Listed:
    every = tuple(words)
    return Listed(
        words=every,
        exact=frozenset(word.key for word in every if word.is_exact),
        stems=frozenset(word.key for word in every if not word.is_exact),
    )


def spoken(text: str) -> Spoken:
    found = {part for word in _WORD.findall(text) for part in _forms(word)}
    return Spoken(exact=frozenset(found), stems=frozenset(map(stem, found)))


def _forms(word: str) -> Iterable[str]:
    """A word as it stands, without a possessive, and its parts."""
    plain = _POSSESSIVE.sub("", word).casefold()
    yield plain
    if _PARTS.search(plain):
        yield from (part for part in _PARTS.split(plain) if part)


@lru_cache(maxsize=4096)
def words_of(text: str) -> tuple[Word, ...]:
    """The words of a note that carry its meaning, each once."""
    found: dict[str, Word] = {}
    before = end = 0
    last = ""
    for match in _WORD.finditer(text):
        starts = before == 0 or ends_sentence(text[end : match.start()], last, match[0])
        before, end, last = 1, match.end(), match[0]
        for word in _read(match[0], starts=starts):
            found.setdefault(word.key, word)
    return tuple(found.values())


def _read(written: str, *, starts: bool) -> Iterable[Word]:
    plain = _POSSESSIVE.sub("", written)
    small = plain.casefold()
    if any(char.isdigit() for char in small):
        yield Word(key=small, is_exact=True, is_common=False, worth=1.0)
        return
    if small in _EMPTY or len(small) < _SHORTEST:
        return
    # At the start of a sentence any word has a capital; one that owns something is a name all the same.
    is_name = plain[0].isupper() and (plain != written or not (starts and is_common(small, COMMON)))
    if is_name:
        yield Word(key=small, is_exact=True, is_common=False, worth=1.0)
        return
    yield Word(key=stem(small), is_exact=False, is_common=is_common(small, COMMON), worth=worth_of(small))


def worth_of(word: str) -> float:
    return next((worth for zipf, worth in FREQUENT if is_common(word, zipf)), 1.0)


def own_words(note: str, request: Spoken) -> tuple[Word, ...]:
    """The words of a note that the request does not hold."""
    return tuple(word for word in words_of(note) if word not in request)


def coverage(own: Iterable[Word], said: Mapping[str, Word]) -> float:
    """How much of what the own words tell was said."""
    every = list(own)
    whole = sum(word.worth for word in every)
    return sum(word.worth for word in every if word.key in said) / whole if whole else 0.0
