"""What does a text say outright about what things are, and what they are part of?

A cue is a few words such as `is a` or `owned by` between two things. The scanner goes through the tokens once,
takes the longest cue at each place and reads the things around it; a token that was an object is no subject again.
Only what the writer says counts. Nothing here knows the graph: whether a triple is new, wrong or worth keeping is
left to `world`.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass

from festinger.text.asserted import Reading
from festinger.text.compounds import Token
from festinger.text.matching import HEADS, Match, match_at
from festinger.text.normal import normalised
from festinger.text.operands import (
    IsCommon,
    Operand,
    context_after,
    object_after,
    part_after,
    subjects_before,
    whole_at,
)
from festinger.text.patterns import COLLECTIVE, OWN, SEVERAL_WORDS
from festinger.text.vocabulary import is_common as is_common_english


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """One thing said of another; `start` and `end` are its place in the normalised text."""

    subject: str
    parent: str
    dimension: str
    is_isa: bool
    pattern: str
    confidence: float
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The cues of one match, and the first token after them."""

    cues: list[Cue]
    until: int


def cues(
    text: str,
    tokens: Sequence[Token],
    *,
    dimensions: Container[str] = (),
    is_common: IsCommon = is_common_english,
) -> list[Cue]:
    """The cues of a text, which `tokens` was cut from; `dimensions` are those that the space has."""
    heads = [index for index, token in enumerate(tokens) if token.text in HEADS]
    if not heads:
        return []
    reading = Reading(text=normalised(text), tokens=tokens)
    found: list[Cue] = []
    free = 0
    for index in heads:
        if index < free or not (match := match_at(reading, index)) or not reading.is_said(index):
            continue
        taken = read(reading, match, free=free, dimensions=dimensions, is_common=is_common)
        found += taken.cues
        free = taken.until
    return found


def read(
    reading: Reading, match: Match, *, free: int, dimensions: Container[str], is_common: IsCommon
) -> Taken:
    """The cues that a match makes with the things around it; no token before `free` is a subject."""
    if match.pattern.whole_first:
        return _whole_first(reading, match, free=free, is_common=is_common)
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
        return Taken(cues=[], until=free)
    dimension, last, at_most = match.pattern.dimension, parent.last, parent.at_most
    if match.pattern.is_isa and not match.pattern.opens_clause:
        context = context_after(reading, parent.last, dimensions=dimensions, is_common=is_common)
        if context is not None:
            dimension, last, at_most = context.text or dimension, context.last, context.at_most
    made = [
        _cue(reading, match, subject, parent, dimension=dimension, last=last, at_most=at_most)
        for subject in subjects
        if subject.text != parent.text
    ]
    return Taken(cues=made, until=last + 1)


def _cue(
    reading: Reading,
    match: Match,
    subject: Operand,
    parent: Operand,
    *,
    dimension: str,
    last: int,
    at_most: float,
) -> Cue:
    several = SEVERAL_WORDS if parent.words > 1 else 1.0
    first = min(subject.first, parent.first)
    return Cue(
        subject=subject.text,
        parent=parent.text,
        dimension=dimension,
        is_isa=match.pattern.is_isa,
        pattern=match.pattern.name,
        confidence=min(match.pattern.confidence, subject.at_most, several, at_most),
        start=reading.tokens[first].start,
        end=reading.tokens[last].end,
    )


def _whole_first(reading: Reading, match: Match, *, free: int, is_common: IsCommon) -> Taken:
    whole = whole_at(reading, match.first, lowest=free, is_collective=match.pattern == COLLECTIVE)
    part = part_after(reading, match.start, is_common=is_common) if whole else None
    if whole is None or part is None or part.text == whole.text:
        return Taken(cues=[], until=free)
    pattern = match.pattern
    made = _cue(
        reading, match, part, whole, dimension=pattern.dimension, last=part.last, at_most=part.at_most
    )
    return Taken(cues=[made], until=part.last + 1)
