"""Do the latest lines repeat in shape, though names in quotes and numbers change?

Most loops of code models are of this kind: one test, one print, one function again and again with another
literal. A line's shape is the line without the contents of its strings and with every number as 0. Blank lines
have none, and neither have rows of tables and of bare literals, whose shape is meant to repeat.
"""

import re
from dataclasses import dataclass

LONGEST_BLOCK = 30
LONGEST_LINE = 2_000
"""Longer lines are cut for comparison."""
KEPT_SHAPES = 4_096

_STRING = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`")
_NUMBER = re.compile(r"\d+")
_LETTER = re.compile(r"[^\W\d_]")
TABLE_MARKS = ("|", "+-", "+=")


def shape_of(line: str) -> str:
    """What is left of a line when its literals are taken out; empty for one that has no shape."""
    bare = line[:LONGEST_LINE].strip()
    if not bare or bare.startswith(TABLE_MARKS):
        return ""
    shape = _NUMBER.sub("0", _STRING.sub('""', bare))
    return shape if _LETTER.search(shape) else ""


@dataclass(frozen=True, slots=True)
class Run:
    """Lines in a row, each of the shape of the line a block before."""

    block: int
    lines: int
    chars: int

    @property
    def count(self) -> int:
        return self.lines // self.block + 1

    @property
    def all_lines(self) -> int:
        """With the first block, which repeats nothing."""
        return self.lines + self.block

    @property
    def all_chars(self) -> int:
        return self.chars * self.all_lines // self.lines


class Shapes:
    """The shapes of the latest lines, and the blocks in which they repeat."""

    __slots__ = ("_number", "_places", "_runs")

    def __init__(self) -> None:
        self._number = 0
        self._places: dict[str, list[int]] = {}
        self._runs: dict[int, Run] = {}

    def add(self, line: str) -> None:
        shape = shape_of(line)
        if shape:
            self._runs = self._continued(shape, len(line))
            self._number += 1

    def _continued(self, shape: str, chars: int) -> dict[int, Run]:
        if len(self._places) > KEPT_SHAPES:
            self._places = {}
        places = self._places.setdefault(shape, [])
        runs = {}
        for place in places:
            block = self._number - place
            if block <= LONGEST_BLOCK:
                before = self._runs.get(block)
                runs[block] = (
                    Run(block, before.lines + 1, before.chars + chars) if before else Run(block, 1, chars)
                )
        places.append(self._number)
        if places[0] < self._number - LONGEST_BLOCK:
            del places[0]
        return runs

    @property
    def runs(self) -> tuple[Run, ...]:
        return tuple(self._runs.values())
