"""Does a text end in a block that is repeated exactly, and how often?

The place where the last few characters stood before gives the length of the block; one comparison of two slices
then says whether the text really repeats. While a repetition goes on, only what is new is compared, so the
count goes beyond the window that is kept. `counter` asks the same of a text whose numbers are blotted out.
"""

from dataclasses import dataclass

WINDOW = 8_000
LONGEST = 1_200
PROBE = 24
"""Characters whose earlier place is looked for: longer than most words, shorter than most sentences."""
TRIES = 4
"""A block may hold its own end more than once; so many earlier places are tried."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """The end of a text: `chars` characters that are a block of `period` characters over and over."""

    period: int
    chars: int

    @property
    def count(self) -> int:
        return self.chars // self.period


NONE = Repetition(1, 0)


class Tail:
    """The last characters of a growing text, and the repetition in which they end."""

    __slots__ = ("_least_chars", "_least_count", "repetition", "text")

    def __init__(self, *, least_count: int, least_chars: int) -> None:
        self._least_count = least_count
        self._least_chars = least_chars
        self.text = ""
        self.repetition = NONE

    def grow(self, piece: str) -> None:
        before = self.repetition
        text = self.text = (self.text + piece)[-WINDOW:]
        if before.chars and _goes_on(text, len(piece), before.period):
            self.repetition = Repetition(before.period, before.chars + len(piece))
        elif piece:
            self.repetition = repetition(text, self._least_count, self._least_chars)

    @property
    def block(self) -> str:
        return self.text[-self.repetition.period :]


def _goes_on(text: str, new: int, period: int) -> bool:
    return text[len(text) - new :] == text[len(text) - new - period : len(text) - period]


def repetition(text: str, least_count: int, least_chars: int) -> Repetition:
    """The repetition in which `text` ends, if it has so many repeats and characters; else `NONE`."""
    size = len(text)
    probe = text[-PROBE:]
    low, high = max(0, size - LONGEST - PROBE), size - 1
    for _ in range(TRIES):
        found = text.rfind(probe, low, high)
        if found < 0:
            return NONE
        period = size - PROBE - found
        least = max(least_count * period, least_chars)
        if least <= size and text[size - least + period :] == text[size - least : size - period]:
            return Repetition(period, _repeated(text, period, least))
        high = found + PROBE - 1
    return NONE


def _repeated(text: str, period: int, known: int) -> int:
    """How many characters at the end repeat with this period, when so many are known to."""
    place = len(text) - known
    while place > 0 and text[place - 1] == text[place - 1 + period]:
        place -= 1
    return len(text) - place
