"""Finds who or what a name is where a message tells it in passing: `a poem for my wife Carla`.

People tell most of whom they know in requests, which state nothing else. Whether it is their own or of a story is for
the classifier, which reads the introduction as a statement in the place where it was found.
"""

import re

from festinger.memory.extract.clauses import Clause, verb_forms
from festinger.text.words import FUNCTION_WORDS, load_words

ANYWHERE = -1
"""Position of an introduction, which is no sentence of its message."""

POLITE = frozenset({"please", "pls", "plz"})

_WHOSE = (
    r"\b(?P<whose>[Mm]y|[Oo]ur)\s(?P<role>(?:[a-z][a-z-]{1,30}|[A-Z]{2,5})(?:\s[a-z][a-z-]{1,30}){0,2}"
    r"(?:\sin\slaw)?)"
)
_NAME = r"(?P<name>(?:(?:Mr|Mrs|Ms|Dr|Prof)\.?\s)?[A-Z][\w-]{0,30}[^\W\d_A-Z](?:\s[A-Z][\w-]{0,30}[^\W\d_A-Z]){0,2})(?![\w-])"
_BEFORE_NAME = re.compile(rf"{_WHOSE}\s{_NAME}(?P<after>'s)?(?:\s(?P<next>and\s[A-Z][a-z]|[a-z]+))?")
_BEHIND_NAME = re.compile(rf"\b{_NAME}\s?[,(]\s?{_WHOSE}(?=[,.!?)]|$)")
_IN_BRACKETS = re.compile(rf"{_WHOSE}\s\({_NAME}\)")
_IN_COMMAS = re.compile(rf"{_WHOSE},\s{_NAME},\s(?P<verb>[a-z]+)")
"""`my physio, Dr Meyer, said …`."""


def find_introductions(message: str) -> list[Clause]:
    """Return a statement such as `Carla is my wife` for each, as a clause at its place in the message."""
    patterns = _BEFORE_NAME, _BEHIND_NAME, _IN_BRACKETS, _IN_COMMAS
    found = [each for pattern in patterns for each in pattern.finditer(message)]
    return [
        _to_clause(each) for each in sorted(found, key=re.Match.start) if _is_role(each["role"]) and _is_whole(each)
    ]


def _is_role(role: str) -> bool:
    """Whether words name what somebody is, not a verb, a place or how a thing is (`my old Honda`)."""
    words = role.removesuffix(" in law").split()
    return words[-1] not in load_words("adjectives") and not any(
        word in FUNCTION_WORDS or word in verb_forms() or word.endswith("ed") or _ends_in_s(word) for word in words
    )


def _is_whole(found: re.Match[str]) -> bool:
    """Whether the name ends where it seems to: not in `our Postgres cluster`, and not for one of several. Between commas
    a verb must follow: in `thanks for my bike, Tom, it runs` somebody is spoken to."""
    if verb := found.groupdict().get("verb"):
        return verb in verb_forms() or (verb not in FUNCTION_WORDS and verb.endswith(("s", "ed")))
    after = found.groupdict().get("next")
    if after is None:
        return True
    return after in FUNCTION_WORDS | POLITE or after in verb_forms() or after.endswith(("s", "ed"))


def _ends_in_s(word: str) -> bool:
    return word.endswith("s") and not word.endswith("ss")


def _to_clause(found: re.Match[str]) -> Clause:
    text = f"{found['name']} is {found['whose'].casefold()} {found['role']}"
    end = max(found.end("name"), found.end("role"))
    return Clause(text=text, start=found.start(), end=end, sentence=text, position=ANYWHERE)
