"""Splits text into word tokens and joins multi-word names.

One tokenizer for everything that is read, in linear time. `start` and `end` are offsets in
`normalize_text(text)`, not in the original. Two to five capitalized words in a row are one name (`Glitch
University` → `glitch_university`); anything but blanks between words ends a name, and a first word that only
opens the sentence is left out. Scripts without spaces (Han, Kana, Hangul, Thai, Khmer, Lao) are searched left
to right for the longest known piece; the rest of such a run is no word, since splitting it would require
knowing the language.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import accumulate, compress, count
from typing import NamedTuple

from festinger.text.normalize import combining_marks, is_mark, non_plain_characters, normalize_text
from festinger.text.words import FUNCTION_WORDS, ends_sentence, has_line_break, load_words, may_end_sentence

LONGEST = 5
"""Words of a name; more in a row are mostly a title with decorative capitals."""

KEYWORDS = frozenset({"I", "ISA", "ISPART"})
"""Capitalized words that name nothing."""

_OPENERS = FUNCTION_WORDS | load_words("openers")
_HASHES = re.compile(r"(^|\n) {0,3}#{1,6}[ \t]{1,4}\Z")
_ALONE = re.compile(r"[ \t#*_]*(\n|\Z)")
_UNDERLINED = re.compile(r"[ \t]*\n {0,3}(?:===|---)")

Known = Callable[[str], bool]


class Token(NamedTuple):
    """A normalized word, or a multi-word name joined by `_`.

    `start` and `end` are offsets in the normalized text; `capital` is whether it begins with a capital there.
    """

    text: str
    start: int
    end: int
    capital: bool
    sentence_start: bool


class SplitText(NamedTuple):
    """A text as gap, word, gap, word, …, gap, with each word's normalized form and capitalization."""

    parts: Sequence[str]
    folded: Sequence[str]
    capital: Sequence[bool]

    def written(self, index: int) -> str:
        return self.parts[2 * index + 1]

    def before(self, index: int) -> str:
        """Return the gap before a word; after the last word, the end of the text."""
        return self.parts[2 * index]

    def starts_sentence(self, index: int) -> bool:
        gap = self.before(index)
        if index == 0 or gap == " ":
            return index == 0
        return ends_sentence(gap, self.written(index - 1), self.written(index))


class Name(NamedTuple):
    """First and last word of a name, and its joined form."""

    first: int
    last: int
    text: str


def find_multiword_names(cut: SplitText, *, known: Known) -> Iterator[Name]:
    """Yield the multi-word names, in order."""
    for first, last in _runs(cut):
        opens = _is_sentence_opener(cut, first, last, known=known)
        if (name := _name(cut, first + opens, last, known=known)) is not None:
            yield name


def _runs(cut: SplitText) -> Iterator[tuple[int, int]]:
    """Yield first and last of each run of two or more words that may be one name."""
    first = last = -1
    for index in compress(count(), cut.capital):
        if index == last + 1 and last >= 0 and _may_be_one_name(cut, last, index):
            last = index
            continue
        if last > first:
            yield first, last
        first = last = index
    if last > first:
        yield first, last


def _may_be_one_name(cut: SplitText, one: int, other: int) -> bool:
    """Return whether a word and the next one may belong to one name."""
    gap = cut.before(other)
    if gap != " " and (not gap.isspace() or has_line_break(gap)):
        return False
    return KEYWORDS.isdisjoint((cut.written(one), cut.written(other)))


def _is_sentence_opener(cut: SplitText, first: int, last: int, *, known: Known) -> bool:
    """Return whether the first word belongs to the sentence and not to the name."""
    if not cut.starts_sentence(first):
        return False
    if cut.folded[first] in _OPENERS:
        return True
    return known(_joined(cut, first + 1, last)) and not known(_joined(cut, first, last))


def _name(cut: SplitText, first: int, last: int, *, known: Known) -> Name | None:
    if first == last or FUNCTION_WORDS.issuperset(cut.folded[first : last + 1]):
        return None
    text = _joined(cut, first, last)
    for_show = last - first >= LONGEST or _fills_heading(cut, first, last)
    return None if for_show and not known(text) else Name(first, last, text)


def _joined(cut: SplitText, first: int, last: int) -> str:
    return "_".join(cut.folded[first : last + 1])


def _fills_heading(cut: SplitText, first: int, last: int) -> bool:
    before, after = cut.before(first), cut.before(last + 1)
    if before == " ":
        return False
    if (hashes := _HASHES.search(before)) and (hashes[1] or first == 0):
        alone = _ALONE.match(after)
        return alone is not None and bool(alone[1] or last + 1 == len(cut.folded))
    opens_line = before.endswith("\n") or (first == 0 and not before)
    return opens_line and _UNDERLINED.match(after) is not None


WINDOW = 16
"""The longest piece that is looked up, in characters."""

_SPACELESS = (
    "\u0e00-\u0e7f"  # Thai
    "\u0e80-\u0eff"  # Lao
    "\u1780-\u17ff\u19e0-\u19ff"  # Khmer
    "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"  # Hangul
    "\u3041-\u30ff\u31f0-\u31ff\U0001b000-\U0001b16f"  # Kana
    "\u3005\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
)

_JOINERS = "._-@"
_RUN = re.compile(f"([{_SPACELESS}]+)")


def has_spaceless_script(characters: Iterable[str]) -> bool:
    """Return whether any character belongs to a script without spaces."""
    return _RUN.search("".join(characters)) is not None


