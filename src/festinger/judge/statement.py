"""What is judged: two statements, and what is known of the pair beside its words.

Values only. Where statements come from is left to `memory`; what is read out of their words to `reading`.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from festinger.ids import Origin


class Holding(StrEnum):
    """How many values an attribute of one subject can have."""

    ONE = "one"
    """One at a time, and it may change: where somebody lives."""
    FIXED = "fixed"
    """One for good: where somebody was born."""
    MANY = "many"
    """Several at once: what somebody likes."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """What a statement fills in: a value of an attribute of a subject. All three are folded keys."""

    subject: str
    attribute: str
    value: str
    holding: Holding = Holding.UNKNOWN

    @property
    def place(self) -> tuple[str, str]:
        """What two statements share that speak of the same attribute of the same subject."""
        return self.subject, self.attribute


WRITTEN = frozenset({Origin.DOCUMENT, Origin.TOOL})
"""Origins of what nobody said in person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A text, and when and by whom it was said. Times are aware; `order` rises with the order of saying."""

    text: str
    subject: str | None = None
    slot: Slot | None = None
    """Read from the text where none is given."""
    event_time: datetime | None = None
    said_at: datetime | None = None
    order: int | None = None
    origin: Origin = Origin.PERSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """The cosines of the embedder's profile; none where vectors alone may not decide."""

    same: float | None = None
    check: float | None = None
    opposition: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """What is known of a pair beside its words."""

    similarity: float | None = None
    """Plain cosine of `compare` vectors; none without an embedder."""
    bars: Bars = Bars()
    same_subject: bool | None = None
    """What the caller knows of the subjects (a concept of `world`, an alias); none if nothing."""
    opposition: float | None = None
    """How far the difference of the vectors points along the profile's direction of negation."""


NOTHING_KNOWN = Features()


def later(old: Statement, new: Statement) -> bool | None:
    """Whether `new` speaks of a later state than `old`; none if their order is not known.

    When something happened counts before when it was said: news of yesterday does not replace today.
    """
    if old.event_time and new.event_time and old.event_time != new.event_time:
        return new.event_time > old.event_time
    if old.order is not None and new.order is not None and old.order != new.order:
        return new.order > old.order
    if old.said_at and new.said_at and old.said_at != new.said_at:
        return new.said_at > old.said_at
    return None
