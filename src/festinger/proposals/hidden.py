"""Which characters of a text does nobody see?

Control, zero-width and bidirectional characters can make a text read otherwise than it is. They fall out before a
text is compared, and wherever a person reads it they are shown by their number. Pure.
"""

import unicodedata

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co"})
_VARIATIONS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f")
"""Letters and marks that are drawn as nothing."""


def without_hidden(text: str) -> str:
    """The text as it looks: what ends a line or jumps to a column stays as a space."""
    return "".join(" " if char.isspace() else char for char in text if char.isspace() or not is_hidden(char))


def with_hidden_shown(text: str) -> str:
    """The text with every hidden character by its number, as `⟦U+202E⟧`; line ends stay."""
    return "".join(f"⟦U+{ord(char):04X}⟧" if is_hidden(char) and char != "\n" else char for char in text)


def is_hidden(char: str) -> bool:
    return (
        unicodedata.category(char) in _UNSEEN
        or char in _FILLERS
        or any(ord(char) in variations for variations in _VARIATIONS)
    )


def storable(text: str) -> str:
    """The text as a database can hold it: what no text may have is marked as lost."""
    return "".join("\ufffd" if char == "\x00" or "\ud800" <= char <= "\udfff" else char for char in text)
