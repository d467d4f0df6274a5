"""Builds and sanitizes the block of notes that goes into a prompt.

A block has tags, a label and one line per note. Notes are untrusted data: they cannot close the block, speak
in another role or hide characters. The same notes give the same bytes: no scores, counts, times or ids.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property, lru_cache

from festinger.text.blocks import CLOSE, OPEN
from festinger.text.budget import estimate_tokens

NOTE_CHARS = 300
READ_CHARS = 4 * NOTE_CHARS
DISPUTED = " (disputed)"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRef:
    """A note as shown: kind, id and version."""

    kind: str
    id: str
    """For an edge, `concept [dimension] parent` as it reads."""
    version: int = 0

    @property
    def about(self) -> str:
        """Subject of the note: the concept of an edge, else the note itself. No word contains a bracket."""
        return self.id.partition(" [")[0]


class LineReason(StrEnum):
    """Why a line was chosen."""

    NAMED = "named"
    """Its subject came up in new turns."""
    CHANGED = "changed"
    """It corrects an earlier line."""
    STOOD = "stood"
    """It was in the block that this one replaces."""
    UNKNOWN = "unknown"
    """Its subject came up, but nothing is known of it."""
    RECALLED = "recalled"
    """A memory that matches a person's last message."""
    OBSERVED = "observed"
    """A repeated observation that a person lets agents see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextLine:
    """A line of a block and its notes. `text` is already sanitized."""

    text: str
    notes: tuple[NoteRef, ...] = ()
    why: LineReason = field(default=LineReason.NAMED, compare=False)
    """For the log; lines with the same content are equal, whatever the reason."""

    @property
    def about(self) -> str:
        """Subject of the line; empty if it only says that a name is unknown."""
        return self.notes[0].about if self.notes else ""


@dataclass(frozen=True, kw_only=True)
class ContextBlock:
    """A block of lines. Every request of its session asks for its text, so it is cached."""

    label: str
    lines: tuple[ContextLine, ...]

    @cached_property
    def text(self) -> str:
        head = (OPEN, self.label) if self.label else (OPEN,)
        return "\n".join((*head, *(line.text for line in self.lines), CLOSE))

    @cached_property
    def tokens(self) -> int:
        """Approximate number of tokens."""
        return estimate_tokens(self.text)

    @property
    def notes(self) -> tuple[NoteRef, ...]:
        return tuple(note for line in self.lines for note in line.notes)


def build_world_line(text: str, notes: Iterable[NoteRef] = ()) -> ContextLine:
    """A line about the world, or about a name that it does not know."""
    return ContextLine(text=sanitize_line(text).rstrip(), notes=tuple(notes))


def note_line(
    text: str, note: NoteRef, *, disputed: bool = False, ending: str = "", why: LineReason = LineReason.NAMED
) -> ContextLine:
    """A memory, cut to fit before its ending. If disputed, its standing text is shown, never the held one."""
    ending = DISPUTED if disputed else ending
    plain = " ".join(sanitize_line(text[:READ_CHARS]).split())
    return ContextLine(text=f"- {_truncate(plain, NOTE_CHARS - len(ending))}{ending}", notes=(note,), why=why)


def build_block(
    label: str,
    *,
    graph: Iterable[ContextLine] = (),
    notes: Iterable[ContextLine] = (),
    unknown: Iterable[ContextLine] = (),
) -> ContextBlock | None:
    """Build a block of these lines, in order; `None` if there are none."""
    lines = tuple(line for line in (*graph, *notes, *unknown) if line.text.strip())
    return ContextBlock(label=sanitize_label(label), lines=lines) if lines else None


@lru_cache(maxsize=16)
def sanitize_label(label: str) -> str:
    return sanitize_line(label).strip()


def fit_block(block: ContextBlock, tokens: int) -> ContextBlock | None:
    """Keep as many lines as fit; `None` if not even the first does."""
    low, high = 0, len(block.lines)
    while low < high:
        middle = (low + high + 1) // 2
        if replace(block, lines=block.lines[:middle]).tokens <= tokens:
            low = middle
        else:
            high = middle - 1
    return replace(block, lines=block.lines[:low]) if low else None


_BREAKS = re.compile("[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")
# Control characters, soft hyphens, joiners, direction marks, variation selectors and tags: invisible
# characters that can spell out hidden text.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
_MARKERS = re.compile(
    r"<\|[^<>|]{0,64}\|?>"
    r"|<\uff5c[^<>\uff5c]{0,64}\uff5c>"
    r"|<</?SYS>>"
    r"|</?(?:s|start_of_turn|end_of_turn|bos|eos|unused\d{1,4})>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]"
    r"|#{1,6} ?(?:System|User|Assistant|Tool|Instruction|Response|Human) ?:"
    r"|```",
    re.IGNORECASE,
)
_SPEAKER = re.compile(r"^[ \t]{0,8}(?:Human|Assistant|System|User) ?:(?=\s|$)", re.IGNORECASE | re.MULTILINE)
"""A speaker's name at the start of a line; in the middle it is an ordinary word."""


def sanitize_line(text: str) -> str:
    """Sanitize a text so that it cannot leave its line or block, nor speak in another role."""
    text = _UNSEEN.sub("", _BREAKS.sub(" ", _SPEAKER.sub("", text)))
    # Removing a marker may join the halves of another one. Each round shortens the text.
    while (plain := _MARKERS.sub("", text)) != text:
        text = plain
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _truncate(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    at_word, space, _ = text[:most].rpartition(" ")
    return (at_word if space and len(at_word) > most // 2 else text[: most - 1]).rstrip() + "…"
