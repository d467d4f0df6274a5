"""What can be said of a reply that repeats itself while it streams?"""

from dataclasses import dataclass
from enum import StrEnum


class StreamRule(StrEnum):
    PERIOD = "period"
    COUNTER = "counter"
    SENTENCES = "sentences"
    SHAPE = "shape"
    NGRAM = "ngram"
    DENSE = "dense"
    BLANK = "blank"


class Severity(StrEnum):
    NOTICE = "notice"
    """Recorded, told at the end, and one step towards the next turn's level."""
    CUT = "cut"
    """The reply ends here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    rule: StreamRule
    severity: Severity
    count: int
    """How often something was repeated, as far as the rule counts; 0 where it only weighs."""
    at: int
    """Characters of the reply that had been read by then."""
