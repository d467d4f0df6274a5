"""Does a sentence end between two words?

The question is put to what stands between them. A full stop after an abbreviation or an initial ends nothing, nor
does a line break in the middle of a wrapped sentence: one that goes on with a small letter. Which words there are
is left to `tokens`; a line break parts words in any case, whether a sentence ends there or not.
"""

import re

from festinger.text.words import words

TERMINAL = re.compile(r"""[.!?‽…]["'”’»)\]}*_]*+\s|[。！？｡।॥؟۔]""")
"""What ends a sentence: a mark and a space, or a mark of a script that has no space after it."""

_SENTENCE = re.compile(r"[^.!?。！？\n]+(?:[.!?]+(?=[^\s.!?])[^.!?。！？\n]+)*[.!?。！？]*")
"""As it is written, up to its marks or the end of the line; a mark within a word, as in 3.50, ends nothing."""

LINE_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_LINE_BREAK = re.compile(f"[{LINE_BREAKS}]")

_ABBREVIATIONS = words("abbreviations")


def sentences_in(text: str) -> list[str]:
    """The sentences of a text, for those who only want to take it in pieces and not its words."""
    return [found for each in _SENTENCE.findall(text) if (found := each.strip())]


def breaks_line(gap: str) -> bool:
    return _LINE_BREAK.search(gap) is not None


def may_end_sentence(gap: str) -> bool:
    """Whether a sentence can end in `gap` at all, whatever words stand around it."""
    return breaks_line(gap) or TERMINAL.search(gap) is not None


def ends_sentence(gap: str, before: str, after: str) -> bool:
    """Whether a sentence ends in `gap`, which stands between two words as they are written."""
    if breaks_line(gap):
        return not _goes_on(gap, after)
    if not TERMINAL.search(gap):
        return False
    return not (gap.strip() == "." and _is_shortened(before))


def _goes_on(gap: str, after: str) -> bool:
    """Whether the line was only wrapped here."""
    spared = gap.replace("\r\n", "\n")
    one_break = len(_LINE_BREAK.findall(spared)) == 1
    return one_break and spared.strip(" \t,\n") == "" and after[0].islower()


def _is_shortened(word: str) -> bool:
    return word.lower() in _ABBREVIATIONS or (len(word) == 1 and word.isupper())
