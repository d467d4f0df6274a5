"""How are words taken out of a text for good?

What somebody asked to forget stands in many places: in messages as they were said, in notes, in what was kept of a
call. Here are the patterns that find it, however it is spaced and cased, and the cut itself. The same pattern is read
by Python and by Postgres, so it holds nothing but words, blanks and bounds. Where texts lie is left to others.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

MARK = "[forgotten]"

SHORTEST = 12
"""Shorter wordings are cut nowhere: they would match what nobody meant, and the mark would be longer than they."""
FEWEST_WORDS = 2
MOST_IN_ONE = 4_000
"""Characters of one pattern; a database compiles no longer ones gladly."""

_WORD = r"[^\W_]"
_LETTER = re.compile(r"[^\W\d_]")
_ESCAPED = re.compile(r"([^\w\s])")


@dataclass(frozen=True)
class Cut:
    """One pattern over some wordings, the longest first."""

    pattern: str
    json_pattern: str
    """The same in the text of a JSON document, where quotes and line breaks are written in other ways."""

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, re.IGNORECASE)

    def out_of(self, text: str) -> str:
        return self._compiled.sub(MARK, text)

    def out_of_json(self, value: Any) -> Any:
        """The same document, cut in every text, keys included."""
        if isinstance(value, str):
            return self.out_of(value)
        if isinstance(value, list):
            return [self.out_of_json(each) for each in value]
        if isinstance(value, dict):
            return {self.out_of(key): self.out_of_json(each) for key, each in value.items()}
        return value


def cuts(wordings: Iterable[str]) -> Iterator[Cut]:
    """The patterns that find these wordings; as few as are sensible."""
    ordered = sorted(
        {_plain(each) for each in wordings if is_telling(each)}, key=lambda each: (-len(each), each)
    )
    batch: list[str] = []
    for wording in ordered:
        if batch and sum(map(len, batch)) + len(wording) > MOST_IN_ONE:
            yield _cut(batch)
            batch = []
        batch.append(wording)
    if batch:
        yield _cut(batch)


def is_telling(wording: str) -> bool:
    """Whether a wording is long enough that whoever writes it means it."""
    plain = _plain(wording)
    words = [word for word in plain.split() if _LETTER.search(word)]
    return len(plain) >= SHORTEST and len(words) >= FEWEST_WORDS


def _plain(wording: str) -> str:
    return " ".join(wording.split()).rstrip(" .!?,;:")


def _cut(wordings: list[str]) -> Cut:
    return Cut(
        pattern=_pattern(wordings, r"\s+", str), json_pattern=_pattern(wordings, r"(?:\s|\\[nrt])+", _in_json)
    )


def _pattern(wordings: list[str], blank: str, written: Any) -> str:
    each = [blank.join(_ESCAPED.sub(r"\\\1", written(word)) for word in text.split()) for text in wordings]
    return rf"(?<!{_WORD})(?:{'|'.join(each)})(?!{_WORD})"


def _in_json(word: str) -> str:
    return json.dumps(word, ensure_ascii=False)[1:-1]
