"""Tells whether two words can both hold for one thing.

`is_opposite` knows pairs such as `up` and `down` from a list and from prefixes (`happy`, `unhappy`);
`exclusive_kind` knows kinds of which a thing is only one at a time, such as colors; `similar_stems` knows words
that may mean the same.
"""

from collections.abc import Mapping
from functools import cache, lru_cache

from festinger.judge.rules.words import load_kinds, load_oppositions, load_words, read_lines, stem

_PREFIXES = {"un": 4, "dis": 4, "non": 4, "non-": 4, "in": 5, "im": 5, "ir": 5, "il": 5}
"""Negating prefixes and how many letters must follow: `vent` and `invent` are unrelated."""


@cache
def _listed() -> Mapping[str, frozenset[str]]:
    plain = load_oppositions("opposites")
    by_stem: dict[str, set[str]] = {}
    for word, against in plain.items():
        key = _key(word)
        by_stem.setdefault(key, set()).update(map(_key, against))
    return {word: frozenset(against) for word, against in by_stem.items()}


def _key(phrase: str) -> str:
    return " ".join(stem(word) for word in phrase.split())


@lru_cache(maxsize=8192)
def is_opposite(one: str, other: str) -> bool:
    """Whether two lowercase words or short phrases are opposites."""
    if one == other:
        return False
    left, right = _key(one), _key(other)
    if left == right:
        return False
    return right in _listed().get(left, ()) or _by_prefix(one, other)


def _by_prefix(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return any(long == prefix + short and len(short) >= least for prefix, least in _PREFIXES.items())


@lru_cache(maxsize=8192)
def exclusive_kind(one: str, other: str) -> str | None:
    """Return the kind of both if a thing is only one of that kind; names of one thing exclude nothing."""
    left, right = _key(one), _key(other)
    if _spelt().get(left, left) == _spelt().get(right, right):
        return None
    shared = _kinds().get(left, _NO_KIND) & _kinds().get(right, _NO_KIND)
    return min(shared) if shared else None


_NO_KIND: frozenset[str] = frozenset()


def is_being(word: str) -> bool:
    """Whether a lowercase word names a kind of person or an animal."""
    return word in load_words("people") or "animal" in _kinds().get(_key(word), _NO_KIND)


@cache
def _spelt() -> Mapping[str, str]:
    """Map the key of each other name of a thing to the key of its common name."""
    return {_key(name): _key(common) for name, common in _SPELLINGS.items()}


@cache
def _kinds() -> Mapping[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for word, of in load_kinds("exclusive").items():
        found[_key(word)] = found.get(_key(word), _NO_KIND) | of
    return found


@cache
def _groups() -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in read_lines("alike"):
        group = {stem(word) for word in line.split()}
        for word in group:
            found.setdefault(word, set()).update(group)
    return {word: frozenset(group) for word, group in found.items()}


def similar_stems(word: str) -> frozenset[str]:
    """Return the stems that may mean the same as this stem; context decides whether they do."""
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
    "ship": "boat",
    "keyboard": "piano",
    "airplane": "plane",
    "fiddle": "violin",
    "violet": "purple",
    "argentinian": "argentine",
    "nepali": "nepalese",
}
