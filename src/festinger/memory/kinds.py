"""Which kinds of memory are there, in which states, and which are held against each other?

Values only. What a state means for recalling is left to `retrieval`; how a memory comes into one to the deeds here.
"""

from enum import StrEnum

from festinger.errors import BadInput


class Kind(StrEnum):
    FACT = "fact"
    EPISODIC = "episodic"
    PROCEDURAL = "procedural"
    PREFERENCE = "preference"
    REFLECTION = "reflection"
    CORRECTION = "correction"
    INSIGHT = "insight"
    NARRATIVE = "narrative"
    TENSION = "tension"


ALIASES = {"semantic": Kind.FACT}
"""Other names that are understood on input."""

CLAIMS = frozenset([Kind.FACT, Kind.PREFERENCE, Kind.PROCEDURAL, Kind.CORRECTION, Kind.INSIGHT])
"""What says how things are, in whatever way: these are compared with each other."""


class Status(StrEnum):
    ACTIVE = "active"
    """It is recalled."""
    HELD = "held"
    """It contradicts something that stands, and waits for a decision."""
    QUARANTINED = "quarantined"
    """Nobody vouches for it; only a person sets it free."""
    SUPERSEDED = "superseded"
    """Something newer took its place."""
    MERGED = "merged"
    """It said the same as a twin."""
    ARCHIVED = "archived"


LIVE = (Status.ACTIVE, Status.HELD, Status.QUARANTINED)
"""What a new statement is held against."""

REPLACED = (Status.SUPERSEDED, Status.MERGED)


class SourceTag(StrEnum):
    """Which way a memory came in."""

    EXTERNAL_USER = "external_user"
    EXTERNAL_DOCUMENT = "external_document"
    TOOL = "tool"
    INTERNAL_DMN = "internal_dmn"
    INTERNAL_CONSOLIDATION = "internal_consolidation"
    INTERNAL_GUT = "internal_gut"
    SCHEDULED = "scheduled"


def kind_of(name: str) -> Kind:
    """The kind that is meant; an unknown one is refused with the list."""
    lowered = name.strip().lower()
    if lowered in ALIASES:
        return ALIASES[lowered]
    try:
        return Kind(lowered)
    except ValueError as error:
        known = ", ".join(f"`{kind}`" for kind in Kind)
        raise BadInput(f"`{name[:40]}` is no kind of memory.", hint=f"The kinds are {known}.") from error


def comparable(kind: Kind) -> tuple[Kind, ...]:
    """The kinds that a statement of this kind may be the same as, update or contradict."""
    return tuple(sorted(CLAIMS)) if kind in CLAIMS else (kind,)
