"""Do two texts say the same in the same words?

Folding takes away what changes when a sentence is typed again: case, composed or decomposed letters, curly
or straight quotes, long or short dashes, spacing, characters that cannot be seen, and punctuation at the end.
Two texts with the same fold are one statement. What words mean, and which of them may be dropped, is left to
the rooms that compare meaning.
"""

import re
import unicodedata

SINGLE_QUOTES = "‘’‚‛‹›ʼʻ′‵`´＇"
DOUBLE_QUOTES = "“”„‟«»″‶〝〞＂"
DASHES = "‐‑‒–—―−⁃﹘﹣－⸺⸻"
END_PUNCTUATION = ".,;:!?…‥‽¡¿、。।؟؛،。"

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

_STAND_INS = str.maketrans(
    {
        **dict.fromkeys(SINGLE_QUOTES, "'"),
        **dict.fromkeys(DOUBLE_QUOTES, '"'),
        **dict.fromkeys(DASHES, "-"),
        **dict.fromkeys(HIDDEN, None),
    }
)
"""What takes the place of a character of the same meaning, or of none."""

_ASCII_HIDDEN = re.compile(r"[\x00-\x08\x0e-\x1b\x7f]+")

MARKS_IN_A_ROW = 30
"""More combining marks than any language puts on one letter (the Stream-Safe Text Format of Unicode, UAX 15):
sorting longer rows takes time by the square of their length."""


def fold(text: str) -> str:
    """The text as it is compared; folding it again changes nothing."""
    plain = _ASCII_HIDDEN.sub("", text).replace("`", "'")
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
    word = _without_towers(word)
    while (once := _nearer_to_one_form(word)) != word:
        # Taking one thing away can bring another to light, such as a mark that now joins the letter before it.
        word = once
    return word


def _nearer_to_one_form(word: str) -> str:
    # Composing first makes equal what is canonically equal; composing last repairs what case folding took apart.
    seen = unicodedata.normalize("NFC", word).translate(_STAND_INS)
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())


def _without_towers(word: str) -> str:
    """The word without the marks that stand beyond the thirtieth on one letter."""
    if len(word) <= MARKS_IN_A_ROW:
        return word
    kept, height = [], 0
    for character in word.translate(_STAND_INS):
        height = height + 1 if unicodedata.combining(character) else 0
        if height <= MARKS_IN_A_ROW:
            kept.append(character)
    return "".join(kept)
