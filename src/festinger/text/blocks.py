"""Which part of a text did we put there ourselves?

What we injected comes back with the history, and models repeat it. It is taken off before anything is hashed,
counted, scanned or learnt, so that nothing of ours is ever learnt again. A block is ours if it has our label
line or is one that we made; whoever uses the same tag for something else keeps it.
"""

from collections.abc import Callable
from dataclasses import dataclass

OPEN = "<recollection>"
CLOSE = "</recollection>"
GAP = "\n\n"
"""What stands between a block and the text that it was put into."""
PASSES = 64
"""Taking a block out may bring the halves of another one together; so often at most."""

IsOurs = Callable[[str], bool]
"""Whether a whole block, tags and all, is one that we made."""


def none_known(_block: str) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """How a block of ours is told from somebody else's."""

    label: str = ""
    is_ours: IsOurs = none_known

    @property
    def opening(self) -> str:
        return f"{OPEN}\n{self.label}\n"


NO_MARK = Mark()


def blocks_in(text: str, mark: Mark) -> list[tuple[int, int]]:
    """Where blocks of ours stand, with the gap that belongs to each."""
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


def without_blocks(text: str, mark: Mark) -> str:
    for _ in range(PASSES):
        if OPEN not in text or not (found := blocks_in(text, mark)):
            break
        ends = [0, *(end for _, end in found)]
        starts = [*(start for start, _ in found), len(text)]
        text = "".join(text[end:start] for end, start in zip(ends, starts, strict=True))
    return text


def _end(text: str, start: int, *, close: int, mark: Mark) -> int:
    """Where the block that opens at `start` ends; 0 if it is not ours."""
    labelled = bool(mark.label) and text.startswith(mark.opening, start)
    if close < 0:
        # A reply that broke off in the middle of repeating us.
        return len(text) if labelled else 0
    end = close + len(CLOSE)
    return end if labelled or mark.is_ours(text[start:end]) else 0


def _with_gap(text: str, start: int, end: int) -> tuple[int, int]:
    if text.startswith(GAP, end):
        return start, end + len(GAP)
    if end == len(text) and text.endswith(GAP, 0, start):
        return start - len(GAP), end
    return start, end
