"""Which part of a message stays the same when the message comes again?

Our own blocks come off, and so does everything from the first line that marks a tail which a framework writes
anew at each step. What is left is hashed, counted, scanned and captured.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from festinger.proxy.requests.memo import Memo
from festinger.text.blocks import NO_MARK, OPEN, Mark, without_blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaning:
    mark: Mark = NO_MARK
    volatile: re.Pattern[str] | None = None
    """Finds the line that begins a volatile tail."""
    markers: tuple[str, ...] = ()
    memo: Memo | None = None
    """What was read before by these very rules."""


class Cleaned(NamedTuple):
    text: str
    carries: bool = False
    """Whether there was a block of ours in it."""
    transient: bool = False
    """Whether a volatile tail was all there was."""


def cleaning(mark: Mark, markers: Iterable[str], *, memo: Memo | None = None) -> Cleaning:
    named = tuple(marker for marker in markers if marker)
    if not named:
        return Cleaning(mark=mark, memo=memo)
    either = "|".join(map(re.escape, named))
    line = re.compile(rf"^(?:{either})[ \t\r]*$", re.MULTILINE)
    return Cleaning(mark=mark, markers=named, volatile=line, memo=memo)


def cleaned(text: str, rules: Cleaning) -> Cleaned:
    """The stable part of a text."""
    bare = without_blocks(text, rules.mark) if OPEN in text else text
    carries = bare is not text and bare != text
    tail = _tail(bare, rules)
    if tail is None:
        return Cleaned(bare, carries)
    # A framework sets the tail off by empty lines, which later histories leave out with it.
    stable = bare[:tail].rstrip()
    return Cleaned(text=stable, carries=carries, transient=not stable)


def _tail(text: str, rules: Cleaning) -> int | None:
    for marker in rules.markers:
        # Most texts hold none, and looking for one is much faster than matching lines.
        if marker in text:
            assert rules.volatile is not None
            found = rules.volatile.search(text)
            return None if found is None else found.start()
    return None
