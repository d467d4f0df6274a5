"""What of a reply that was cut is worth sending to the model again?

The repeated end would only set the loop going once more. One round of it stays, so that the model sees what it
wrote. The result depends on nothing but the text: the same reply is shortened alike in every later request.
"""

import re

from festinger.proxy.loops.counting import BLOT
from festinger.proxy.loops.period import Repetition, repetition
from festinger.proxy.loops.shape import shape_of

LEAST_COUNT = 4
LEAST_CHARS = 200
LEAST_LINES = 10
LONGEST_BLOCK = 30

_NUMBER = re.compile(r"\d+")


def collapsed(text: str) -> str:
    """The text with the repetition in which it ends said once; unchanged if it ends in none."""
    bare = text.rstrip()
    if len(text) - len(bare) >= LEAST_CHARS:
        return bare
    found = repetition(text, LEAST_COUNT, LEAST_CHARS)
    if found.chars:
        return text[: len(text) - found.chars + found.period]
    return _without_counting(text) or _without_shapes(text) or text


def _without_counting(text: str) -> str:
    blotted = _NUMBER.sub(BLOT, text)
    found = repetition(blotted, LEAST_COUNT, LEAST_CHARS)
    return text[: _place(text, len(blotted) - found.chars + found.period)] if found.chars else ""


def _place(text: str, blotted: int) -> int:
    """Where in the text itself the character stands that comes at this place once numbers are blotted out."""
    shorter = 0
    for number in _NUMBER.finditer(text):
        if number.start() - shorter >= blotted:
            break
        shorter += len(number.group()) - len(BLOT)
    return blotted + shorter


def _without_shapes(text: str) -> str:
    """Cut after the first round where the lines at the end repeat in shape."""
    lines = text.splitlines(keepends=True)
    shaped = [(at, shape) for at, shape in enumerate(map(shape_of, lines[:-1])) if shape]
    found = _longest([shape for _, shape in shaped])
    if found.count < LEAST_COUNT or found.chars < LEAST_LINES:
        return ""
    first_after = shaped[len(shaped) - found.chars + found.period][0]
    return "".join(lines[:first_after])


def _longest(shapes: list[str]) -> Repetition:
    """The repetition of lines at the end: here, `chars` and `period` count lines."""
    for block in range(1, LONGEST_BLOCK + 1):
        pairs = zip(reversed(shapes), reversed(shapes[:-block]), strict=False)
        matched = 0
        for one, other in pairs:
            if one != other:
                break
            matched += 1
        if matched >= block * (LEAST_COUNT - 1):
            return Repetition(block, matched + block)
    return Repetition(1, 0)
