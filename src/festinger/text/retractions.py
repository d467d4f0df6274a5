"""Which statements does a text take back?

`X is not a Y` and `X is no longer part of Y` deny what may have been learnt before. They are read with the cues that
they deny; whether the denied triple stands, and what becomes of it, is left to `world`.
"""

from collections.abc import Container, Sequence
from dataclasses import replace

from festinger.text.asserted import Reading
from festinger.text.compounds import Token
from festinger.text.cues import Cue, read
from festinger.text.matching import Match, after_be, match_at
from festinger.text.normal import normalised
from festinger.text.operands import IsCommon, is_blank
from festinger.text.patterns import FORMS_OF_BE, PHRASE
from festinger.text.vocabulary import is_common as is_common_english

_VERBS = frozenset({"belongs to", "belong to", "runs on"})
_APOSTROPHES = ("'", "’")


def retractions(
    text: str,
    tokens: Sequence[Token],
    *,
    dimensions: Container[str] = (),
    is_common: IsCommon = is_common_english,
) -> list[Cue]:
    """The triples that a text denies, each as the cue that would have said it."""
    reading = Reading(text=normalised(text), tokens=tokens)
    found: list[Cue] = []
    free = 0
    for index, token in enumerate(tokens):
        if index < free or token.text not in _HEADS or not (match := _denial_at(reading, index)):
            continue
        if reading.is_said(index, denial_counts=False):
            taken = read(reading, match, free=free, dimensions=dimensions, is_common=is_common)
            found += taken.cues
            free = taken.until
    return found


_CUT_SHORT = {"isn": "is", "aren": "are"}
_HEADS = frozenset({"is", "are", "no", *_CUT_SHORT})


def _denial_at(reading: Reading, index: int) -> Match | None:
    """The denied cue that begins at a token: `is not a`, `is no longer part of`, `no longer runs on`."""
    word = reading.tokens[index].text
    if word == "no":
        return _verb(reading, index)
    behind = _behind_denial(reading, index + 1, cut_short=word in _CUT_SHORT)
    be = _CUT_SHORT.get(word, word)
    found = after_be(reading, behind, most=FORMS_OF_BE[be], name=f"{be} not") if behind else None
    return found and replace(found, first=index)


def _verb(reading: Reading, index: int) -> Match | None:
    if not _are_words(reading, index + 1, "longer") or index + 2 >= len(reading.tokens):
        return None
    found = match_at(reading, index + 2)
    if found is None or found.pattern.name not in _VERBS:
        return None
    pattern = replace(found.pattern, name=f"no longer {found.pattern.name}", confidence=PHRASE)
    return replace(found, pattern=pattern, first=index)


def _behind_denial(reading: Reading, index: int, *, cut_short: bool) -> int | None:
    """The token after the denying words that begin at `index`."""
    if cut_short:
        denies = index < len(reading.tokens) and reading.tokens[index].text == "t"
        return index + 1 if denies and reading.gap(index) in _APOSTROPHES else None
    if _are_words(reading, index, "not"):
        return index + 1
    return index + 2 if _are_words(reading, index, "no", "longer") else None


def _are_words(reading: Reading, index: int, *wanted: str) -> bool:
    found = [token.text for token in reading.tokens[index : index + len(wanted)]]
    return found == list(wanted) and all(is_blank(reading.gap(index + at)) for at in range(len(wanted)))
