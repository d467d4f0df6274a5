"""Does a text order its reader about, rather than say how things are?

A page or the result of a tool can be written so that an agent takes it for an instruction. Such a text may be true
and still must not be kept as if somebody had said it. Known by phrases that speak to an agent, and by sentences that
begin with an order; what to do about it is left to others.
"""

import re
from functools import cache

from festinger.text.fold import fold
from festinger.text.words import LISTS, words

READ_CHARS = 8_000
_SENTENCE = re.compile(r"[.!?:;\n]+\s*")
_LEAD = re.compile(
    r"^(?:[-*•\d).]+\s+|please\s+|kindly\s+|always\s+|never\s+|do not\s+|don't\s+|now\s+|then\s+)+"
)


def orders_about(text: str) -> bool:
    """Whether it tells whoever reads it what to do."""
    read = fold(text[:READ_CHARS])
    return bool(_phrases().search(read)) or any(map(_is_order, _SENTENCE.split(read)))


def _is_order(sentence: str) -> bool:
    bare = _LEAD.sub("", sentence.strip())
    first, _, rest = bare.partition(" ")
    # One word alone is a title or a button, and what follows a verb that is a noun too says which it is.
    follows = rest.partition(" ")[0]
    return first in words("order_verbs") and bool(rest) and follows not in _AFTER_NOUN


_AFTER_NOUN = frozenset(
    [
        "is",
        "are",
        "was",
        "were",
        "has",
        "have",
        "had",
        "of",
        "for",
        "and",
        "or",
        "in",
        "on",
        "at",
        "by",
        "from",
        "with",
        "can",
        "could",
        "may",
        "might",
        "must",
        "shall",
        "should",
        "will",
        "would",
        "does",
        "did",
    ]
)


@cache
def _phrases() -> re.Pattern[str]:
    lines = (LISTS / "orders.txt").read_text(encoding="utf-8").splitlines()
    listed = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return re.compile(r"\b(?:" + "|".join(map(re.escape, listed)) + r")\b")
