"""Is a text that repeats but for its numbers only counting on?

`Step 12`, `Step 13`, `Step 14` with nothing else new is a loop; rows of measurements are not. Numbers are blotted
out to find the repetition, and looked at again before a reply is cut for it.
"""

import re

BLOT = "0"
LOOKED_AT = 6
"""Repeats in which the steps between numbers are compared."""
LONGEST_NUMBER = 18

_NUMBER = re.compile(r"\d+")


class Blotter:
    """Blots out the numbers of a growing text, each run of digits as one mark wherever the text is split."""

    __slots__ = ("_in_number",)

    def __init__(self) -> None:
        self._in_number = False

    def grow(self, piece: str) -> str:
        blotted = _NUMBER.sub(BLOT, piece)
        if self._in_number and blotted.startswith(BLOT):
            blotted = blotted[1:]
        self._in_number = piece[-1:].isdecimal() if piece else self._in_number
        return blotted


def counts_on(text: str, block: str) -> bool:
    """Whether each number of the repeated block stays, or goes on by the same step from repeat to repeat."""
    each = block.count(BLOT)
    if not each:
        return False
    # The last number may still be growing: it is left out, and so the slots are counted from the one before.
    found = _NUMBER.findall(text)[-each * LOOKED_AT - 1 : -1]
    if len(found) < each * 3 or any(len(number) > LONGEST_NUMBER for number in found):
        return False
    numbers = [int(number) for number in found]
    steps = [later - number for number, later in zip(numbers, numbers[each:], strict=False)]
    return steps[each:] == steps[:-each]
