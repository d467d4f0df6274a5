"""Normalizes characters and folds text for comparison.

The same letter can be written as one character or several, in full or half width, with invisible characters
in between. `normalize_text` applies NFKC without hidden characters and keeps case, quotes and spacing. `fold`
also removes what changes when a sentence is retyped: case, quote and dash styles, spacing and final
punctuation; two texts with the same fold are one statement. Time is linear in the length of the text.
"""

import re
import unicodedata
from functools import cache
from hashlib import sha256

HIDDEN_RANGES = (
    (0x0, 0x8),
    (0xE, 0x1B),
    (0x7F, 0x84),
    (0x86, 0x9F),
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x600, 0x605),
    (0x61C, 0x61C),
    (0x6DD, 0x6DD),
    (0x70F, 0x70F),
    (0x890, 0x891),
    (0x8E2, 0x8E2),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180E),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x2064),
    (0x2066, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF9, 0xFFFB),
    (0x110BD, 0x110BD),
    (0x110CD, 0x110CD),
    (0x13430, 0x13438),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0001, 0xE0001),
    (0xE0020, 0xE007F),
    (0xE0100, 0xE01EF),
)
"""Invisible characters: format characters (zero-width, bidirectional, tags, soft hyphen), non-space controls,
variation selectors, and letters that are blank by definition."""

HIDDEN = frozenset(chr(code) for low, high in HIDDEN_RANGES for code in range(low, high + 1))

UNSEEN = str.maketrans(dict.fromkeys(HIDDEN))
"""Table for `str.translate` that removes the hidden characters."""

ASCII_HIDDEN = re.compile(r"[\x00-\x08\x0e-\x1b\x7f]+")

_PLAIN = bytes([*range(0x09, 0x0E), *range(0x1C, 0x7F)])
"""The visible characters of ASCII, and its spaces."""

MARKS_IN_A_ROW = 30
"""More combining marks than any language puts on one letter (Unicode's Stream-Safe Text Format, UAX 15):
sorting longer runs takes quadratic time."""

_SUSPICIOUS_ROW = 8
"""This many marks as written can be more than thirty once decomposed, including those of the letter."""

_LAST_MARK = 0x1E94A
"""No combining mark is beyond it except the variation selectors, which are hidden."""

_HALF_WIDTH_MARKS = "\uff9e\uff9f"
"""Letters by category, but marks once normalized."""


def normalize_text(text: str) -> str:
    """Return the text in normal form; normalizing it again changes nothing."""
    beyond = non_plain_characters(text)
    if _is_settled(beyond):
        return text
    seen = text if HIDDEN.isdisjoint(beyond) else text.translate(UNSEEN)
    return unicodedata.normalize("NFKC", limit_combining_marks(seen))


def non_plain_characters(text: str) -> str:
    """Return the characters that are not plain ASCII, in order.

    Most texts are plain except for a few quotation marks: checking only those saves most passes over the
    text.
    """
    data = text.encode("utf-8", "surrogatepass")
    return data.translate(None, _PLAIN).decode("utf-8", "surrogatepass")


def _is_settled(beyond: str) -> bool:
    """Return whether a text with these non-plain characters is already in normal form.

    A mark could change the letter before it, which may be plain; all others only affect each other.
    """
    return (
        HIDDEN.isdisjoint(beyond)
        and unicodedata.is_normalized("NFKC", beyond)
        and not any(is_mark(character) for character in set(beyond))
    )


def limit_combining_marks(text: str) -> str:
    """Remove the marks beyond the thirtieth on one letter, however its letters are composed.

    Hidden characters must be gone already: between the marks, they could leave a tower of marks behind.
    """
    if len(text) < _SUSPICIOUS_ROW or _reorderable_marks().isdisjoint(text) or not _rows().search(text):
        return text
    apart = "".join(unicodedata.normalize("NFKD", character) for character in text)
    return _rows().sub(_limit_mark_run, apart)


@cache
def combining_marks() -> str:
    """Return every combining mark, for a character class."""
    return "".join(character for character in map(chr, range(0x300, _LAST_MARK + 1)) if is_mark(character))


def is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


@cache
def _reorderable_marks() -> frozenset[str]:
    """Return the marks that Unicode reorders; the class of a composed mark may hide what it is made of."""
    return frozenset(
        mark
        for mark in combining_marks() + _HALF_WIDTH_MARKS
        if unicodedata.combining(unicodedata.normalize("NFKD", mark)[0]) > 0
    )


@cache
def _rows() -> re.Pattern[str]:
    # The lookahead lets plain characters skip the long class of marks.
    return re.compile(rf"(?=[^\x00-\u02ff])[{''.join(_reorderable_marks())}]{{{_SUSPICIOUS_ROW},}}")


def _limit_mark_run(row: re.Match[str]) -> str:
    # Unicode's canonical order, so that equal letters lose equal marks.
    return "".join(sorted(row.group(), key=unicodedata.combining)[:MARKS_IN_A_ROW])


SINGLE_QUOTES = "‘’‚‛‹›ʼʻ′‵`´＇"
DOUBLE_QUOTES = "“”„‟«»″‶〝〞＂"
DASHES = "‐‑‒–—―−⁃﹘﹣－⸺⸻"
END_PUNCTUATION = ".,;:!?…‥‽¡¿、。।؟؛،。"

_STAND_INS = str.maketrans(
    {
        **dict.fromkeys(SINGLE_QUOTES, "'"),
        **dict.fromkeys(DOUBLE_QUOTES, '"'),
        **dict.fromkeys(DASHES, "-"),
        **dict.fromkeys(HIDDEN, None),
    }
)
"""Replaces a character by its equivalent, or removes it."""


def fold(text: str) -> str:
    """Return the text in the form used for comparison; folding it again changes nothing."""
    plain = ASCII_HIDDEN.sub("", text).replace("`", "'")
    words = plain.lower().split() if plain.isascii() else _words(plain)
    spaced = " ".join(words)
    # A text of nothing but punctuation keeps it: "?" and "!" are different.
    return spaced.rstrip(END_PUNCTUATION + " ") or spaced


def _words(text: str) -> list[str]:
    """Return the folded words. Most are ASCII even in a text that is not, and are cheap."""
    words = [word.lower() if word.isascii() else _fold_word(word) for word in text.split()]
    # Some characters expand to a space and a mark, and some words to nothing.
    return " ".join(words).split()


def _fold_word(word: str) -> str:
    word = limit_combining_marks(word.translate(UNSEEN))
    while (once := _fold_word_once(word)) != word:
        # Removing one thing can expose another, such as a mark that now joins the letter before it.
        word = once
    return word


def _fold_word_once(word: str) -> str:
    # Composing first unifies canonical equivalents; composing last repairs what case folding split.
    seen = unicodedata.normalize("NFC", word).translate(_STAND_INS)
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())


def exact_hash(text: str) -> bytes:
    """Hash the text as it is, to tell whether what was derived from it is stale."""
    return sha256(text.encode()).digest()
