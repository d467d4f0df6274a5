"""Builds, sanitizes and tracks the blocks of notes that are injected into requests.

A block has tags, a label and one line per note. Notes are untrusted data: they cannot close the block, speak
in another role or hide characters. The same notes give the same bytes: no scores, counts, times or ids. A
block belongs to its anchor, the history up to and including its message, and is reinserted byte for byte
whenever that history comes again, so that the upstream's prompt cache stays valid. New blocks only go into
messages that were never forwarded. Outdated lines stay, and the next block corrects them; forgotten notes are
removed at once.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from festinger.proxy.loops.keys import ChatRole
from festinger.proxy.protocols.messages import ChatRequest, RequestTurn, SkipReason
from festinger.services.block import ContextBlock, ContextLine, NoteRef, format_label
from festinger.text.blocks import BlockMarker, IsOurs, is_never_ours


def build_mark(label: str, is_ours: IsOurs = is_never_ours) -> BlockMarker:
    """Build the marker by which blocks with this label are recognized."""
    return BlockMarker(label=format_label(label), is_ours=is_ours)


def remove_notes(standing: ContextBlock, forgotten: Collection[NoteRef]) -> ContextBlock | None:
    """Remove lines that show forgotten notes; `None` if nothing is left."""
    gone = {(note.kind, note.id) for note in forgotten}
    kept = tuple(line for line in standing.lines if not any((note.kind, note.id) in gone for note in line.notes))
    return ContextBlock(label=standing.label, lines=kept) if kept else None


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
