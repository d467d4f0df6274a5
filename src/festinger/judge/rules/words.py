"""Loads the judge's word lists and reduces words to stems.

The lists are plain text files in `lists/`, our own writing: they hold what any grammar or picture dictionary
would, and no word because it is in a test. A stem is a key, not a word: `lives`, `living` and `lived` share
one, and so do `study` and `studied`. Crude on purpose: forms of one word must match, and words of different
meaning must not.

Tells whether two words can both hold for one thing.

`is_opposite` knows pairs such as `up` and `down` from a list and from prefixes (`happy`, `unhappy`);
`find_exclusive_kind` knows kinds of which a thing is only one at a time, such as colors; `similar_stems` knows words
that may mean the same.
"""

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path

LISTS = Path(__file__).parent.parent / "lists"


def read_lines(name: str) -> Iterator[str]:
    """Yield the lines of a list, without its comments."""
    for line in (LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line.strip()


@cache
def load_words(name: str) -> frozenset[str]:
    return frozenset(word for line in read_lines(name) for word in line.split())


@cache
def load_phrases(name: str) -> frozenset[tuple[str, ...]]:
    """Return the phrases of a list with one per line, each as its words."""
    return frozenset(tuple(line.split()) for line in read_lines(name))


@cache
def load_kinds(name: str) -> Mapping[str, frozenset[str]]:
    """Map each word to its kinds, from a list of lines `kind: word word`."""
    found: dict[str, set[str]] = {}
    for line in read_lines(name):
        kind, _, members = line.partition(": ")
        for word in members.split():
            found.setdefault(word.replace("_", " "), set()).add(kind)
    return {word: frozenset(kinds_of) for word, kinds_of in found.items()}


@cache
def load_oppositions(name: str) -> Mapping[str, frozenset[str]]:
    """Map each word or phrase to its opposites, from a list of lines `this | that | that too`."""
    found: dict[str, set[str]] = {}
    for line in read_lines(name):
        group = [word.strip() for word in line.split("|")]
        # The first is opposed to all others; the others may be close in meaning.
        for other in group[1:]:
            found.setdefault(group[0], set()).add(other)
            found.setdefault(other, set()).add(group[0])
    return {word: frozenset(against) for word, against in found.items()}


@cache
def load_words_of_kind(name: str, kind: str) -> frozenset[str]:
    """Return the words of one kind, from a list of lines `kind: word word`."""
    return frozenset(word for word, of in load_kinds(name).items() if kind in of)


VOWELS = frozenset("aeiouy")
_SHORTEST = 3
_KEPT_DOUBLE = frozenset("lsz")


@cache
def _irregular() -> Mapping[str, str]:
    return {form: line.split()[0] for line in read_lines("irregular_forms") for form in line.split()}


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    if not word.isalpha() or len(word) <= _SHORTEST:
        return _irregular().get(word, word)
    return _trim_ending(_irregular().get(word, word))


def _trim_ending(word: str) -> str:
    cut = _without_ending(word)
    if cut.endswith("e") and len(cut) > _SHORTEST:
        cut = cut[:-1]
    return f"{cut[:-1]}i" if cut.endswith("y") and len(cut) > _SHORTEST else cut


def _without_ending(word: str) -> str:
    for ending, rest in _PLURALS:
        if word.endswith(ending) and len(word) - len(ending) >= 2:
            word = word[: -len(ending)] + rest
            break
    else:
        if word.endswith("s") and not word.endswith(("ss", "us", "is")):
            word = word[:-1]
    for ending in ("ing", "ed"):
        base = word[: -len(ending)]
        if word.endswith(ending) and len(base) >= _SHORTEST and not VOWELS.isdisjoint(base):
            return _undoubled(base)
    return word


_PLURALS = (("ies", "y"), ("ied", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x"))


def _undoubled(base: str) -> str:
    twice = base[-1] == base[-2] and base[-1] not in _KEPT_DOUBLE and base[-1] not in VOWELS
    return base[:-1] if twice else base


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
def find_exclusive_kind(one: str, other: str) -> str | None:
    """Return the kind of both if a thing is only one of that kind; names of one thing exclude nothing."""
    left, right = _key(one), _key(other)
    if _spelt().get(left, left) == _spelt().get(right, right):
        return None
    shared = _kinds().get(left, _NO_KIND) & _kinds().get(right, _NO_KIND)
    return min(shared) if shared else None


_NO_KIND: frozenset[str] = frozenset()


def is_person_or_animal(word: str) -> bool:
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
