"""What must be said again because it changed since it was shown?

A block that stands in a history stays as it is, so a line that no longer holds goes on standing there. The next
new block says how it stands now, whether it is spoken of or not. What was forgotten is different: that is taken
out of the blocks at once, and the prefix may move.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from festinger.proxy.injection.block import Block, Line, NoteRef, rewritten


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """How something stands now that is no longer as a line told it."""

    line: Line | None = None
    """What to say of it; none if there is nothing better to say."""
    forgotten: tuple[NoteRef, ...] = ()
    """The notes of the line that nobody may see any more."""


PresentLines = Mapping[str, Present]
"""By what a line tells of; what is missing has not changed."""


def corrections(present: PresentLines) -> tuple[Line, ...]:
    """Lines that say anew what changed."""
    return tuple(state.line for state in present.values() if state.line is not None)


def without_forgotten(blocks: Mapping[bytes, Block], present: PresentLines) -> Mapping[bytes, Block]:
    """Blocks by anchor without what was forgotten; the same ones if nothing was."""
    gone = forgotten_in(present)
    if not gone:
        return blocks
    return {anchor: left for anchor, block in blocks.items() if (left := rewritten(block, gone)) is not None}


def forgotten_in(present: PresentLines) -> tuple[NoteRef, ...]:
    return tuple(note for state in present.values() for note in state.forgotten)


def unseen(lines: Iterable[Line], shown: Mapping[str, Line]) -> tuple[Line, ...]:
    """The lines that tell something which no visible line tells in the same words, each once."""
    told = {line.about: line.text for line in shown.values()}
    found = []
    for line in lines:
        if not line.about or told.get(line.about) != line.text:
            found.append(line)
        if line.about:
            told[line.about] = line.text
    return tuple(found)
