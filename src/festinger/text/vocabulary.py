"""Selects the words of a text that belong in the vocabulary, and scores how rare a word is.

Common English words, numbers, dates, ids and addresses are tokens of a text but never vocabulary. Secrets are
removed before tokenizing. Frequencies come from the `wordfreq` package.
"""

import re
from collections.abc import Callable
from functools import cache

import wordfreq

from festinger.text.secrets import MARK, remove_secrets
from festinger.text.tokens import Known, Token, content_tokens, tokenize
from festinger.text.words import load_words

COMMON_ZIPF = 3.0
"""Once per million words of English."""
LONGEST = 64
"""Maximum characters of a vocabulary token."""

_NUMBER = re.compile(r"[\d._-]+")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}t\d{1,2}|\d{1,2}z|(?:19|20)\d{6}t\d{4,6}z?")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HEX = re.compile(r"(?<![a-z0-9])(?:0x)?(?=[a-f]*+\d)[0-9a-f]{8,}+")
_BASE64 = re.compile(r"(?<![a-z0-9])(?=[a-z]*+\d)[a-z0-9]{24,}+")
_URL_SAFE = re.compile(r"[a-z0-9_-]{24,}")
_MIXED = re.compile(r"[a-z]\d|\d[a-z]")
_REDACTED = re.compile(re.escape(MARK.decode()) + r"[^\[\]]*\]")

_MIXED_AT_LEAST = 4
"""Transitions between letters and digits; names of things have fewer."""


@cache
def common_words(zipf: float = COMMON_ZIPF) -> frozenset[str]:
    """Return the words of the packaged English list that are at least this frequent."""
    return frozenset(word_shares(zipf))


def word_shares(zipf: float) -> dict[str, float]:
    """Return the words that are at least this frequent, with the share of English text that each makes up."""
    ranked = wordfreq.get_frequency_list("en", wordlist="best")
    # The list is ordered by frequency in steps of a hundredth of the Zipf scale, which begins at 9.
    steps = enumerate(ranked[: round((9 - zipf) * _STEPS) + 1])
    return {word: 10 ** (-place / _STEPS) for place, words_of_step in steps for word in words_of_step}


def is_common(token: str, zipf: float = COMMON_ZIPF) -> bool:
    """Return whether it is a single common English word; a multi-word name never is."""
    return token in common_words(zipf)


def may_be_vocabulary(token: str) -> bool:
    """Return whether a token can name a thing."""
    return not (len(token) > LONGEST or "@" in token or token in _SCHEMES or _is_id(token))


_SCHEMES = load_words("url_schemes")


def vocabulary_tokens(
    text: str, known: Known, *, common: Callable[[str], bool] = is_common, min_chars: int = 1
) -> list[Token]:
    """Return the content tokens of a text without secrets, ids and common words."""
    found = content_tokens(tokenize(_REDACTED.sub(" ", remove_secrets(text)), known), min_chars=min_chars)
    return [token for token in found if not common(token.text) and may_be_vocabulary(token.text)]


def _is_id(token: str) -> bool:
    if any(shape.fullmatch(token) for shape in (_NUMBER, _DATE, _UUID, _HEX, _BASE64)):
        return True
    return _URL_SAFE.fullmatch(token) is not None and len(_MIXED.findall(token)) >= _MIXED_AT_LEAST


MOST_FREQUENT = 8.0
"""Zipf frequency of the most common words."""
_STEPS = 100
"""Steps of the packaged list per unit of the Zipf scale."""


@cache
def _frequencies() -> dict[str, float]:
    ranked = wordfreq.get_frequency_list("en", wordlist="small")
    # The list begins at 9 on the Zipf scale and goes down by hundredths.
    return {word: 9 - place / _STEPS for place, words in enumerate(ranked) for word in words}


def word_rarity(word: str) -> float:
    """Return from 0 for the most common words to 8 for words unknown in English."""
    return max(0.0, MOST_FREQUENT - _frequencies().get(word.casefold(), 0.0))
