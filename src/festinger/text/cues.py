"""Extracts explicit statements about what things are or are part of, and their retractions.

A cue is a phrase such as `is a` or `owned by` between two things. The scanner goes through the tokens once
and takes the longest cue at each position; a token that was an object cannot be a subject again. A form of
`be` may be followed by adverbs, and the noun after it may only lead on to what is meant (`is a rare kind
of`). Only what the writer asserts counts. `X is not a Y` and `X is no longer part of Y` are read with the
cues that they deny. Whether a triple is new, wrong or worth keeping is decided in `world`.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from festinger.text.assertion import AnnotatedText
from festinger.text.normalize import normalize_text
from festinger.text.operands import (
    AFTER_BE,
    ALONE,
    ARTICLES,
    COLLECTIVE,
    FORMS_OF_BE,
    KEYWORDS,
    LABELS,
    LOOSE,
    MEMBERSHIP,
    OWN,
    PARTS,
    PHRASE,
    SEVERAL_WORDS,
    TYPE,
    CuePattern,
    IsCommon,
    Operand,
    dimension_after,
    is_blank,
    noun_phrase_after,
    object_after,
    part_after,
    skip_quantifiers,
    subjects_before,
    whole_at,
)
from festinger.text.tokens import Token
from festinger.text.vocabulary import is_common as is_common_english
from festinger.text.words import load_words

_KINDS = load_words("kinds") | {"instance"}
_GATHERINGS = load_words("gatherings")
_COLLECTIVES = load_words("collectives")
_ADVERBS = load_words("adverbs")

HEADS = frozenset(FORMS_OF_BE) | {"isa", "ispart"} | {phrase[0] for phrase in ALONE} | _COLLECTIVES
"""Words that a cue can begin with."""

_BEGINNINGS = frozenset(phrase[0] for phrase in (*ALONE, *AFTER_BE))

_MOST_ADVERBS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CueMatch:
    """A cue in a text: its pattern, its first token, and where its object begins."""

    pattern: CuePattern
    first: int
    start: int


def match_cue_at(reading: AnnotatedText, index: int) -> CueMatch | None:
    """Return the longest cue that begins at a token."""
    token = reading.tokens[index]
    if token.text in FORMS_OF_BE:
        found = match_cue_after_be(reading, index + 1, most=FORMS_OF_BE[token.text], name=token.text)
        return found and replace(found, first=index)
    if keyword := KEYWORDS.get(reading.text[token.start : token.end]):
        return CueMatch(pattern=keyword, first=index, start=index + 1)
    if found := _match_phrase(reading, index, ALONE):
        return _skip_leading_noun(reading, found) if found.pattern.is_isa else found
    if token.text in _COLLECTIVES and _is_adjacent_word(reading, index + 1, "of"):
        return CueMatch(pattern=COLLECTIVE, first=index, start=index + 2)
    return None


def match_cue_after_be(reading: AnnotatedText, index: int, *, most: float, name: str) -> CueMatch | None:
    """Return the cue whose words after a form of `be` begin at a token."""
    for _ in range(_MOST_ADVERBS):
        if index < len(reading.tokens) and reading.tokens[index].text in _ADVERBS and is_blank(reading.gap(index)):
            index += 1
    found = _match_phrase(reading, index, AFTER_BE) or _match_article(reading, index)
    if found is None:
        return None
    if found.pattern.is_isa:
        found = _skip_leading_noun(reading, found)
    pattern = found.pattern
    named = replace(pattern, name=f"{name} {pattern.name}", confidence=min(pattern.confidence, most))
    return replace(found, pattern=named)


def _match_article(reading: AnnotatedText, index: int) -> CueMatch | None:
    if index >= len(reading.tokens) or not is_blank(reading.gap(index)):
        return None
    word = reading.tokens[index].text
    if word not in _BEFORE_NOUNS:
        return None
    if word in ARTICLES and not any(_are_adjacent_words(reading, index, picked) for picked in _PICKED):
        pattern = CuePattern(name=word, is_isa=True, dimension=TYPE, confidence=ARTICLES[word])
        return _skip_leading_noun(reading, CueMatch(pattern=pattern, first=index, start=index + 1))
    for picked in _PICKED:
        if _are_adjacent_words(reading, index, picked):
            pattern = CuePattern(name=" ".join(picked), is_isa=True, dimension=TYPE, confidence=LOOSE)
            start = skip_quantifiers(reading, index + len(picked))
            return _skip_leading_noun(reading, CueMatch(pattern=pattern, first=index, start=start))
    return None


_PICKED = (("any", "one", "of"), ("any", "of"), ("one", "of"))
"""Phrases that pick one of many."""

_BEFORE_NOUNS = frozenset(ARTICLES) | {picked[0] for picked in _PICKED}


def _skip_leading_noun(reading: AnnotatedText, match: CueMatch) -> CueMatch:
    """Move the match past a noun that only leads on: `kind of`, `part of`, `term for`."""
    phrase = noun_phrase_after(reading, match.start)
    if not phrase:
        return match
    noun = reading.tokens[phrase[-1]].text
    for link in _LINKS if noun in LABELS else (("of",),):
        if _are_adjacent_words(reading, phrase[-1] + 1, link):
            behind = phrase[-1] + 1 + len(link)
            return _behind(reading, match, behind, said=f"{noun} {' '.join(link)}")
    return match


_LINKS = (("for",), ("used", "for"), ("used", "to", "describe"), ("used", "to", "refer", "to"))
"""What may stand between a noun for words and the thing that is meant."""


def _behind(reading: AnnotatedText, match: CueMatch, start: int, *, said: str) -> CueMatch:
    noun, link = said.split(" ", maxsplit=1)
    further = replace(match, pattern=replace(match.pattern, name=f"{match.pattern.name} {said}"), start=start)
    if noun in PARTS:
        return replace(further, pattern=replace(further.pattern, is_isa=False, dimension=MEMBERSHIP))
    if noun in _KINDS or link != "of" or (noun in _GATHERINGS and not _is_name_after(reading, start)):
        return _skip_leading_noun(reading, replace(further, start=skip_quantifiers(reading, start)))
    return match


def _is_name_after(reading: AnnotatedText, start: int) -> bool:
    phrase = noun_phrase_after(reading, start)
    return bool(phrase) and reading.tokens[phrase[-1]].capital


def _match_phrase(reading: AnnotatedText, index: int, table: Mapping[tuple[str, ...], CuePattern]) -> CueMatch | None:
    if index >= len(reading.tokens) or reading.tokens[index].text not in _BEGINNINGS:
        return None
    for length in (3, 2, 1):
        phrase = tuple(token.text for token in reading.tokens[index : index + length])
        gaps = range(index + 1, index + len(phrase))
        if (pattern := table.get(phrase)) and all(is_blank(reading.gap(at)) for at in gaps):
            return CueMatch(pattern=pattern, first=index, start=index + len(phrase))
    return None


def _are_adjacent_words(reading: AnnotatedText, index: int, wanted: tuple[str, ...]) -> bool:
    return all(_is_adjacent_word(reading, index + at, word) for at, word in enumerate(wanted))


def _is_adjacent_word(reading: AnnotatedText, index: int, word: str) -> bool:
    return index < len(reading.tokens) and reading.tokens[index].text == word and is_blank(reading.gap(index))


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationCue:
    """A statement that relates two things; `start` and `end` are offsets in the normalized text."""

    subject: str
    parent: str
    dimension: str
    is_isa: bool
    pattern: str
    confidence: float
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CueMatchResult:
    """The cues of one match, and the first token after them."""

    cues: list[RelationCue]
    until: int


def extract_cues(
    text: str, tokens: Sequence[Token], *, dimensions: Container[str] = (), is_common: IsCommon = is_common_english
) -> list[RelationCue]:
    """Return the cues of a text with these tokens; `dimensions` are those that the space has."""
    heads = [index for index, token in enumerate(tokens) if token.text in HEADS]
    if not heads:
        return []
    reading = AnnotatedText(text=normalize_text(text), tokens=tokens)
    found: list[RelationCue] = []
    free = 0
    for index in heads:
        if index < free or not (match := match_cue_at(reading, index)) or not reading.is_said(index):
            continue
        taken = extract_match_cues(reading, match, free=free, dimensions=dimensions, is_common=is_common)
        found += taken.cues
        free = taken.until
    return found


def extract_match_cues(
    reading: AnnotatedText, match: CueMatch, *, free: int, dimensions: Container[str], is_common: IsCommon
) -> CueMatchResult:
    """Return the cues that a match forms with its operands; no token before `free` can be a subject."""
    if match.pattern.whole_first:
        return _extract_whole_first(reading, match, free=free, is_common=is_common)
    subjects = subjects_before(
        reading,
        match.first,
        lowest=free,
        strict=match.pattern.opens_clause,
        is_own=reading.tokens[match.start - 1].text in OWN,
        is_common=is_common,
    )
    parent = object_after(reading, match.start, is_whole=not match.pattern.is_isa) if subjects else None
    if parent is None:
        return CueMatchResult(cues=[], until=free)
    dimension, last, at_most = match.pattern.dimension, parent.last, parent.at_most
    if match.pattern.is_isa and not match.pattern.opens_clause:
        context = dimension_after(reading, parent.last, dimensions=dimensions, is_common=is_common)
        if context is not None:
            dimension, last, at_most = context.text or dimension, context.last, context.at_most
    made = [
        _build_cue(reading, match, subject, parent, dimension=dimension, last=last, at_most=at_most)
        for subject in subjects
        if subject.text != parent.text
    ]
    return CueMatchResult(cues=made, until=last + 1)


def _build_cue(
    reading: AnnotatedText,
    match: CueMatch,
    subject: Operand,
    parent: Operand,
    *,
    dimension: str,
    last: int,
    at_most: float,
) -> RelationCue:
    several = SEVERAL_WORDS if parent.words > 1 else 1.0
    first = min(subject.first, parent.first)
    return RelationCue(
        subject=subject.text,
        parent=parent.text,
        dimension=dimension,
        is_isa=match.pattern.is_isa,
        pattern=match.pattern.name,
        confidence=min(match.pattern.confidence, subject.at_most, several, at_most),
        start=reading.tokens[first].start,
        end=reading.tokens[last].end,
    )


def _extract_whole_first(reading: AnnotatedText, match: CueMatch, *, free: int, is_common: IsCommon) -> CueMatchResult:
    whole = whole_at(reading, match.first, lowest=free, is_collective=match.pattern == COLLECTIVE)
    part = part_after(reading, match.start, is_common=is_common) if whole else None
    if whole is None or part is None or part.text == whole.text:
        return CueMatchResult(cues=[], until=free)
    pattern = match.pattern
    made = _build_cue(reading, match, part, whole, dimension=pattern.dimension, last=part.last, at_most=part.at_most)
    return CueMatchResult(cues=[made], until=part.last + 1)


_VERBS = frozenset({"belongs to", "belong to", "runs on"})
_APOSTROPHES = ("'", "’")


def extract_retractions(
    text: str, tokens: Sequence[Token], *, dimensions: Container[str] = (), is_common: IsCommon = is_common_english
) -> list[RelationCue]:
    """Return the triples that a text denies, each as the cue that would have asserted it."""
    reading = AnnotatedText(text=normalize_text(text), tokens=tokens)
    found: list[RelationCue] = []
    free = 0
    for index, token in enumerate(tokens):
        if index < free or token.text not in _HEADS or not (match := _match_denial_at(reading, index)):
            continue
        if reading.is_said(index, denial_counts=False):
            taken = extract_match_cues(reading, match, free=free, dimensions=dimensions, is_common=is_common)
            found += taken.cues
            free = taken.until
    return found


_CUT_SHORT = {"isn": "is", "aren": "are"}
_HEADS = frozenset({"is", "are", "no", *_CUT_SHORT})


def _match_denial_at(reading: AnnotatedText, index: int) -> CueMatch | None:
    """Return the denied cue that begins at a token: `is not a`, `is no longer part of`, `no longer runs on`."""
    word = reading.tokens[index].text
    if word == "no":
        return _match_denied_verb(reading, index)
    behind = _index_after_denial(reading, index + 1, cut_short=word in _CUT_SHORT)
    be = _CUT_SHORT.get(word, word)
    found = match_cue_after_be(reading, behind, most=FORMS_OF_BE[be], name=f"{be} not") if behind else None
    return found and replace(found, first=index)


def _match_denied_verb(reading: AnnotatedText, index: int) -> CueMatch | None:
    if not _are_words(reading, index + 1, "longer") or index + 2 >= len(reading.tokens):
        return None
    found = match_cue_at(reading, index + 2)
    if found is None or found.pattern.name not in _VERBS:
        return None
    pattern = replace(found.pattern, name=f"no longer {found.pattern.name}", confidence=PHRASE)
    return replace(found, pattern=pattern, first=index)


def _index_after_denial(reading: AnnotatedText, index: int, *, cut_short: bool) -> int | None:
    """Return the token after the denying words that begin at `index`."""
    if cut_short:
        denies = index < len(reading.tokens) and reading.tokens[index].text == "t"
        return index + 1 if denies and reading.gap(index) in _APOSTROPHES else None
    if _are_words(reading, index, "not"):
        return index + 1
    return index + 2 if _are_words(reading, index, "no", "longer") else None


def _are_words(reading: AnnotatedText, index: int, *wanted: str) -> bool:
    found = [token.text for token in reading.tokens[index : index + len(wanted)]]
    return found == list(wanted) and all(is_blank(reading.gap(index + at)) for at in range(len(wanted)))
