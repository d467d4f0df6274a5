"""By which marks is a statement known again?

Two hashes of sixteen bytes. `fold_mark` is of the words as they stand, made equal in case, quotes and spacing: two
equal ones are one statement. `gist_mark` leaves out the words that only hold a sentence together, and keeps the
others in their order, because who manages whom is said by nothing else. What two statements mean beyond their words
is left to the judges.
"""

import re
from functools import lru_cache
from hashlib import sha256

from festinger.text.hygiene import without_lead_in
from festinger.text.normalize import fold
from festinger.text.words import FUNCTION_WORDS, words

MARK_BYTES = 16

KEPT = words("telling_words")
"""Function words that turn what is said: negations, quantifiers and modal verbs."""

DROPPED = FUNCTION_WORDS - KEPT

_WORD = re.compile(r"[^\W_]+(?:[.,:'_/@-][^\W_]+)*%?|[%€$£¥°]|[<>=+]+")
_POSSESSIVE = re.compile(r"'s$")
_NOT = re.compile(r"\b(\w+)n't\b")
_PREFIXES = {"ca": "can", "wo": "will", "sha": "shall"}


def fold_mark(text: str) -> bytes:
    return _mark(fold(text))


def gist_mark(text: str) -> bytes:
    return _mark(" ".join(gist(text)))


def gist(text: str) -> list[str]:
    """The words of a statement that carry its meaning, in their order; all of them if none does."""
    spelt = _NOT.sub(_spelt_out, fold(without_lead_in(text)).replace("cannot", "can not"))
    found = [_POSSESSIVE.sub("", word) for word in _WORD.findall(spelt)]
    return [word for word in found if word not in DROPPED] or found or [spelt]


@lru_cache(maxsize=4096)
def content_words(text: str) -> frozenset[str]:
    """What two texts must share to be about the same thing."""
    return frozenset(gist(text)) - KEPT


def overlap(text: str, other: str) -> float:
    """The share of the content words of the shorter text that stand in the other one too."""
    ours, theirs = content_words(text), content_words(other)
    if not ours or not theirs:
        return 0.0
    return len(ours & theirs) / min(len(ours), len(theirs))


def _spelt_out(match: re.Match[str]) -> str:
    return f"{_PREFIXES.get(match[1], match[1])} not"


def _mark(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:MARK_BYTES]
