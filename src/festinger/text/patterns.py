"""Which words say that one thing is, or is part of, another?

The table of cues: which words, what they say, in which dimension, and how sure one may be. Reading the things that
stand around them is left to `cues`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

TYPE = "type"
MEMBERSHIP = "membership"
OWNED_BY = "owned-by"
RUNS_ON = "runs-on"
TECH = "tech"
GEOGRAPHY = "geography"

KEYWORD = 0.70
PHRASE = 0.65
BARE = 0.60
SEVERAL_WORDS = 0.60
"""At most so sure of an object of several words."""
LOOSE = 0.55
"""At most so sure where the subject stands further off, or the words say it less plainly."""
WEAK = 0.50
"""At most so sure of common words, of what was, and of what may be meant otherwise: stored, and silent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """What a cue says of the thing before it and the thing after it."""

    name: str
    is_isa: bool
    dimension: str
    confidence: float
    opens_clause: bool = False
    """Whether a common word is its subject only where a clause begins."""
    whole_first: bool = False
    """Whether the whole stands before its part."""


def _isa(name: str, confidence: float, *, opens_clause: bool = False) -> Pattern:
    return Pattern(name=name, is_isa=True, dimension=TYPE, confidence=confidence, opens_clause=opens_clause)


def _part(name: str, dimension: str, confidence: float, *, opens_clause: bool = False) -> Pattern:
    return Pattern(
        name=name, is_isa=False, dimension=dimension, confidence=confidence, opens_clause=opens_clause
    )


def _whole(name: str, confidence: float = WEAK) -> Pattern:
    return Pattern(name=name, is_isa=False, dimension=MEMBERSHIP, confidence=confidence, whole_first=True)


def _by_words(*patterns: Pattern) -> Mapping[tuple[str, ...], Pattern]:
    return {tuple(pattern.name.split()): pattern for pattern in patterns}


KEYWORDS = {"ISA": _isa("ISA", KEYWORD), "ISPART": _part("ISPART", MEMBERSHIP, KEYWORD)}

ALONE = _by_words(
    _part("belongs to", MEMBERSHIP, PHRASE),
    _part("belong to", MEMBERSHIP, PHRASE),
    _part("runs on", RUNS_ON, PHRASE),
    _isa("kind of", BARE, opens_clause=True),
    _isa("type of", BARE, opens_clause=True),
    _isa("instance of", BARE, opens_clause=True),
    _part("part of", MEMBERSHIP, BARE, opens_clause=True),
    _part("member of", MEMBERSHIP, BARE, opens_clause=True),
    _part("contained in", MEMBERSHIP, BARE, opens_clause=True),
    _part("owned by", OWNED_BY, BARE, opens_clause=True),
    _part("hosted by", RUNS_ON, BARE, opens_clause=True),
    _part("deployed on", RUNS_ON, BARE, opens_clause=True),
    _whole("consists of", PHRASE),
    _whole("consist of", PHRASE),
    _whole("comprises", PHRASE),
    _whole("comprise", PHRASE),
    _whole("contains", LOOSE),
    _whole("includes", LOOSE),
    _isa("refers to", LOOSE),
    _isa("refer to", LOOSE),
)
"""Cues that need no other word."""

AFTER_BE = _by_words(
    _part("part of", MEMBERSHIP, PHRASE),
    _part("parts of", MEMBERSHIP, PHRASE),
    _part("members of", MEMBERSHIP, PHRASE),
    _part("owned by", OWNED_BY, PHRASE),
    _part("hosted by", RUNS_ON, PHRASE),
    _part("deployed on", RUNS_ON, PHRASE),
    _part("contained in", MEMBERSHIP, PHRASE),
    _part("written in", TECH, PHRASE),
    _part("built with", TECH, PHRASE),
    _part("located in", GEOGRAPHY, PHRASE),
    _isa("defined as", LOOSE),
    _whole("composed of", PHRASE),
    _whole("comprised of", PHRASE),
    _whole("made up of", PHRASE),
)
"""Cues after a form of `be`."""

OWN = frozenset({"my", "our"})
"""Words by which people say that something is theirs: what they name then has that name."""
ARTICLES = {"a": PHRASE, "an": PHRASE, "any": LOOSE, "the": WEAK, **dict.fromkeys(OWN, PHRASE)}
"""What stands between a form of `be` and the thing that something is, and how sure one may be then."""

FORMS_OF_BE = {"is": PHRASE, "are": BARE, "was": WEAK, "were": WEAK}
"""How sure one may be at most: what was, need not be now."""

PARTS = frozenset({"part", "parts", "member", "members"})
"""Nouns before `of` that make a part of the thing that something is said to be."""


COLLECTIVE = _whole("of", WEAK)
"""`a herd of cattle`: the whole is itself the first word of the cue."""
