"""Loads the packaged word lists and splits text into sentences.

The lists are plain text files in `lists/`: words separated by blanks, and comment lines on their purpose.
They hold what any grammar would, and no word because a test needs it. A full stop after an abbreviation or an
initial ends no sentence, nor does a line break in a wrapped one: a single break before a small letter.
"""

import re
from functools import cache
from pathlib import Path

LISTS = Path(__file__).parent / "lists"


@cache
def load_words(name: str) -> frozenset[str]:
    lines = (LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


FUNCTION_WORDS = load_words("function_words")


TERMINAL = re.compile(r"""[.!?‽…]["'”’»)\]}*_]*+\s|[。！？｡।॥؟۔]""")
"""What ends a sentence: a mark and a space, or a mark of a script that has no space after it."""

_SENTENCE = re.compile(r"[^.!?。！？\n]+(?:[.!?]+(?=[^\s.!?])[^.!?。！？\n]+)*[.!?。！？]*")
"""A sentence as written, up to its marks or the end of the line; a mark inside a word (3.50) ends nothing."""

LINE_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_LINE_BREAK = re.compile(f"[{LINE_BREAKS}]")

_ABBREVIATIONS = load_words("abbreviations")


def split_into_sentences(text: str) -> list[str]:
    """Split a text into sentences, for callers that do not need its words."""
    return [found for each in _SENTENCE.findall(text) if (found := each.strip())]


def has_line_break(gap: str) -> bool:
    return _LINE_BREAK.search(gap) is not None


def may_end_sentence(gap: str) -> bool:
    """Return whether a sentence can end in `gap` at all, whatever words surround it."""
    return has_line_break(gap) or TERMINAL.search(gap) is not None


def ends_sentence(gap: str, before: str, after: str) -> bool:
    """Return whether a sentence ends in `gap`, between two words as written."""
    if has_line_break(gap):
        return not _is_wrapped_line(gap, after)
    if not TERMINAL.search(gap):
        return False
    return not (gap.strip() == "." and _is_shortened(before))


def _is_wrapped_line(gap: str, after: str) -> bool:
    """Return whether the line was only wrapped here."""
    spared = gap.replace("\r\n", "\n")
    one_break = len(_LINE_BREAK.findall(spared)) == 1
    return one_break and spared.strip(" \t,\n") == "" and after[0].islower()


def _is_shortened(word: str) -> bool:
    return word.lower() in _ABBREVIATIONS or (len(word) == 1 and word.isupper())


SMALL_NUMBERS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
"""The words for 0 to 19, in order."""
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
