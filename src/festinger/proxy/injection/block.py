"""What does a block of notes look like?

Tags around it, one line that says what it is, then a line a note. A note is data that somebody may have planted:
it cannot close the block, speak in another's role or hide characters. The same notes give the same bytes; there
are no scores, counts, times or ids in it.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, lru_cache

from festinger.text.blocks import CLOSE, OPEN, IsOurs, Mark, none_known
from festinger.text.budget import count_tokens

NOTE_CHARS = 300
READ_CHARS = 4 * NOTE_CHARS
DISPUTED = " (disputed)"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRef:
    """A note as it was shown: what it is, which one, and in which state."""

    kind: str
    id: str
    """Of an edge `concept [dimension] parent`, as it reads."""
    version: int = 0

    @property
    def about(self) -> str:
        """What it tells of: an edge of its concept, anything else of itself. No word holds a bracket."""
        return self.id.partition(" [")[0]


class Why(StrEnum):
    """Why a line was chosen: what it tells of…"""

    NAMED = "named"
    """…came up in what is new in the conversation."""
    CHANGED = "changed"
    """…is no longer as a line before told it."""
    STOOD = "stood"
    """…stood in the block whose place this one takes."""
    UNKNOWN = "unknown"
    """…came up, and nothing is known of it."""
    RECALLED = "recalled"
    """…is remembered, and answers what a person said last."""
    OBSERVED = "observed"
    """…was seen again and again, and a person lets agents read of that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a block, and the notes that it shows. `text` is safe to stand there."""

    text: str
    notes: tuple[NoteRef, ...] = ()
    why: Why = field(default=Why.NAMED, compare=False)
    """For the log; two lines that say the same are the same, whatever they were chosen for."""

    @property
    def about(self) -> str:
        """What the line tells of; nothing where it only says that a name is unknown."""
        return self.notes[0].about if self.notes else ""


@dataclass(frozen=True, kw_only=True)
class Block:
    """What it says is asked for with every request of its session, so it is put together once."""

    label: str
    lines: tuple[Line, ...]

    @cached_property
    def text(self) -> str:
        head = (OPEN, self.label) if self.label else (OPEN,)
        return "\n".join((*head, *(line.text for line in self.lines), CLOSE))

    @cached_property
    def tokens(self) -> int:
        """About how many tokens it has."""
        return count_tokens(self.text)

    @property
    def notes(self) -> tuple[NoteRef, ...]:
        return tuple(note for line in self.lines for note in line.notes)


def graph_line(text: str, notes: Iterable[NoteRef] = ()) -> Line:
    """A line of the world, or of a name that it does not know."""
    return Line(text=harmless(text).rstrip(), notes=tuple(notes))


def note_line(text: str, note: NoteRef, *, disputed: bool = False, why: Why = Why.NAMED) -> Line:
    """A memory. Of a disputed one the text that stands is given, never the one that is held."""
    ending = DISPUTED if disputed else ""
    plain = " ".join(harmless(text[:READ_CHARS]).split())
    return Line(text=f"- {_cut(plain, NOTE_CHARS - len(ending))}{ending}", notes=(note,), why=why)


def block(
    label: str,
    *,
    graph: Iterable[Line] = (),
    notes: Iterable[Line] = (),
    unknown: Iterable[Line] = (),
) -> Block | None:
    """A block of these lines in the order in which they stand; none if there is nothing to say."""
    lines = tuple(line for line in (*graph, *notes, *unknown) if line.text.strip())
    return Block(label=label_line(label), lines=lines) if lines else None


@lru_cache(maxsize=16)
def label_line(label: str) -> str:
    """The label as it stands in a block."""
    return harmless(label).strip()


def mark_of(label: str, is_ours: IsOurs = none_known) -> Mark:
    """How blocks with this label are known again."""
    return Mark(label=label_line(label), is_ours=is_ours)


def rewritten(standing: Block, forgotten: Collection[NoteRef]) -> Block | None:
    """A block without the lines that show what was forgotten; none if nothing is left."""
    gone = {(note.kind, note.id) for note in forgotten}
    kept = tuple(
        line for line in standing.lines if not any((note.kind, note.id) in gone for note in line.notes)
    )
    return Block(label=standing.label, lines=kept) if kept else None


_BREAKS = re.compile("[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")
# Control characters; soft hyphen, joiners, marks of direction, word joiners, variation selectors and tags, which
# nobody sees and which can spell out a text of their own.
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
"""A speaker's name where a line begins; in the middle of one it is a word like any other."""


def harmless(text: str) -> str:
    """Text that cannot leave its line or its block, nor speak in another's role."""
    text = _UNSEEN.sub("", _BREAKS.sub(" ", _SPEAKER.sub("", text)))
    # Taking a marker out may bring the halves of another one together. Each round shortens the text.
    while (plain := _MARKERS.sub("", text)) != text:
        text = plain
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    at_word, space, _ = text[:most].rpartition(" ")
    return (at_word if space and len(at_word) > most // 2 else text[: most - 1]).rstrip() + "…"
