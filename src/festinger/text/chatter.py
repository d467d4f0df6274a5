"""Is a text only talk: a greeting, a sign of life, a question, or true for this moment alone?

Known by short lists of phrases and the marks of a question. Pure; whether such a text is kept is left to others.
"""

import re
from functools import cache

from festinger.text.fold import fold
from festinger.text.words import LISTS

_SEPARATOR = re.compile(r"[,.;:!?…\-\n]+|\band\b")
_TIME = re.compile(
    r"(?:it is |it's |the time is )?(?:\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?: ?[ap]\.?m\.?)?(?: utc| gmt| z)?"
    r"|\d{4}-\d{2}-\d{2}(?:[t ]\d{2}:\d{2}(?::\d{2})?z?)?)"
)
_PROGRESS = re.compile(r"(?:\w+ )?(?:\d{1,3} ?%|\d+ ?/ ?\d+|\d+ of \d+)(?: \w+)?")
_ASKS = re.compile(
    r"(?:(?:so|and|but|ok|okay|well|please|hey|hi|hello)[, ]+)*"
    r"(?:who|whom|whose|what|when|where|why|how|which|is|are|am|was|were|do|does|did|can|could|will|would|shall|should"
    r"|may|might|have|has|had)\b(?!\s+(?:is|are|was|were)\b.*\b(?:because|that)\b)"
)
_TELLS = re.compile(r"\b(?:remember|note) that\b")


def is_heartbeat(text: str) -> bool:
    """Whether it says no more than that somebody is there, agrees, or goes on."""
    plain = fold(text)
    if _TIME.fullmatch(plain) or _PROGRESS.fullmatch(plain):
        return True
    parts = [part.strip(" '\"()[]*_") for part in _SEPARATOR.split(plain)]
    said = [part for part in parts if part]
    return all(part in _phrases("heartbeats") or _TIME.fullmatch(part) for part in said)


def is_transient(text: str) -> bool:
    """Whether it holds only while it is said."""
    return _any_of("transients").search(fold(text)) is not None


def is_question(text: str) -> bool:
    """Whether it asks rather than says: it ends in a question mark, or begins as only a question does."""
    stripped = text.rstrip(" \t\n\"'”’»)*_")
    if stripped.endswith(("?", "？", "؟")):
        return True
    plain = fold(text)
    if stripped.endswith((".", "!")) or _TELLS.search(plain):
        return False
    return _ASKS.match(plain) is not None and len(plain.split()) > 1


@cache
def _phrases(name: str) -> frozenset[str]:
    lines = (LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(fold(line) for line in lines if line.strip() and not line.startswith("#"))


@cache
def _any_of(name: str) -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(map(re.escape, sorted(_phrases(name)))) + r")\b")
