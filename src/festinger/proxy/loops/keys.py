"""When are two calls, two results or two answers the same?

Ids, times and temporary paths change from call to call without changing what was asked, so they are blotted out
before the key is taken. Keys are made once for each text: a history of two hundred messages comes again with
every request.
"""

import hashlib
import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import orjson

KEPT = 4_096
SHINGLE = 3
"""Words in a row by which two answers are compared."""

_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?"
_VOLATILE = re.compile(
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
    rf"|\d{{4}}-\d{{2}}-\d{{2}}[T ]{_TIME}(?:Z|[+-]\d{{2}}:?\d{{2}})?"
    rf"|\b{_TIME}\b"
    r"|(?:/private)?(?:/var)?/tmp/[\w./+-]*"
    r"|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,64}\b"
    r"|\d{6,}"
)
_NOT_WORD = re.compile(r"[\W_]+")

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerKey:
    exact: bytes
    shingles: frozenset[int]
    words: int


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


def steadied(text: str) -> str:
    """The text without what changes by itself."""
    return _VOLATILE.sub("#", text)


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def arguments_key(arguments: str) -> bytes:
    return digest(steadied(_ordered(arguments)))


def result_key(result: str) -> bytes:
    return digest(steadied(result.strip()))


def answer_key(text: str) -> AnswerKey:
    words = _NOT_WORD.sub(" ", text).casefold().split()
    shingles = frozenset(hash(tuple(words[at : at + SHINGLE])) for at in range(len(words) - SHINGLE + 1))
    return AnswerKey(exact=digest(" ".join(words)), shingles=shingles, words=len(words))


def _ordered(arguments: str) -> str:
    """JSON with its keys in order; what is no JSON stays as it is."""
    try:
        return orjson.dumps(orjson.loads(arguments), option=orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONDecodeError:
        return arguments.strip()
