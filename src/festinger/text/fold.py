"""Do two texts say the same in the same words?

Folding takes away what changes when a sentence is typed again: case, composed or decomposed letters, curly
or straight quotes, long or short dashes, spacing, characters that cannot be seen, and punctuation at the end.
Two texts with the same fold are one statement. What words mean, and which of them may be dropped, is left to
the rooms that compare meaning.
"""

import unicodedata

from festinger.text.normal import ASCII_HIDDEN, HIDDEN, UNSEEN, without_towers

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
    word = without_towers(word.translate(UNSEEN))
    while (once := _nearer_to_one_form(word)) != word:
        # Taking one thing away can bring another to light, such as a mark that now joins the letter before it.
        word = once
    return word


def _nearer_to_one_form(word: str) -> str:
    # Composing first makes equal what is canonically equal; composing last repairs what case folding took apart.
    seen = unicodedata.normalize("NFC", word).translate(_STAND_INS)
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())
