"""What is found in a reply that repeats itself while it streams."""

from dataclasses import dataclass
from enum import StrEnum


class StreamRule(StrEnum):
    STALE = "stale"
    """Nothing new was said for long."""
    RUN = "run"
    """One character over and over."""
    BLANK = "blank"
    DENSE = "dense"
    """The end compresses to almost nothing."""


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
    """Characters that said nothing new, as far as the rule counts them; 0 where it only weighs."""
    at: int
    """Characters of the reply that had been read by then."""
