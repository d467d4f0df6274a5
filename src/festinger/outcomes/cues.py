"""Which turns of phrase say that something is wrong, or is set aside?

Two lists of our own writing, in `lists/`; they hold what any English speaker would name, and no phrase because it
stands in a test. What a cue means for a note is decided in `inference`.
"""

import re
from functools import cache
from pathlib import Path

from festinger.text.normalize import fold

LISTS = Path(__file__).parent / "lists"

_NOT = re.compile(r"\b(\w+)n't\b")
_PREFIXES = {"ca": "can", "wo": "will", "sha": "shall"}
_BETWEEN = re.compile(r"[^\w']+")


@cache
def _pattern(name: str) -> re.Pattern[str]:
    lines = (LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    phrases = sorted(
        (line.strip() for line in lines if line.strip() and line[0] != "#"), key=len, reverse=True
    )
    return re.compile(r"(?<![\w'])(?:" + "|".join(map(re.escape, phrases)) + r")(?![\w'])")


def spelt_out(text: str) -> str:
    """A text in small letters, its words one blank apart, with `not` written out."""
    plain = _NOT.sub(lambda found: f"{_PREFIXES.get(found[1], found[1])} not", fold(text))
    return _BETWEEN.sub(" ", plain.replace("cannot", "can not")).strip()


def corrects(text: str) -> bool:
    """Whether somebody says here that something is wrong."""
    return _pattern("correction_cues").search(spelt_out(text)) is not None


def begins_correcting(text: str) -> str | None:
    """What follows a correction with which a text begins; none if it begins otherwise."""
    plain = spelt_out(text)
    found = _pattern("correction_cues").match(plain)
    return plain[found.end() :].strip() if found else None


def sets_aside(text: str) -> bool:
    """Whether somebody says here that something known is not gone by."""
    return _pattern("setting_aside_cues").search(spelt_out(text)) is not None
