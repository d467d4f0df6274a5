"""Decides whether the writer asserts what stands at a place in a text.

A text can contain a statement without making it: in a question, under `if`, in a denial, in quotation marks
or in code. `cues` finds the statements.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from festinger.text.tokens import Token
from festinger.text.words import load_words

SUPPOSING = frozenset(
    ["if", "whether", "unless", "suppose", "supposing", "imagine", "maybe", "perhaps", "assuming", "pretend"]
)
FICTIONS = load_words("fictions")
DETERMINERS = frozenset(["the", "this", "that", "a", "an", "my", "our", "your", "his", "her", "their"])
DENYING = frozenset(["not", "never", "nor", "neither", "cannot"])

_QUOTATIONS = (
    r"```[\s\S]*?(?:```|\Z)"
    r"|~~~[\s\S]*?(?:~~~|\Z)"
    r"|`[^`\n]++`"
    r'|"(?<!\w")[^"]*+"(?!\w)'
    r"|“[^“”„]*+[”“]|„[^“”„]*+[”“]|«[^«»]*+»|‹[^‹›]*+›|「[^「」]*+」|『[^『』]*+』"
    r"|‘(?<![\w‘’]‘)(?:[^‘’\n]|(?<=\w)’(?=\w))++’(?!\w)"
    r"|'(?<![\w']')(?:[^'\n]|(?<=\w)'(?=\w))++'(?!\w)"
)
"""Each begins with its mark, so that the search jumps from mark to mark."""
_QUOTED = re.compile(_QUOTATIONS)
_QUOTED_OR_CITED = re.compile(rf"^[ \t]*+>.*+$|{_QUOTATIONS}", re.MULTILINE)
"""Code, quotations, and lines cited with `>`. Never backtracks: an open quotation mark costs one scan."""

WIDEST_GAP = 100
"""Characters between two words of one phrase."""
_CHASM = "\n;\n"
"""Stands for a wider gap: it separates its neighbors and is cheap to scan."""

_DOUBT = re.compile(
    r"\bas far as (?:i|we) (?:can )?(?:tell|know|remember|recall|see|understand|gather)\b"
    r"|\bto (?:my|our) knowledge\b"
    r"|\bif (?:i|we) (?:remember|recall|understand) (?:it )?(?:right|rightly|correctly)\b"
    r"|\b(?:i|we) (?:think|guess|believe|assume|suppose|presume)\W*$",
    re.IGNORECASE,
)
"""The speaker is not sure: such a sentence is a guess."""
_TURN = re.compile(r"[;:—–]| - ")
_QUESTION = re.compile(r"[?？؟]")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sentence:
    """The tokens of a sentence, whether it asks or guesses, and where it supposes, denies or turns."""

    first: int
    last: int
    asks: bool
    guesses: bool
    supposed: list[int]
    denied: list[int]
    turns: list[int]


@dataclass(slots=True, kw_only=True)
class AnnotatedText:
    """A normalized text and its tokens, with a cache of what is known about its sentences."""

    text: str
    tokens: Sequence[Token]
    _starts: list[int] = field(init=False)
    _spans: list[tuple[int, int]] = field(init=False)
    _sentences: dict[int, _Sentence] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._starts = [index for index, token in enumerate(self.tokens) if token.sentence_start]
        quoted = _QUOTED_OR_CITED if ">" in self.text else _QUOTED
        self._spans = [match.span() for match in quoted.finditer(self.text)]

    def gap(self, index: int) -> str:
        """Return the text before a token, or a separator if that is very long."""
        start = self.tokens[index - 1].end if index > 0 else 0
        end = self.tokens[index].start
        return self.text[start:end] if end - start <= WIDEST_GAP else _CHASM

    def bounds(self, index: int) -> tuple[int, int]:
        """Return the first and last token of the sentence."""
        sentence = self._sentence(index)
        return sentence.first, sentence.last

    def is_said(self, index: int, *, denial_counts: bool = True) -> bool:
        """Return whether the writer asserts what stands at this token."""
        sentence = self._sentence(index)
        if sentence.asks or sentence.guesses or self._is_in_scope(sentence.supposed, sentence.turns, index):
            return False
        return not (denial_counts and self._is_in_scope(sentence.denied, sentence.turns, index))

    def quotation_span(self, index: int) -> tuple[int, int] | None:
        """Return the span of the quotation or code that a token stands in."""
        token = self.tokens[index]
        at = bisect_right(self._spans, (token.start, len(self.text))) - 1
        return self._spans[at] if at >= 0 and token.start < self._spans[at][1] else None

    def _sentence(self, index: int) -> _Sentence:
        at = bisect_right(self._starts, index) - 1
        if at not in self._sentences:
            following = self._starts[at + 1] if at + 1 < len(self._starts) else len(self.tokens)
            self._sentences[at] = self._read(self._starts[at], following - 1)
        return self._sentences[at]

    def _read(self, first: int, last: int) -> _Sentence:
        until = self.tokens[last + 1].start if last + 1 < len(self.tokens) else len(self.text)
        inside = range(first, last + 1)
        return _Sentence(
            first=first,
            last=last,
            asks=_QUESTION.search(self.text, self.tokens[last].end, until) is not None,
            guesses=_DOUBT.search(self.text, self.tokens[first].start, until) is not None,
            supposed=[index for index in inside if self._supposes(index) or self._starts_task_material(index, first)],
            denied=[index for index in inside if self._denies(index)],
            turns=[index for index in inside if self._turns(index, first)],
        )

    def _supposes(self, index: int) -> bool:
        word = self.tokens[index].text
        if word in FICTIONS:
            # "In the play, Anna is a queen" is about the play, not the world.
            return index > 1 and self.tokens[index - 2].text == "in" and self.tokens[index - 1].text in DETERMINERS
        return word in SUPPOSING or (word == "be" and self._follows(index, "should"))

    def _starts_task_material(self, index: int, first: int) -> bool:
        """Return whether the material of a task begins here: `Translate to German: …`."""
        return index > first and ":" in self.gap(index) and self.tokens[first].text in load_words("task_verbs")

    def _denies(self, index: int) -> bool:
        word = self.tokens[index].text
        if word == "t":
            return self.gap(index) in ("'", "’") and self.tokens[index - 1].text.endswith("n")
        return word in DENYING or (word == "longer" and self._follows(index, "no"))

    def _follows(self, index: int, word: str) -> bool:
        return index > 0 and self.tokens[index - 1].text == word

    def _turns(self, index: int, first: int) -> bool:
        return self.tokens[index].text == "but" or (index > first and _TURN.search(self.gap(index)) is not None)

    @staticmethod
    def _is_in_scope(marks: Sequence[int], turns: Sequence[int], index: int) -> bool:
        """Return whether one of the marks precedes, and nothing has turned the sentence since."""
        at = bisect_left(marks, index) - 1
        if at < 0:
            return False
        turn = bisect_right(turns, index) - 1
        return turn < 0 or turns[turn] <= marks[at]
