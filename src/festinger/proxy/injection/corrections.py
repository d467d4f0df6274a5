"""What must be said again because it changed since it was shown?

A block that stands in a history stays as it is, so a note that no longer holds goes on standing there. The next
new block says its present state, whether it is spoken of or not. What a person had forgotten is different: that
is taken out of the blocks at once, and the prefix may move.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from festinger.proxy.injection.block import Block, Line, NoteRef, rewritten


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """How a note stands now."""

    version: int
    line: Line | None = None
    """What to say of it; none if it only ceased to hold and there is nothing better."""
    forgotten: bool = False


PresentNotes = Mapping[tuple[str, str], Present]
"""By kind and id, of those that a question was asked about; one that is missing has not changed."""


def corrections(shown: Iterable[NoteRef], present: PresentNotes) -> tuple[Line, ...]:
    """Lines that say anew what changed."""
    found = ((note, present.get((note.kind, note.id))) for note in shown)
    return tuple(
        state.line
        for note, state in found
        if state is not None
        and state.version != note.version
        and not state.forgotten
        and state.line is not None
    )


def without_forgotten(
    blocks: Mapping[bytes, Block], present: PresentNotes
) -> tuple[dict[bytes, Block], bool]:
    """Blocks by anchor without what was forgotten, and whether that changed any."""
    gone = [NoteRef(kind=kind, id=note) for (kind, note), state in present.items() if state.forgotten]
    if not gone:
        return dict(blocks), False
    kept = {anchor: left for anchor, block in blocks.items() if (left := rewritten(block, gone)) is not None}
    return kept, kept != dict(blocks)


def unseen(lines: Iterable[Line], shown: Iterable[NoteRef]) -> tuple[Line, ...]:
    """The lines that tell something which no visible block tells in the same state."""
    known = set(shown)
    return tuple(line for line in lines if not line.notes or not known.issuperset(line.notes))
