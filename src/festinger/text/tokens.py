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
from itertools import accumulate, compress, count

from festinger.text.compounds import Cut, Known, Token, names
from festinger.text.normal import beyond_plain, marks, normalised
from festinger.text.scripts import cut, has_spaceless
from festinger.text.sentences import ends_sentence, may_end_sentence
from festinger.text.words import FUNCTION_WORDS

__all__ = ["Known", "Token", "content", "token_texts", "tokens"]

_POSSESSIVE = re.compile(r"['’ʼ](?<=\w.)[sS](?!\w)")
"""The mark first, so that the search leaps from mark to mark, and then what stands before it."""
_CUT_POSSESSIVE = "''"
"""As long as what it replaces, so that no place moves."""


def _nothing(token: str) -> bool:
    return False


def tokens(text: str, known: Known = _nothing) -> list[Token]:
    """The tokens of any text; `known` answers whether a token is in the vocabulary."""
    pieces = _cut(text, known=known)
    single, at = _singles(pieces), 0
    found: list[Token] = []
    for first, last, name in names(pieces, known=known):
        found += single[at:first]
        found.append(single[first]._replace(text=name, end=single[last].end))
        at = last + 1
    return found + single[at:]


def token_texts(text: str, known: Known = _nothing) -> list[str]:
    """The same tokens without their places, in a third of the time."""
    pieces = _cut(text, known=known)
    found: list[str] = []
    at = 0
    for first, last, name in names(pieces, known=known):
        found += pieces.folded[at:first]
        found.append(name)
        at = last + 1
    return [*found, *pieces.folded[at:]]


def content(found: Iterable[Token], *, min_chars: int = 1) -> list[Token]:
    """The tokens that name something."""
    return [token for token in found if token.text not in FUNCTION_WORDS and len(token.text) >= min_chars]


def _cut(text: str, *, known: Known) -> Cut:
    parts = _parted(normalised(text), known=known)
    written = parts[1::2]
    # A long text has few words over and over.
    forms = {word: word.lower() if word.isascii() else _folded(word) for word in set(written)}
    capitals = {word for word in forms if word[0].isupper()}
    return Cut(parts, [forms[word] for word in written], [word in capitals for word in written])


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
    beyond = set(beyond_plain(plain))
    parts = _word_of(beyond).split(shadow)
    return _recut(parts, known=known) if has_spaceless(beyond) else parts


def _word_of(beyond: set[str]) -> re.Pattern[str]:
    """What a word is in a text with these characters beyond plain ones."""
    if not beyond.isdisjoint(marks()):
        return _word_with_marks()
    return _WORD if any(map(str.isalnum, beyond)) else _ASCII_WORD


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


def _singles(pieces: Cut) -> list[Token]:
    # Most of the time on a long text is spent here, so each step runs over the whole list at once.
    places = list(accumulate(map(len, pieces.parts)))
    starts = _sentence_starts(pieces.parts)
    fields = zip(pieces.folded, places[0::2], places[1::2], pieces.capital, starts, strict=False)
    return list(map(partial(tuple.__new__, Token), fields))


def _sentence_starts(parts: Sequence[str]) -> list[bool]:
    gaps = parts[2:-1:2]
    endings = {gap for gap in set(gaps) if may_end_sentence(gap)}
    starts = [True, *[gap in endings for gap in gaps]]
    for index in compress(count(1), starts[1:]):
        starts[index] = ends_sentence(gaps[index - 1], parts[2 * index - 1], parts[2 * index + 1])
    return starts


def _folded(word: str) -> str:
    while (once := unicodedata.normalize("NFKC", word.casefold())) != word:
        word = once
    return word
