"""Which words are forms of one word?

A stem is a key, not a word: `lives`, `living` and `lived` have one, and so have `study` and `studied`. Crude on
purpose: two forms of one word must meet, and words of unlike meaning must not. Meaning is left to others.
"""

from collections.abc import Mapping
from functools import cache, lru_cache

from festinger.judge.wordlists import lines

VOWELS = frozenset("aeiouy")
_SHORTEST = 3
_KEPT_DOUBLE = frozenset("lsz")


@cache
def _irregular() -> Mapping[str, str]:
    return {form: line.split()[0] for line in lines("irregular_forms") for form in line.split()}


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """The stem of a word in small letters."""
    if not word.isalpha() or len(word) <= _SHORTEST:
        return _irregular().get(word, word)
    return _worn(_irregular().get(word, word))


def _worn(word: str) -> str:
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


def stems(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(stem, words))
