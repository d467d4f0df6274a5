"""Tells whether two statements are about different things or people, so that neither is news about the other.

Goes by their heads, the words before the verb. Things that differ in a number are two (`ticket 311`, `web-3`). People
and named things are two unless the statements share something besides: `Mara took search over` is news about
`Tomasz owns search`. Also says which subject given by a caller a text leaves out.
"""

import re
from itertools import pairwise

from festinger.judge.rules.attributes import USER
from festinger.judge.rules.guards import ReadingComparison
from festinger.judge.rules.parse import StatementReading, parse_statement
from festinger.judge.rules.words import is_opposite, load_words, load_words_of_kind, stem
from festinger.text.normalize import fold
from festinger.text.words import FUNCTION_WORDS

_WORD = re.compile(r"[^\W_]+(?:[-.'/][^\W_]+)*")
_COPULAS = load_words_of_kind("grammar", "copula")
_UNIQUE = load_words_of_kind("grammar", "our") | {"the"}
_KIN = load_words_of_kind("grammar", "kin")
_SPEAKER = frozenset({"i"})
_POINTERS = load_words_of_kind("grammar", "article") | {"this", "that"}
_VERBS = frozenset(map(stem, load_words("verbs")))


def find_other_subject(compared: ReadingComparison) -> str | None:
    """Why both are surely about different things; None if they may be about one."""
    old, new = compared.old, compared.new
    if not old.head or not new.head:
        return None
    one, other = _numbers(old), _numbers(new)
    if one and other and one.isdisjoint(other) and not _is_same_role(old, new):
        return f"They are about {min(one)} and about {min(other)}."
    if opposed := _opposed_things(compared):
        return f"They are about {opposed[0]} and about {opposed[1]}."
    one, other = _people(old), _people(new)
    is_named_by_other = not one.isdisjoint(new.words) or not other.isdisjoint(old.words)
    if one and other and not is_named_by_other and _are_alike(one, other) and not have_shared_word(old, new):
        return f"They are about {min(one)} and about {min(other)}, and share nothing else."
    return None


def _opposed_things(compared: ReadingComparison) -> tuple[str, str] | None:
    """Two things of one noun with opposite words before it (`the top bed`, `the bottom bed`), of which more differs."""
    found = compared.difference
    if len(found.only_old) < 2 or len(found.only_new) < 2:
        return None
    one, other = ([(word, stem(noun)) for word, noun in pairwise(each.words)] for each in (compared.old, compared.new))
    return next(
        (
            (f"{a} {n}", f"{b} {m}")
            for a, n in one
            for b, m in other
            if n == m and n in compared.old.stemmed and is_opposite(a, b)
        ),
        None,
    )


def _are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether both are named the same way: my sister may be Hana, but I am neither, and nor is my brother."""
    are_relatives = [not _KIN.isdisjoint(each) for each in (one, other)]
    return _SPEAKER in (one, other) or are_relatives[0] == are_relatives[1]


def _numbers(reading: StatementReading) -> frozenset[str]:
    """The numbers and identifiers by which the head names a thing; `our 3 cats` counts some."""
    around = zip(("", *reading.head), reading.head, (*reading.head[1:], ""), strict=False)
    return frozenset(
        word
        for before, word, after in around
        if any(map(str.isdigit, word)) and not (before in FUNCTION_WORDS and after.endswith("s"))
    )


def _is_same_role(old: StatementReading, new: StatementReading) -> bool:
    """Whether both name the holder of one role: `version 4 is the current one`."""
    one, other = (each.words[len(each.head) :] for each in (old, new))
    if not one or not other or one[0] not in _COPULAS or other[0] not in _COPULAS:
        return False
    is_definite = one[1:2] == other[1:2] and not _UNIQUE.isdisjoint(one[1:2])
    return is_definite and bool(_rest(old)) and _rest(old) == _rest(new)


def _people(reading: StatementReading) -> frozenset[str]:
    """Who or what the head names: the speaker, a relative, or a name."""
    if frozenset(reading.head) <= FUNCTION_WORDS:
        return _SPEAKER & frozenset(reading.head)
    return _KIN.intersection(reading.head) or reading.names.intersection(reading.head)


def _rest(reading: StatementReading) -> frozenset[str]:
    return reading.stemmed - frozenset(map(stem, reading.head)) - _VERBS


def have_shared_word(old: StatementReading, new: StatementReading) -> bool:
    """Whether the statements share a word besides verbs, wherever it stands."""
    return not (old.stemmed - _VERBS).isdisjoint(new.stemmed - _VERBS)


def unstated_subject(text: str, subject: str | None) -> str:
    """The subject, as a key, if the text neither holds its words nor is read as about it; else empty."""
    words = _plain_words(subject or "")
    if not words or set(words) <= {USER, *_plain_words(text)}:
        return ""
    read = (_plain_words(slot.subject) for slot in parse_statement(text).slots)
    return "" if words in read else " ".join(words)


def _plain_words(text: str) -> list[str]:
    found = (word.removesuffix("'s") for word in _WORD.findall(fold(text).replace("_", " ")))
    return [word for word in found if word not in _POINTERS]
