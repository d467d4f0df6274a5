"""Which hits fit into so many tokens?

In their order: whole if they fit, else in their short form, else not, and the next is tried. None is cut in the middle.
"""

from collections.abc import Sequence

from festinger.text.budget import count_tokens

Texts = tuple[str, str | None]
"""What a hit says, and the same in short, if there is a short form."""


def packed(hits: Sequence[Texts], *, tokens: int | None, limit: int) -> list[tuple[int, str]]:
    """Which of the hits are shown, and as which text."""
    shown: list[tuple[int, str]] = []
    left = tokens
    for place, (whole, short) in enumerate(hits):
        if len(shown) == limit:
            break
        for text in (whole, short):
            if text is None:
                continue
            cost = 0 if left is None else count_tokens(text)
            if left is None or cost <= left:
                shown.append((place, text))
                left = None if left is None else left - cost
                break
    return shown
