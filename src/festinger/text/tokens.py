"""Which words stand in a text?

One tokeniser for everything that is read: prompts, replies, facts, answers of models. Any string is accepted;
time grows with its length alone. `start` and `end` of a token are places in `normalised(text)`, not in the text
as it came, which normalising may shorten or lengthen. Names of several words are joined by `compounds`, which
tokens count is left to `vocabulary`, and what is said with them to `cues`.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, partial
from itertools import accumulate

from festinger.text.compounds import Known, Token, compounded
from festinger.text.normal import marks, normalised
from festinger.text.scripts import cut, has_spaceless
from festinger.text.sentences import ends_sentence
from festinger.text.words import FUNCTION_WORDS

__all__ = ["Known", "Token", "content", "tokens"]

_POSSESSIVE = re.compile(r"(?<=\w)['’ʼ][sS](?!\w)")
_CUT_POSSESSIVE = "''"
"""As long as what it replaces, so that no place moves."""


def _nothing(token: str) -> bool:
    return False


def tokens(text: str, known: Known = _nothing) -> list[Token]:
    """The tokens of any text; `known` answers whether a token is in the vocabulary."""
    plain = normalised(text)
    return compounded(plain, _singles(_parted(plain, known=known)), known=known)


def content(found: Iterable[Token], *, min_chars: int = 1) -> list[Token]:
    """The tokens that name something."""
    return [token for token in found if token.text not in FUNCTION_WORDS and len(token.text) >= min_chars]


def _word(letters: str) -> re.Pattern[str]:
    """Letters and digits, joined by single inner marks; an address of a mailbox is one word. No step is taken back."""
    joined = rf"{letters}(?:(?:[.-]|_++){letters})*+"
    return re.compile(rf"({joined}(?:@(?=[\w-]++\.[^\W_]){joined})?+)")


_ASCII_WORD = _word(r"[A-Za-z0-9]++")
_WORD = _word(r"[^\W_]++")


@cache
def _word_with_marks() -> re.Pattern[str]:
    # Marks are no letters to `re`, but in many scripts they are half of a word. The first look spares the long way
    # through all of them at each plain end of a word.
    return _word(rf"[^\W_]++(?:(?=[^\x00-\u02ff])[{marks()}]++[^\W_]*+)*+")


def _parted(plain: str, *, known: Known) -> list[str]:
    """Gap, word, gap, word, …, gap: the words as they are written, and what stands between them."""
    shadow = _POSSESSIVE.sub(_CUT_POSSESSIVE, plain)
    if plain.isascii():
        return _ASCII_WORD.split(shadow)
    parts = (_WORD if set(plain).isdisjoint(marks()) else _word_with_marks()).split(shadow)
    return _recut(parts, known=known) if has_spaceless(plain) else parts


def _recut(parts: Sequence[str], *, known: Known) -> list[str]:
    """The same, with words of spaceless scripts cut; what is unknown there becomes part of a gap."""
    recut, gap = [], parts[0]
    for word, following in zip(parts[1::2], parts[2::2], strict=True):
        at = 0
        for start, end in cut(word, known):
            recut += [gap + word[at:start], word[start:end]]
            gap, at = "", end
        gap += word[at:] + following
    return [*recut, gap]


def _singles(parts: Sequence[str]) -> list[Token]:
    # Most of the time on a long text is spent here, so each step runs over the whole list at once.
    written = parts[1::2]
    places = list(accumulate(map(len, parts)))
    capitals = [word[0].isupper() for word in written]
    fields = zip(
        map(_folded, written), places[0::2], places[1::2], capitals, _sentence_starts(parts), strict=False
    )
    return list(map(partial(tuple.__new__, Token), fields))


def _sentence_starts(parts: Sequence[str]) -> list[bool]:
    starts = [True] * (len(parts) > 1) + [False] * (len(parts) // 2 - 1)
    for index, gap in enumerate(parts[2:-1:2], start=1):
        if gap != " ":
            starts[index] = ends_sentence(gap, parts[2 * index - 1], parts[2 * index + 1])
    return starts


def _folded(word: str) -> str:
    if word.isascii():
        return word.lower()
    while (once := unicodedata.normalize("NFKC", word.casefold())) != word:
        word = once
    return word
