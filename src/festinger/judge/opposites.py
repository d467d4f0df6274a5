"""Can two words both hold of one thing?

`opposed` knows pairs such as `up` and `down` from a list, from prefixes (`happy`, `unhappy`) and, where Debian's
WordNet is installed, from its antonyms; `exclusive` knows kinds of which a thing is only one at a time, such as
colours; `alike` knows words that may mean the same. Which words are to be compared is left to `difference`.
"""

from collections.abc import Mapping
from functools import cache, lru_cache

from festinger.judge.stems import stem
from festinger.judge.wordlists import kinds, lines, oppositions
from festinger.judge.wordnet import antonyms

_PREFIXES = {"un": 4, "dis": 4, "non": 4, "non-": 4, "in": 5, "im": 5, "ir": 5, "il": 5}
"""Prefixes that deny, and how many letters must stand behind: `vent` and `invent` have nothing to do with each other."""


@cache
def _listed() -> Mapping[str, frozenset[str]]:
    plain = oppositions("opposites")
    by_stem: dict[str, set[str]] = {}
    for word, against in plain.items():
        key = _key(word)
        by_stem.setdefault(key, set()).update(map(_key, against))
    return {word: frozenset(against) for word, against in by_stem.items()}


def _key(phrase: str) -> str:
    return " ".join(stem(word) for word in phrase.split())


@lru_cache(maxsize=8192)
def opposed(one: str, other: str) -> bool:
    """Whether two words or short phrases in small letters are opposites."""
    if one == other:
        return False
    left, right = _key(one), _key(other)
    if left == right:
        return False
    return right in _listed().get(left, ()) or _by_prefix(one, other) or right in antonyms(left)


def _by_prefix(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return any(long == prefix + short and len(short) >= least for prefix, least in _PREFIXES.items())


@lru_cache(maxsize=8192)
def exclusive(one: str, other: str) -> str | None:
    """The kind that both are of, if a thing is only one of that kind; forms of one word exclude nothing."""
    listed = _kinds()
    if stem(one) == stem(other) or _SPELLINGS.get(one, one) == _SPELLINGS.get(other, other):
        return None
    shared = listed.get(_key(one), _NO_KIND) & listed.get(_key(other), _NO_KIND)
    return min(shared) if shared else None


_NO_KIND: frozenset[str] = frozenset()


@cache
def _kinds() -> Mapping[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for word, of in kinds("exclusive").items():
        found[_key(word)] = found.get(_key(word), _NO_KIND) | of
    return found


@cache
def _groups() -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in lines("alike"):
        group = {stem(word) for word in line.split()}
        for word in group:
            found.setdefault(word, set()).update(group)
    return {word: frozenset(group) for word, group in found.items()}


def alike(word: str) -> frozenset[str]:
    """The stems that may stand for the same as this stem; whether they do here is not said."""
    return _groups().get(word, _NO_KIND)


_SPELLINGS = {
    "grey": "gray",
    "aluminium": "aluminum",
    "whisky": "whiskey",
    "fall": "autumn",
    "soccer": "football",
    "postgres": "postgresql",
    "wooden": "wood",
    "metallic": "metal",
    "woolen": "wool",
    "bike": "bicycle",
    "bikes": "bicycles",
    "airplane": "plane",
    "fiddle": "violin",
    "drums": "drum",
    "violet": "purple",
    "argentinian": "argentine",
    "nepali": "nepalese",
}
