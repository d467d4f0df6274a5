"""In which one form are characters read?

The same letter can be written as one character or as several, in full width or half, with characters between that
nobody sees. Here they get one form: Unicode's NFKC, without what is hidden. Time grows with the length of the text
alone. Case, quotes and spacing stay as they are: what else is taken for the same is left to those who compare.

Do two texts say the same in the same words?

Folding takes away what changes when a sentence is typed again: case, composed or decomposed letters, curly
or straight quotes, long or short dashes, spacing, characters that cannot be seen, and punctuation at the end.
Two texts with the same fold are one statement. What words mean, and which of them may be dropped, is left to
the rooms that compare meaning.
"""

import re
import unicodedata
from functools import cache

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
"""Characters that nobody sees: format characters (zero-width, bidirectional, tags, soft hyphen), controls that are
no space, variation selectors, and letters that are blank by definition."""

HIDDEN = frozenset(chr(code) for low, high in HIDDEN_RANGES for code in range(low, high + 1))

UNSEEN = str.maketrans(dict.fromkeys(HIDDEN))
"""What `str.translate` needs to leave out the hidden characters."""

ASCII_HIDDEN = re.compile(r"[\x00-\x08\x0e-\x1b\x7f]+")

_PLAIN = bytes([*range(0x09, 0x0E), *range(0x1C, 0x7F)])
"""The characters of ASCII that are seen, and its spaces."""

MARKS_IN_A_ROW = 30
"""More combining marks than any language puts on one letter (the Stream-Safe Text Format of Unicode, UAX 15):
sorting longer rows takes time by the square of their length."""

_SUSPICIOUS_ROW = 8
"""So many marks as they are written can be more than thirty once each is taken apart, those of the letter counted."""

_LAST_MARK = 0x1E94A
"""No combining mark stands beyond it but the variation selectors, which are hidden."""

_HALF_WIDTH_MARKS = "\uff9e\uff9f"
"""Letters by their category, marks once they are normalised."""


def normalize_text(text: str) -> str:
    """The text in one form; normalising it again changes nothing."""
    beyond = non_plain_characters(text)
    if _is_settled(beyond):
        return text
    seen = text if HIDDEN.isdisjoint(beyond) else text.translate(UNSEEN)
    return unicodedata.normalize("NFKC", limit_combining_marks(seen))


def non_plain_characters(text: str) -> str:
    """The characters of a text that are not plain ASCII, in their order.

    Most texts are plain but for a quotation mark or two: asking those alone saves most ways through the text.
    """
    data = text.encode("utf-8", "surrogatepass")
    return data.translate(None, _PLAIN).decode("utf-8", "surrogatepass")


def _is_settled(beyond: str) -> bool:
    """Whether a text with these characters beyond plain ones has its one form already.

    A mark could change the letter before it, which may be a plain one; all others only change what is among them.
    """
    return (
        HIDDEN.isdisjoint(beyond)
        and unicodedata.is_normalized("NFKC", beyond)
        and not any(_is_mark(character) for character in set(beyond))
    )


def limit_combining_marks(text: str) -> str:
    """The text without the marks beyond the thirtieth on one letter, whichever way its letters are composed.

    Hidden characters must be gone: they could stand between the marks and leave a tower behind.
    """
    if len(text) < _SUSPICIOUS_ROW or _movable().isdisjoint(text) or not _rows().search(text):
        return text
    apart = "".join(unicodedata.normalize("NFKD", character) for character in text)
    return _rows().sub(_shortened, apart)


@cache
def combining_marks() -> str:
    """Every combining mark, for a character class."""
    return "".join(character for character in map(chr, range(0x300, _LAST_MARK + 1)) if _is_mark(character))


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


@cache
def _movable() -> frozenset[str]:
    """The marks that Unicode sorts among their neighbours; the class of one may hide what it is made of."""
    return frozenset(
        mark
        for mark in combining_marks() + _HALF_WIDTH_MARKS
        if unicodedata.combining(unicodedata.normalize("NFKD", mark)[0]) > 0
    )


@cache
def _rows() -> re.Pattern[str]:
    # The first look spares plain characters the long way through all marks.
    return re.compile(rf"(?=[^\x00-\u02ff])[{''.join(_movable())}]{{{_SUSPICIOUS_ROW},}}")


def _shortened(row: re.Match[str]) -> str:
    # Unicode's own order, so that equal letters lose equal marks.
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
"""What takes the place of a character of the same meaning, or of none."""


def fold(text: str) -> str:
    """The text as it is compared; folding it again changes nothing."""
    plain = ASCII_HIDDEN.sub("", text).replace("`", "'")
    words = plain.lower().split() if plain.isascii() else _words(plain)
    spaced = " ".join(words)
    # A text of nothing but punctuation keeps it: "?" and "!" are not the same.
    return spaced.rstrip(END_PUNCTUATION + " ") or spaced


def _words(text: str) -> list[str]:
    """The words in one form. Most are plain even in a text that is not, and need little."""
    words = [word.lower() if word.isascii() else _in_one_form(word) for word in text.split()]
    # Some characters stand for a space and a mark, and some words for nothing.
    return " ".join(words).split()


def _in_one_form(word: str) -> str:
    word = limit_combining_marks(word.translate(UNSEEN))
    while (once := _nearer_to_one_form(word)) != word:
        # Taking one thing away can bring another to light, such as a mark that now joins the letter before it.
        word = once
    return word


def _nearer_to_one_form(word: str) -> str:
    # Composing first makes equal what is canonically equal; composing last repairs what case folding took apart.
    seen = unicodedata.normalize("NFC", word).translate(_STAND_INS)
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())
