"""Detects text that copies or restates other text, such as our own notes.

Copies are compared by shingles, runs of five words: all texts share single words, only copies share five in a
row. A note can also come back reworded, as a line of our block turned into a sentence. Such an echo adds no
word that carries meaning except verbs of knowing and saying; with one more word, above all a denial, it
counts as the speaker's own.
"""

import re
from collections.abc import Iterable, Sequence

from festinger.text.normalize import fold
from festinger.text.words import FUNCTION_WORDS, load_words

WORDS = 5
MOSTLY = 0.8
"""Share of its shingles from which a text counts as a copy."""

_WORD = re.compile(r"[^\W_]+(?:['.@/_-][^\W_]+)*")
_PIECE = re.compile(r"[^\n.!?]*(?:[.!?](?!\s|$)[^\n.!?]*)*[.!?]*[ \t]*\n*")
"""A sentence or a line, including what ends it."""


def build_shingles(text: str) -> frozenset[tuple[str, ...]]:
    """Return every run of five words; for a shorter text, the whole."""
    words = _WORD.findall(fold(text))
    if not words:
        return frozenset()
    return frozenset(tuple(words[at : at + WORDS]) for at in range(max(1, len(words) - WORDS + 1)))


def build_all_shingles(texts: Iterable[str]) -> frozenset[tuple[str, ...]]:
    return frozenset().union(*(build_shingles(text) for text in texts))


def shingle_overlap(text: str, known: frozenset[tuple[str, ...]]) -> float:
    """Return the share of a text's shingles that are known; 0 for a text without words."""
    own = build_shingles(text)
    return len(own & known) / len(own) if own else 0.0


def remove_copies(text: str, known: frozenset[tuple[str, ...]]) -> str:
    """Remove copied sentences and lines of five words or more."""
    if not known:
        return text
    kept = [piece for piece in _PIECE.findall(text) if piece and not _is_copy(piece, known)]
    return "".join(kept).strip()


def has_several_sentences(text: str) -> bool:
    """Return whether a text has more than one sentence or line, so that only a part of it may be a copy."""
    return sum(any(char.isalnum() for char in piece) for piece in _PIECE.findall(text)) > 1


def _is_copy(piece: str, known: frozenset[tuple[str, ...]]) -> bool:
    return len(_WORD.findall(fold(piece))) >= WORDS and shingle_overlap(piece, known) >= MOSTLY


FEWEST = 2
"""Words that a sentence must share with a line: a name alone is no echo."""

_ECHO_WORD = re.compile(r"[^\W_]+(?:['._/@-][^\W_]+)*")
_IDLE = (
    (FUNCTION_WORDS - load_words("telling_words"))
    | load_words("sayings")
    | load_words("pronouns")
    | {"what", "from", "so"}
)
"""Words that can be added to a line without making it say more."""


def remove_echoes(text: str, lines: Sequence[str]) -> str:
    """Remove the sentences that only restate one of these lines."""
    known = [frozenset(_ECHO_WORD.findall(fold(line))) for line in lines]
    if not known:
        return text
    return "".join(piece for piece in _PIECE.findall(text) if piece and not _is_echo(piece, known)).strip()


def _is_echo(piece: str, known: Sequence[frozenset[str]]) -> bool:
    said = frozenset(_ECHO_WORD.findall(fold(piece)))
    return any(len((said & line) - _IDLE) >= FEWEST and said - line <= _IDLE for line in known)
