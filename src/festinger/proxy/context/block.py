"""What does a block of notes look like?

Tags around it, one line that says what it is, then a line a note. A note is data that somebody may have planted:
it cannot close the block, speak in another's role or hide characters. The same notes give the same bytes; there
are no scores, counts, times or ids in it.

Which blocks stand in this history already, and may a new one join them?

A block belongs to its anchor: the history up to and with the message that carries it. Whenever that history comes
again, the same bytes go in at the same place, so that what the server has read stays the beginning of what it is
sent. A new block goes only into a message that was never forwarded.

What must be said again because it changed since it was shown?

A block that stands in a history stays as it is, so a line that no longer holds goes on standing there. The next
new block says how it stands now, whether it is spoken of or not. What was forgotten is different: that is taken
out of the blocks at once, and the prefix may move.

Which part of a text did we put there ourselves? Asked of `text`, which every room may ask.
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
    """A note as it was shown: what it is, which one, and in which state."""

    kind: str
    id: str
    """Of an edge `concept [dimension] parent`, as it reads."""
    version: int = 0

    @property
    def about(self) -> str:
        """What it tells of: an edge of its concept, anything else of itself. No word holds a bracket."""
        return self.id.partition(" [")[0]


class LineReason(StrEnum):
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
class ContextLine:
    """A line of a block, and the notes that it shows. `text` is safe to stand there."""

    text: str
    notes: tuple[NoteRef, ...] = ()
    why: LineReason = field(default=LineReason.NAMED, compare=False)
    """For the log; two lines that say the same are the same, whatever they were chosen for."""

    @property
    def about(self) -> str:
        """What the line tells of; nothing where it only says that a name is unknown."""
        return self.notes[0].about if self.notes else ""


@dataclass(frozen=True, kw_only=True)
class ContextBlock:
    """What it says is asked for with every request of its session, so it is put together once."""

    label: str
    lines: tuple[ContextLine, ...]

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


def graph_line(text: str, notes: Iterable[NoteRef] = ()) -> ContextLine:
    """A line of the world, or of a name that it does not know."""
    return ContextLine(text=sanitize_line(text).rstrip(), notes=tuple(notes))


def note_line(text: str, note: NoteRef, *, disputed: bool = False, why: LineReason = LineReason.NAMED) -> ContextLine:
    """A memory. Of a disputed one the text that stands is given, never the one that is held."""
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
    """A block of these lines in the order in which they stand; none if there is nothing to say."""
    lines = tuple(line for line in (*graph, *notes, *unknown) if line.text.strip())
    return ContextBlock(label=format_label(label), lines=lines) if lines else None


@lru_cache(maxsize=16)
def format_label(label: str) -> str:
    """The label as it stands in a block."""
    return sanitize_line(label).strip()


def build_mark(label: str, is_ours: IsOurs = is_never_ours) -> BlockMarker:
    """How blocks with this label are known again."""
    return BlockMarker(label=format_label(label), is_ours=is_ours)


def remove_notes(standing: ContextBlock, forgotten: Collection[NoteRef]) -> ContextBlock | None:
    """A block without the lines that show what was forgotten; none if nothing is left."""
    gone = {(note.kind, note.id) for note in forgotten}
    kept = tuple(line for line in standing.lines if not any((note.kind, note.id) in gone for note in line.notes))
    return ContextBlock(label=standing.label, lines=kept) if kept else None


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


def sanitize_line(text: str) -> str:
    """Text that cannot leave its line or its block, nor speak in another's role."""
    text = _UNSEEN.sub("", _BREAKS.sub(" ", _SPEAKER.sub("", text)))
    # Taking a marker out may bring the halves of another one together. Each round shortens the text.
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
    """A block that goes into a turn."""

    turn: RequestTurn
    anchor: bytes
    block: ContextBlock


def find_placed_blocks(
    request: ChatRequest, links: tuple[bytes, ...], blocks: Mapping[bytes, ContextBlock]
) -> tuple[PlacedBlock, ...]:
    """The blocks that this history already has, each with the turn that carries it."""
    if not blocks:
        return ()
    return tuple(
        PlacedBlock(turn=turn, anchor=link, block=blocks[link])
        for turn, link in zip(request.turns, links, strict=True)
        # A turn that brings its block along needs no second one.
        if link in blocks and not turn.transient and not turn.carries and turn.role is not ChatRole.ASSISTANT
    )


def find_carrier_turn(
    request: ChatRequest, links: tuple[bytes, ...], *, forwarded: Collection[bytes], tools_may_carry: bool = False
) -> tuple[RequestTurn, bytes] | SkipReason:
    """The turn that may carry a new block, with its anchor, or why none may."""
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
    """Where this very turn stands; it is one of the last."""
    return next(at for at in reversed(range(len(turns))) if turns[at] is turn)


def ends_with_tool_results(request: ChatRequest) -> bool:
    last = request.turns[-1]
    return last.role is ChatRole.TOOL or (last.role is ChatRole.USER and last.only_results)


def shown_lines(blocks: Iterable[ContextBlock]) -> dict[str, ContextLine]:
    """The lines that stand in these blocks by what they tell of; of two about the same the later one."""
    return {line.about: line for block in blocks for line in block.lines if line.about}


def choose_system_block(
    before: ContextBlock | None, now: ContextBlock | None, *, new_person_turn: bool
) -> tuple[ContextBlock | None, bool]:
    """The block of the system text, and whether it changed.

    It is reused until a person has spoken *and* there are other notes, because each change makes the server
    read the whole prompt again.
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
    """How something stands now that is no longer as a line told it."""

    line: ContextLine | None = None
    """What to say of it; none if there is nothing better to say."""
    forgotten: tuple[NoteRef, ...] = ()
    """The notes of the line that nobody may see any more."""


PresentLines = Mapping[str, LineUpdate]
"""By what a line tells of; what is missing has not changed."""


def correction_lines(present: PresentLines) -> tuple[ContextLine, ...]:
    """Lines that say anew what changed."""
    return tuple(state.line for state in present.values() if state.line is not None)


def remove_forgotten(blocks: Mapping[bytes, ContextBlock], present: PresentLines) -> Mapping[bytes, ContextBlock]:
    """Blocks by anchor without what was forgotten; the same ones if nothing was."""
    gone = forgotten_notes(present)
    if not gone:
        return blocks
    return {anchor: left for anchor, block in blocks.items() if (left := remove_notes(block, gone)) is not None}


def forgotten_notes(present: PresentLines) -> tuple[NoteRef, ...]:
    return tuple(note for state in present.values() for note in state.forgotten)


def select_new_lines(lines: Iterable[ContextLine], shown: Mapping[str, ContextLine]) -> tuple[ContextLine, ...]:
    """The lines that tell something which no visible line tells in the same words, each once."""
    told = {line.about: line.text for line in shown.values()}
    found = []
    for line in lines:
        if not line.about or told.get(line.about) != line.text:
            found.append(line)
        if line.about:
            told[line.about] = line.text
    return tuple(found)
