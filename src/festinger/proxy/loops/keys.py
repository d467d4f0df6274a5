"""Makes the keys by which calls, results and answers are compared.

Whatever stands in the arguments of a call is meant: another id, number or path is another call. Only results carry
noise, such as the time of day. A weaker key of a call leaves out small numbers that stand alone, comments and space; it
says no more than that two calls look alike. Keys are made once for each text, since a history comes again with every request.
"""

import hashlib
import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

import orjson

KEPT = 4_096
LETTERS_BESIDE_TIME = 6
"""A result that has no more letters beside its times is about time: a clock, a measurement."""
LONGEST = 4_000
"""Characters of a call or an answer whose words are compared."""

_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?"
_CLOCK = re.compile(
    rf"\d{{4}}-\d{{2}}-\d{{2}}(?:[T ]{_TIME}(?:Z|[+-]\d{{2}}:?\d{{2}})?)?"
    rf"|\b{_TIME}\b"
    r"|\b\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|secs?|seconds?)\b"
    r"|\b1[5-9]\d{8}(?:\d{3})?\b"
)
"""Dates, times of day, durations and seconds since 1970."""
_COMMENT = re.compile(r"(?:(?<=\s)|^)(?:#|//|--\s)[^\n]*|/\*.*?\*/|<!--.*?-->", re.DOTALL | re.MULTILINE)
_SMALL_NUMBER = re.compile(r"(?<![\w./-])(?<!\w:)\d{1,3}(?![\w.:/-])")
_NUMBER = re.compile(r"\d+")
_NOT_WORD = re.compile(r"[\W_]+")
_NAME = re.compile(r"\w+")
_STRING = re.compile(r'"((?:[^"\\]|\\.){4,200})"')
_WAITING = re.compile(r"(?:\A|[\W_])(?:sleep|wait|poll|watch)", re.IGNORECASE)

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallKey:
    exact: bytes
    alike: bytes
    """Equal for calls that differ in small numbers, comments and space only."""
    words: frozenset[str]
    values: tuple[str, ...]
    """Strings that a result may quote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultKey:
    exact: bytes
    steady: bytes
    """Without times and durations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerKey:
    exact: bytes
    pairs: frozenset[tuple[str, str]]
    """Every two words that follow each other."""
    words: frozenset[str]
    numbers: frozenset[str]


class Kept(Generic[Made]):
    """What was made from a text, kept by the text's hash for when it comes again."""

    __slots__ = ("_kept", "_make")

    def __init__(self, make: Callable[[str], Made]) -> None:
        self._make = make
        self._kept: OrderedDict[int, Made] = OrderedDict()

    def __call__(self, text: str) -> Made:
        place = hash(text)
        made = self._kept.get(place)
        if made is None:
            made = self._kept[place] = self._make(text)
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return made


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def words_of(text: str) -> list[str]:
    return _NOT_WORD.sub(" ", text[:LONGEST]).casefold().split()


def call_key(arguments: str) -> CallKey:
    ordered = _ordered(arguments)
    # A comment ends with its line or its string; JSON writes the end of a line as an escape.
    lines = ordered[:LONGEST].replace("\\n", "\n").replace('"', "\n")
    bare = _SMALL_NUMBER.sub("0", _COMMENT.sub("", lines))
    return CallKey(
        exact=digest(ordered),
        alike=digest("".join(bare.split()) + ordered[LONGEST:]),
        words=frozenset(_NAME.findall(bare.casefold())) - {"0"},
        values=tuple(sorted(_STRING.findall(ordered[:LONGEST]), key=len, reverse=True)),
    )


def means_to_wait(tool: str, arguments: str) -> bool:
    """Whether a call says itself that it waits."""
    return _WAITING.search(f"{tool} {arguments[:LONGEST]}") is not None


def result_key(result: str) -> ResultKey:
    bare = result.strip()
    timeless = _CLOCK.sub("#", bare)
    is_time = sum(map(str.isalpha, timeless[: LETTERS_BESIDE_TIME * 9])) <= LETTERS_BESIDE_TIME
    return ResultKey(exact=digest(bare), steady=digest(bare if is_time else timeless))


def answer_key(text: str) -> AnswerKey:
    words = words_of(text)
    return AnswerKey(
        exact=digest(" ".join(words)),
        pairs=frozenset(pairwise(words)),
        words=frozenset(words),
        numbers=frozenset(filter(str.isdecimal, words)),
    )


def failure_key(result: str, call: CallKey) -> bytes:
    """How a failed result opens, without numbers and ids and without what it quotes of the call."""
    opening = result.strip().partition("\n")[0][:LONGEST]
    for value in call.values:
        opening = opening.replace(value, "")
    return digest(" ".join(word for word in words_of(opening) if not _NUMBER.search(word)))


def _ordered(arguments: str) -> str:
    """JSON with its keys in order; what is no JSON stays as it is."""
    try:
        return orjson.dumps(orjson.loads(arguments), option=orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONDecodeError:
        return arguments.strip()
