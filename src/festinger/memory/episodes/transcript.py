"""How is a conversation read: as sentences, as words, and as much of it as somebody can take in?

Pure. A long transcript is shortened to its beginning, its end and the turns between that stand out most; never to a
summary of a summary.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from festinger.memory.episodes.episode import Role, Turn
from festinger.text.vocabulary import outstanding
from festinger.text.words import sentences_in

SPOKEN = (Role.USER, Role.ASSISTANT, Role.TOOL)
"""Whose turns make up what was said; prompts and thoughts are not part of the conversation."""

LONGEST = 16_000
"""Characters of a transcript that are shown whole."""
FIRST = 4_000
LAST = 8_000

_WORD = re.compile(r"[^\W_]+(?:['.@/_:-][^\W_]+)*")
_MARKUP = re.compile(r"^(?:[#>*•-]+|\d+[.)])\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence of a turn, and its place among all."""

    text: str
    turn: Turn
    place: int

    @property
    def words(self) -> int:
        return len(self.text.split())


def spoken(turns: Sequence[Turn]) -> list[Turn]:
    return [turn for turn in turns if turn.role in SPOKEN]


def sentences(turns: Sequence[Turn]) -> list[Sentence]:
    """Every sentence that was said, in its order."""
    found = [(text, turn) for turn in spoken(turns) for text in sentences_of(turn.content)]
    return [Sentence(text=text, turn=turn, place=place) for place, (text, turn) in enumerate(found)]


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, each on one line and without marks of lists and headings."""
    pieces = (_MARKUP.sub("", " ".join(piece.split())) for piece in sentences_in(text))
    return [piece for piece in pieces if any(char.isalnum() for char in piece)]


def word_count(turns: Sequence[Turn]) -> int:
    return sum(len(turn.content.split()) for turn in spoken(turns))


def char_count(turns: Sequence[Turn]) -> int:
    return sum(len(turn.content.strip()) for turn in spoken(turns))


def words_of(text: str) -> list[str]:
    return _WORD.findall(text)


def saliency(text: str) -> float:
    """How much a text stands out: the mean over its words."""
    words = words_of(text)
    return sum(map(outstanding, words)) / len(words) if words else 0.0


def said(turns: Sequence[Turn]) -> str:
    """The transcript as people read it."""
    return "\n".join(f"{turn.role.value}: {turn.content.strip()}" for turn in spoken(turns))


def shown(turns: Sequence[Turn]) -> str:
    """The transcript as a model reads it: numbered, each turn quoted as data, shortened if it is too long."""
    return "\n".join(map(_line, condensed(spoken(turns))))


def condensed(turns: Sequence[Turn]) -> list[Turn]:
    """The turns that fit: the first, the last and between them those that stand out most, in their order."""
    if _size(turns) <= LONGEST:
        return list(turns)
    first = _head(turns, FIRST)
    rest = turns[len(first) :]
    last = list(reversed(_head(list(reversed(rest)), LAST)))
    between = rest[: len(rest) - len(last)]
    left = LONGEST - _size(first) - _size(last)
    chosen = set()
    for turn in sorted(between, key=lambda turn: (-saliency(turn.content), turn.seq)):
        if len(turn.content) <= left:
            chosen.add(turn.seq)
            left -= len(turn.content)
    return [*first, *(turn for turn in between if turn.seq in chosen), *last]


def _head(turns: Sequence[Turn], most: int) -> list[Turn]:
    """As many turns as fit; of a first one that is too long, nothing is lost but its end."""
    taken: list[Turn] = []
    for turn in turns:
        if _size(taken) + len(turn.content) > most:
            break
        taken.append(turn)
    return taken


def _size(turns: Sequence[Turn]) -> int:
    return sum(len(turn.content) for turn in turns)


LONGEST_TURN = 4_000


def _line(turn: Turn) -> str:
    content = turn.content if len(turn.content) <= LONGEST_TURN else f"{turn.content[:LONGEST_TURN]} […]"
    quoted = json.dumps(content, ensure_ascii=True).replace("<", "\\u003c").replace("`", "\\u0060")
    return f"[{turn.seq}] {turn.role.value} ({turn.origin.value}): {quoted}"
