"""Does a sentence only say again what stood in one line of our notes?

A copy, word for word, is found by its shingles. A note can come back in other words too: a line of our block read
aloud as a sentence. Such a sentence has no word of its own that carries meaning, but for verbs of knowing and saying;
with one more word, a denial above all, it is somebody's own.
"""

import re
from collections.abc import Sequence

from festinger.text.fold import fold
from festinger.text.words import FUNCTION_WORDS, words

FEWEST = 2
"""Words that a sentence must share with a line: a name alone is no echo."""

_WORD = re.compile(r"[^\W_]+(?:['._/@-][^\W_]+)*")
_PIECE = re.compile(r"[^\n.!?]*(?:[.!?](?!\s|$)[^\n.!?]*)*[.!?]*[ \t]*\n*")
_IDLE = (
    (FUNCTION_WORDS - words("telling_words")) | words("sayings") | words("pronouns") | {"what", "from", "so"}
)
"""Words that may be added to a line without making it say more."""


def without_echoes(text: str, lines: Sequence[str]) -> str:
    """The text without the sentences that only say one of these lines again."""
    known = [frozenset(_WORD.findall(fold(line))) for line in lines]
    if not known:
        return text
    return "".join(piece for piece in _PIECE.findall(text) if piece and not _is_echo(piece, known)).strip()


def _is_echo(piece: str, known: Sequence[frozenset[str]]) -> bool:
    said = frozenset(_WORD.findall(fold(piece)))
    return any(len((said & line) - _IDLE) >= FEWEST and said - line <= _IDLE for line in known)
