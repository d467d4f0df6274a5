"""Describes a clause by its form: what a linear model needs to tell a lasting statement from a request.

Function words and common words stand for themselves; names, numbers, paths and rare words only for their shape, so
that the model learns how people say things and not what they talk about. Pure.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from wordfreq import zipf_frequency

from festinger.memory.extract.clauses import Clause, words_of
from festinger.text.words import FUNCTION_WORDS

COMMON = 4.9
"""Zipf frequency from which a word stands for itself."""
FRAME_CHARS = 300
"""Characters on either side of a clause that are read for what frames it."""
LONG_MESSAGE = 600
"""Characters from which a message is likely to hold pasted text."""

_NUMBER = re.compile(r"\d[\d.,:]*(?:[a-z%]{0,4})")
_PATH = re.compile(r"\w[./_@:-]\w")
_SYMBOLS = re.compile(r"[{}<>=|\\$*#;\[\]]")
_LOG = re.compile(
    r"\b\d{2}:\d{2}:\d{2}\b|\b(?:ERROR|WARN|INFO|DEBUG|Traceback|Exception)\b|^\s*at \w|^\s*File \""
)
_SUFFIXES = ("ing", "ed", "ly", "s")


def features_of(clause: Clause, message: str) -> frozenset[str]:
    """The features of a clause within its message."""
    shapes = ["^", *shapes_of(clause.text), "$"]
    return frozenset(
        (
            *(f"w {shape}" for shape in shapes),
            *_grams("b", shapes, 2),
            *_starts(shapes),
            *_context(clause),
            *_frame(clause, message),
            *_marks(clause, message),
        )
    )


def shapes_of(text: str) -> list[str]:
    """Each word as itself where it is common, else as its shape."""
    return [_shape(word, first=not at) for at, word in enumerate(words_of(text))]


@lru_cache(maxsize=20_000)
def _shape(word: str, *, first: bool) -> str:
    small = word.casefold()
    if small in FUNCTION_WORDS or "'" in small:
        return small
    if _NUMBER.fullmatch(small):
        return "<number>"
    if word[:1].isupper() and not first:
        return "<name>"
    if zipf_frequency(small, "en") >= COMMON:
        return small
    if _PATH.search(word):
        return "<path>"
    return next((f"<{suffix}>" for suffix in _SUFFIXES if small.endswith(suffix)), "<word>")


def _grams(kind: str, shapes: Sequence[str], size: int) -> Iterator[str]:
    for at in range(len(shapes) - size + 1):
        yield f"{kind} {' '.join(shapes[at : at + size])}"


def _starts(shapes: Sequence[str]) -> Iterator[str]:
    for length in (1, 2, 3):
        yield f"s{length} {' '.join(shapes[1 : 1 + length])}"


def _context(clause: Clause) -> Iterator[str]:
    if clause.head:
        head = shapes_of(clause.head)
        yield "behind a colon"
        yield from (f"h {shape}" for shape in head[:6])
    elif clause.place:
        yield "not first"
        before = shapes_of(clause.before)
        yield f"before {' '.join(before[:1])}"
        yield f"before {' '.join(before[:2])}"
        yield "after a question" if clause.before.endswith("?") else "after a statement"
    else:
        yield "first"
    if clause.text != clause.sentence:
        yield "part of a sentence"


def _frame(clause: Clause, message: str) -> Iterator[str]:
    """The words around a clause, which say whether it is told as the writer's own: a story, a sum, a mail to answer."""
    around = message[: clause.start][-FRAME_CHARS:], message[clause.start + len(clause.text) :][:FRAME_CHARS]
    for where, text in zip(("left", "right"), around, strict=True):
        for word in {word.casefold() for word in words_of(text)}:
            if word.isalpha() and len(word) > 2:
                yield f"{where} {word}"
    for word in {word.casefold() for word in words_of(clause.text)}:
        if word.isalpha():
            yield f"r {word}"


def _marks(clause: Clause, message: str) -> Iterator[str]:
    text, sentence = clause.text, clause.sentence
    if text.endswith("?"):
        yield "asks"
    elif sentence.endswith("?"):
        yield "before a question"
    if text.endswith("!"):
        yield "shouts"
    if text.endswith(":"):
        yield "announces"
    symbols = len(_SYMBOLS.findall(text))
    if symbols >= 2:
        yield "symbols"
    if symbols >= 5:
        yield "many symbols"
    if _LOG.search(text):
        yield "log"
    if '"' in sentence or "“" in sentence:
        yield "quotes"
    if text.startswith(("-", "*", "•", ">")):
        yield "bullet"
    count = len(words_of(text))
    yield f"length {min(count // 3, 8)}"
    if "\n" in message.strip():
        yield "lines"
    if len(message) > LONG_MESSAGE:
        yield "long message"
    if "?" in message:
        yield "message asks"
