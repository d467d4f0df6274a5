"""Builds, sanitizes and tracks the blocks of notes that are injected into requests.

A block has tags, a label and one line per note. Notes are untrusted data: they cannot close the block, speak
in another role or hide characters. The same notes give the same bytes: no scores, counts, times or ids. A
block belongs to its anchor, the history up to and including its message, and is reinserted byte for byte
whenever that history comes again, so that the upstream's prompt cache stays valid. New blocks only go into
messages that were never forwarded. Outdated lines stay, and the next block corrects them; forgotten notes are
removed at once.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, lru_cache

from festinger.proxy.loops.keys import ChatRole
from festinger.proxy.protocols.messages import ChatRequest, RequestTurn, SkipReason
from festinger.text.blocks import CLOSE, OPEN, BlockMarker, IsOurs, is_never_ours
from festinger.text.budget import count_tokens

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
        return count_tokens(self.text)

    @property
    def notes(self) -> tuple[NoteRef, ...]:
        return tuple(note for line in self.lines for note in line.notes)


def graph_line(text: str, notes: Iterable[NoteRef] = ()) -> ContextLine:
    """A line about the world, or about a name that it does not know."""
    return ContextLine(text=sanitize_line(text).rstrip(), notes=tuple(notes))


def note_line(text: str, note: NoteRef, *, disputed: bool = False, why: LineReason = LineReason.NAMED) -> ContextLine:
    """A memory. If disputed, its standing text is shown, never the held one."""
    ending = DISPUTED if disputed else ""
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
    return ContextBlock(label=format_label(label), lines=lines) if lines else None


@lru_cache(maxsize=16)
def format_label(label: str) -> str:
    """Format the label as it appears in a block."""
    return sanitize_line(label).strip()


def build_mark(label: str, is_ours: IsOurs = is_never_ours) -> BlockMarker:
    """Build the marker by which blocks with this label are recognized."""
    return BlockMarker(label=format_label(label), is_ours=is_ours)


def remove_notes(standing: ContextBlock, forgotten: Collection[NoteRef]) -> ContextBlock | None:
    """Remove lines that show forgotten notes; `None` if nothing is left."""
    gone = {(note.kind, note.id) for note in forgotten}
    kept = tuple(line for line in standing.lines if not any((note.kind, note.id) in gone for note in line.notes))
    return ContextBlock(label=standing.label, lines=kept) if kept else None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedBlock:
    """A block placed in a turn."""

    turn: RequestTurn
    anchor: bytes
    block: ContextBlock


def find_placed_blocks(
    request: ChatRequest, links: tuple[bytes, ...], blocks: Mapping[bytes, ContextBlock]
) -> tuple[PlacedBlock, ...]:
    """The blocks that this history already has, each with its turn."""
    if not blocks:
        return ()
    return tuple(
        PlacedBlock(turn=turn, anchor=link, block=blocks[link])
        for turn, link in zip(request.turns, links, strict=True)
        # A turn that already contains its block needs no second one.
        if link in blocks and not turn.transient and not turn.carries and turn.role is not ChatRole.ASSISTANT
    )


def find_carrier_turn(
    request: ChatRequest, links: tuple[bytes, ...], *, forwarded: Collection[bytes], tools_may_carry: bool = False
) -> tuple[RequestTurn, bytes] | SkipReason:
    """The turn that may carry a new block and its anchor, or why there is none."""
    user = request.newest_user
    if user is None:
        return SkipReason.NO_USER
    turn: RequestTurn = user
    if ends_with_tool_results(request):
        if not tools_may_carry or request.turns[-1].transient:
            return SkipReason.TOOL_TURN
        turn = request.turns[-1]
    if turn.carries:
        return SkipReason.ALREADY
    anchor = links[_turn_index(request.turns, turn)]
    return SkipReason.FORWARDED if anchor in forwarded else (turn, anchor)


def _turn_index(turns: Sequence[RequestTurn], turn: RequestTurn) -> int:
    """Index of this very object; it is one of the last."""
    return next(at for at in reversed(range(len(turns))) if turns[at] is turn)


def ends_with_tool_results(request: ChatRequest) -> bool:
    last = request.turns[-1]
    return last.role is ChatRole.TOOL or (last.role is ChatRole.USER and last.only_results)


def shown_lines(blocks: Iterable[ContextBlock]) -> dict[str, ContextLine]:
    """The lines of these blocks by subject; later lines win."""
    return {line.about: line for block in blocks for line in block.lines if line.about}


def choose_system_block(
    before: ContextBlock | None, now: ContextBlock | None, *, new_person_turn: bool
) -> tuple[ContextBlock | None, bool]:
    """Choose the block of the system text; return it and whether it changed.

    It is reused until a person has spoken *and* the notes differ, because each change makes the server read
    the whole prompt again.
    """
    if before is None:
        return now, False
    if not new_person_turn or now is None or _line_texts(now) == _line_texts(before):
        return before, False
    return now, True


def _line_texts(block: ContextBlock) -> set[str]:
    return {line.text for line in block.lines}


@dataclass(frozen=True, slots=True, kw_only=True)
class LineUpdate:
    """Present state of a subject whose line is outdated."""

    line: ContextLine | None = None
    """The line to show now; `None` if there is nothing better to say."""
    forgotten: tuple[NoteRef, ...] = ()
    """Notes of the line that nobody may see anymore."""


PresentLines = Mapping[str, LineUpdate]
"""Updates by subject; missing subjects have not changed."""


def correction_lines(present: PresentLines) -> tuple[ContextLine, ...]:
    """Lines that restate what changed."""
    return tuple(state.line for state in present.values() if state.line is not None)


def remove_forgotten(blocks: Mapping[bytes, ContextBlock], present: PresentLines) -> Mapping[bytes, ContextBlock]:
    """Remove forgotten notes from blocks by anchor; return the same mapping if there are none."""
    gone = forgotten_notes(present)
    if not gone:
        return blocks
    return {anchor: left for anchor, block in blocks.items() if (left := remove_notes(block, gone)) is not None}


def forgotten_notes(present: PresentLines) -> tuple[NoteRef, ...]:
    return tuple(note for state in present.values() for note in state.forgotten)


def select_new_lines(lines: Iterable[ContextLine], shown: Mapping[str, ContextLine]) -> tuple[ContextLine, ...]:
    """Lines that no visible line states in the same words, each once."""
    texts = {line.about: line.text for line in shown.values()}
    found = []
    for line in lines:
        if not line.about or texts.get(line.about) != line.text:
            found.append(line)
        if line.about:
            texts[line.about] = line.text
    return tuple(found)