def split_spaceless(word: str, known: Known) -> Iterator[tuple[int, int]]:
    """Yield the spans of words in `word`: known pieces of its spaceless runs, and what is between them."""
    if word.isascii():
        yield 0, len(word)
        return
    start = 0
    for index, piece in enumerate(_RUN.split(word)):
        end = start + len(piece)
        if index % 2:
            yield from _known_pieces(word, start, end, known=known)
        elif trimmed := piece.rstrip(_JOINERS).lstrip(_JOINERS + combining_marks()):
            first = start + piece.index(trimmed)
            yield first, first + len(trimmed)
        start = end


def _known_pieces(word: str, start: int, end: int, *, known: Known) -> Iterator[tuple[int, int]]:
    while start < end:
        # A mark belongs to the letter before it, so no word begins with one.
        longest = min(end, start + WINDOW) if word[start].isalnum() else start
        for stop in range(longest, start, -1):
            if known(word[start:stop]):
                yield start, stop
                start = stop
                break
        else:
            start += 1


_POSSESSIVE = re.compile(r"['’ʼ](?<=\w.)[sS](?!\w)")
"""The apostrophe first, so that the search jumps from one to the next before it checks what precedes it."""
_CUT_POSSESSIVE = "''"
"""As long as what it replaces, so that offsets do not move."""


def _is_never_known(token: str) -> bool:
    return False


def tokenize(text: str, known: Known = _is_never_known) -> list[Token]:
    """Return the tokens of any text; `known` returns whether a token is in the vocabulary."""
    pieces = _cut(text, known=known)
    single, at = _build_single_tokens(pieces), 0
    found: list[Token] = []
    for first, last, name in find_multiword_names(pieces, known=known):
        found += single[at:first]
        found.append(single[first]._replace(text=name, end=single[last].end))
        at = last + 1
    return found + single[at:]


def token_texts(text: str, known: Known = _is_never_known) -> list[str]:
    """Return only the texts of the tokens, in a third of the time."""
    pieces = _cut(text, known=known)
    found: list[str] = []
    at = 0
    for first, last, name in find_multiword_names(pieces, known=known):
        found += pieces.folded[at:first]
        found.append(name)
        at = last + 1
    return [*found, *pieces.folded[at:]]


def content_tokens(found: Iterable[Token], *, min_chars: int = 1) -> list[Token]:
    """Return the tokens that are no function words."""
    return [token for token in found if token.text not in FUNCTION_WORDS and len(token.text) >= min_chars]


def _cut(text: str, *, known: Known) -> SplitText:
    parts = _split_parts(normalize_text(text), known=known)
    written = parts[1::2]
    # A long text repeats few distinct words.
    forms = {word: word.lower() if word.isascii() else _fold_token(word) for word in set(written)}
    capitals = {word for word in forms if word[0].isupper()}
    return SplitText(parts, [forms[word] for word in written], [word in capitals for word in written])


def _word(letters: str) -> re.Pattern[str]:
    """Match letters and digits joined by single inner marks; an e-mail address is one. No backtracking."""
    joined = rf"{letters}(?:(?:[.-]|_++){letters})*+"
    return re.compile(rf"({joined}(?:@(?=[\w-]++\.[^\W_]){joined})?+)")


_ASCII_WORD = _word(r"[A-Za-z0-9]++")
_WORD = _word(r"[^\W_]++")


@cache
def _word_with_marks() -> re.Pattern[str]:
    # To `re`, marks are no letters, but in many scripts they are half of a word. The lookahead avoids
    # scanning all of them at each plain end of a word.
    return _word(rf"[^\W_]++(?:(?=[^\x00-\u02ff])[{combining_marks()}]++[^\W_]*+)*+")


def _split_parts(plain: str, *, known: Known) -> list[str]:
    """Split into gap, word, gap, word, …, gap, as written."""
    shadow = _POSSESSIVE.sub(_CUT_POSSESSIVE, plain)
    beyond = set(non_plain_characters(plain))
    parts = _word_pattern_for(beyond).split(shadow)
    return _split_spaceless_words(parts, known=known) if has_spaceless_script(beyond) else parts


def _word_pattern_for(beyond: set[str]) -> re.Pattern[str]:
    """Return the word pattern for a text with these non-plain characters."""
    if any(map(is_mark, beyond)):
        return _word_with_marks()
    return _WORD if any(map(str.isalnum, beyond)) else _ASCII_WORD


def _split_spaceless_words(parts: Sequence[str], *, known: Known) -> list[str]:
    """Split words of spaceless scripts too; what is unknown there becomes part of a gap."""
    recut, gap = [], parts[0]
    for word, following in zip(parts[1::2], parts[2::2], strict=True):
        at = 0
        for start, end in split_spaceless(word, known):
            recut += [gap + word[at:start], word[start:end]]
            gap, at = "", end
        gap += word[at:] + following
    return [*recut, gap]


def _build_single_tokens(pieces: SplitText) -> list[Token]:
    # This dominates the time on long texts, so each step runs over the whole list at once.
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


def _fold_token(word: str) -> str:
    while (once := unicodedata.normalize("NFKC", word.casefold())) != word:
        word = once
    return word


def to_single_token(text: str) -> str:
    """Return some words as one token; several count as one name."""
    return "_".join(token.text for token in tokenize(text)) or text
