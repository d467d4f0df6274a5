"""By which keys are the parts of a slot known?

Subject, attribute and value are kept as keys: small letters, no articles, stems where forms must meet. What the
parts are is told by `slots`.
"""

import re

from festinger.judge.stems import stem
from festinger.judge.wordlists import members, words
from festinger.text.words import FUNCTION_WORDS

LONGEST_VALUE = 60
"""Words; what is filled with more was no slot."""

ARTICLES = members("grammar", "article")
WORD = re.compile(r"[^\W_]++(?:['.@/_+#&:-]++[^\W_]++)*+(?:\+\+|#(?!\w))?")


def attribute_key(written: tuple[str, ...], *, without: str = "") -> str:
    left_out = set(without.split())
    kept = [bare(word.casefold()) for word in written]
    named = [word for word in kept if word not in FUNCTION_WORDS and word not in left_out]
    tastes = words("taste_nouns")
    while len(named) > 1 and named[-1] in tastes:
        named.pop()
    return " ".join(map(stem, named))


def value_key(written: tuple[str, ...]) -> str:
    return key(written) if len(written) <= LONGEST_VALUE else ""


def key(written: tuple[str, ...]) -> str:
    return " ".join(bare(word.casefold()) for word in written if word.casefold() not in ARTICLES)


def bare(word: str) -> str:
    return word.removesuffix("'s").rstrip("'")
