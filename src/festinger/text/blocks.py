"""Removes our injected blocks from text, and builds the patterns that erase forgotten words.

What we injected comes back with the history, and models repeat it. It is removed before anything is hashed,
counted, scanned or learned, so that we never learn from ourselves. A block is ours if it has our label line
or is one that we made; other uses of the same tag are kept. Erasure patterns match forgotten words whatever
their spacing and case. Python and Postgres read the same pattern, so it holds only words, blanks and
boundaries.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

OPEN = "<recollection>"
CLOSE = "</recollection>"
GAP = "\n\n"
"""Separates a block from the text that it was injected into."""
PASSES = 64
"""Maximum passes: removing a block may join the halves of another one."""

IsOurs = Callable[[str], bool]
"""Returns whether a whole block, including its tags, is one that we made."""


def is_never_ours(_block: str) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockMarker:
    """How our blocks are distinguished from others."""

    label: str = ""
    is_ours: IsOurs = is_never_ours

    @property
    def opening(self) -> str:
        return f"{OPEN}\n{self.label}\n"


NO_MARK = BlockMarker()


def find_blocks(text: str, mark: BlockMarker) -> list[tuple[int, int]]:
    """Return the spans of our blocks, each with its gap."""
    found: list[tuple[int, int]] = []
    start, close = text.find(OPEN), 0
    while start >= 0:
        after = start + len(OPEN)
        if 0 <= close < after:
            close = text.find(CLOSE, after)
        end = _end(text, start, close=close, mark=mark)
        if end:
            found.append(_with_gap(text, start, end))
            after = found[-1][1]
        start = text.find(OPEN, after)
    return found


def strip_blocks(text: str, mark: BlockMarker) -> str:
    for _ in range(PASSES):
        if OPEN not in text or not (found := find_blocks(text, mark)):
            break
        ends = [0, *(end for _, end in found)]
        starts = [*(start for start, _ in found), len(text)]
        text = "".join(text[end:start] for end, start in zip(ends, starts, strict=True))
    return text


def _end(text: str, start: int, *, close: int, mark: BlockMarker) -> int:
    """Return where the block that opens at `start` ends; 0 if it is not ours."""
    labelled = bool(mark.label) and text.startswith(mark.opening, start)
    if close < 0:
        # A reply that broke off while repeating us.
        return len(text) if labelled else 0
    end = close + len(CLOSE)
    return end if labelled or mark.is_ours(text[start:end]) else 0


def _with_gap(text: str, start: int, end: int) -> tuple[int, int]:
    if text.startswith(GAP, end):
        return start, end + len(GAP)
    if end == len(text) and text.endswith(GAP, 0, start):
        return start - len(GAP), end
    return start, end


MARK = "[forgotten]"

SHORTEST = 12
"""Shorter wordings are never cut: they would match unrelated text, and the mark would be longer."""
FEWEST_WORDS = 2
MOST_IN_ONE = 4_000
"""Maximum characters of one pattern; databases are slow to compile longer ones."""

_WORD = r"[^\W_]"
_LETTER = re.compile(r"[^\W\d_]")
_ESCAPED = re.compile(r"([^\w\s])")


@dataclass(frozen=True)
class ErasurePattern:
    """One pattern over some wordings, longest first."""

    pattern: str
    json_pattern: str
    """The same for the text of a JSON document, where quotes and line breaks are escaped."""

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, re.IGNORECASE)

    def erase_from(self, text: str) -> str:
        return self._compiled.sub(MARK, text)

    def erase_from_json(self, value: Any) -> Any:
        """Return the document with every string cut, including keys."""
        if isinstance(value, str):
            return self.erase_from(value)
        if isinstance(value, list):
            return [self.erase_from_json(each) for each in value]
        if isinstance(value, dict):
            return {self.erase_from(key): self.erase_from_json(each) for key, each in value.items()}
        return value


def build_erasure_patterns(wordings: Iterable[str]) -> Iterator[ErasurePattern]:
    """Yield patterns that match these wordings, as few as sensible."""
    ordered = sorted({_plain(each) for each in wordings if is_distinctive(each)}, key=lambda each: (-len(each), each))
    batch: list[str] = []
    for wording in ordered:
        if batch and sum(map(len, batch)) + len(wording) > MOST_IN_ONE:
            yield _cut(batch)
            batch = []
        batch.append(wording)
    if batch:
        yield _cut(batch)


def is_distinctive(wording: str) -> bool:
    """Return whether a wording is long enough not to occur by accident."""
    plain = _plain(wording)
    words = [word for word in plain.split() if _LETTER.search(word)]
    return len(plain) >= SHORTEST and len(words) >= FEWEST_WORDS


def _plain(wording: str) -> str:
    return " ".join(wording.split()).rstrip(" .!?,;:")


def _cut(wordings: list[str]) -> ErasurePattern:
    return ErasurePattern(
        pattern=_pattern(wordings, r"\s+", str), json_pattern=_pattern(wordings, r"(?:\s|\\[nrt])+", _in_json)
    )


def _pattern(wordings: list[str], blank: str, written: Any) -> str:
    each = [blank.join(_ESCAPED.sub(r"\\\1", written(word)) for word in text.split()) for text in wordings]
    return rf"(?<!{_WORD})(?:{'|'.join(each)})(?!{_WORD})"


def _in_json(word: str) -> str:
    return json.dumps(word, ensure_ascii=False)[1:-1]
