"""Which cue begins at a word?

The longest one of the table. A form of `be` may have adverbs behind it, and the noun that follows it may itself
only lead on to what is meant: `is a rare kind of`, `is an important part of`. What a cue says is told by
`patterns`; the things that it joins are left to `operands`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from festinger.text.asserted import Reading
from festinger.text.operands import LABELS, behind_quantifiers, is_blank, phrase_after
from festinger.text.patterns import (
    AFTER_BE,
    ALONE,
    ARTICLES,
    COLLECTIVE,
    FORMS_OF_BE,
    KEYWORDS,
    LOOSE,
    MEMBERSHIP,
    PARTS,
    TYPE,
    Pattern,
)
from festinger.text.words import words

_KINDS = words("kinds") | {"instance"}
_GATHERINGS = words("gatherings")
_COLLECTIVES = words("collectives")
_ADVERBS = words("adverbs")

HEADS = frozenset(FORMS_OF_BE) | {"isa", "ispart"} | {phrase[0] for phrase in ALONE} | _COLLECTIVES
"""Words that a cue can begin with."""

_BEGINNINGS = frozenset(phrase[0] for phrase in (*ALONE, *AFTER_BE))

_MOST_ADVERBS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A cue in a text: its pattern, its first token, and where its object begins."""

    pattern: Pattern
    first: int
    start: int


def match_at(reading: Reading, index: int) -> Match | None:
    """The longest cue that begins at a token."""
    token = reading.tokens[index]
    if token.text in FORMS_OF_BE:
        found = after_be(reading, index + 1, most=FORMS_OF_BE[token.text], name=token.text)
        return found and replace(found, first=index)
    if keyword := KEYWORDS.get(reading.text[token.start : token.end]):
        return Match(pattern=keyword, first=index, start=index + 1)
    if found := _phrase(reading, index, ALONE):
        return _led_on(reading, found) if found.pattern.is_isa else found
    if token.text in _COLLECTIVES and _is(reading, index + 1, "of"):
        return Match(pattern=COLLECTIVE, first=index, start=index + 2)
    return None


def after_be(reading: Reading, index: int, *, most: float, name: str) -> Match | None:
    """The cue whose words after a form of `be` begin at a token."""
    for _ in range(_MOST_ADVERBS):
        if (
            index < len(reading.tokens)
            and reading.tokens[index].text in _ADVERBS
            and is_blank(reading.gap(index))
        ):
            index += 1
    found = _phrase(reading, index, AFTER_BE) or _article(reading, index)
    if found is None:
        return None
    if found.pattern.is_isa:
        found = _led_on(reading, found)
    pattern = found.pattern
    named = replace(pattern, name=f"{name} {pattern.name}", confidence=min(pattern.confidence, most))
    return replace(found, pattern=named)


def _article(reading: Reading, index: int) -> Match | None:
    if index >= len(reading.tokens) or not is_blank(reading.gap(index)):
        return None
    word = reading.tokens[index].text
    if word not in _BEFORE_NOUNS:
        return None
    if word in ARTICLES and not any(_are(reading, index, picked) for picked in _PICKED):
        pattern = Pattern(name=word, is_isa=True, dimension=TYPE, confidence=ARTICLES[word])
        return _led_on(reading, Match(pattern=pattern, first=index, start=index + 1))
    for picked in _PICKED:
        if _are(reading, index, picked):
            pattern = Pattern(name=" ".join(picked), is_isa=True, dimension=TYPE, confidence=LOOSE)
            start = behind_quantifiers(reading, index + len(picked))
            return _led_on(reading, Match(pattern=pattern, first=index, start=start))
    return None


_PICKED = (("any", "one", "of"), ("any", "of"), ("one", "of"))
"""Words that pick one of many."""

_BEFORE_NOUNS = frozenset(ARTICLES) | {picked[0] for picked in _PICKED}


def _led_on(reading: Reading, match: Match) -> Match:
    """The match behind a noun that only leads on: `kind of`, `part of`, `term for`."""
    phrase = phrase_after(reading, match.start)
    if not phrase:
        return match
    noun = reading.tokens[phrase[-1]].text
    for link in _LINKS if noun in LABELS else (("of",),):
        if _are(reading, phrase[-1] + 1, link):
            behind = phrase[-1] + 1 + len(link)
            return _behind(reading, match, behind, said=f"{noun} {' '.join(link)}")
    return match


_LINKS = (("for",), ("used", "for"), ("used", "to", "describe"), ("used", "to", "refer", "to"))
"""What may stand between a noun for words and the thing that is meant."""


def _behind(reading: Reading, match: Match, start: int, *, said: str) -> Match:
    noun, link = said.split(" ", maxsplit=1)
    further = replace(match, pattern=replace(match.pattern, name=f"{match.pattern.name} {said}"), start=start)
    if noun in PARTS:
        return replace(further, pattern=replace(further.pattern, is_isa=False, dimension=MEMBERSHIP))
    if noun in _KINDS or link != "of" or (noun in _GATHERINGS and not _is_name_after(reading, start)):
        return _led_on(reading, replace(further, start=behind_quantifiers(reading, start)))
    return match


def _is_name_after(reading: Reading, start: int) -> bool:
    phrase = phrase_after(reading, start)
    return bool(phrase) and reading.tokens[phrase[-1]].capital


def _phrase(reading: Reading, index: int, table: Mapping[tuple[str, ...], Pattern]) -> Match | None:
    if index >= len(reading.tokens) or reading.tokens[index].text not in _BEGINNINGS:
        return None
    for length in (3, 2, 1):
        phrase = tuple(token.text for token in reading.tokens[index : index + length])
        gaps = range(index + 1, index + len(phrase))
        if (pattern := table.get(phrase)) and all(is_blank(reading.gap(at)) for at in gaps):
            return Match(pattern=pattern, first=index, start=index + len(phrase))
    return None


def _are(reading: Reading, index: int, wanted: tuple[str, ...]) -> bool:
    return all(_is(reading, index + at, word) for at, word in enumerate(wanted))


def _is(reading: Reading, index: int, word: str) -> bool:
    return index < len(reading.tokens) and reading.tokens[index].text == word and is_blank(reading.gap(index))
