"""Which proposals wait for a person at this moment?

Those that were promoted and not decided. One that was put off comes back when its time is over, and one that nobody saw
for long has gone quiet: it is listed apart and takes no place, until it is seen again. All of it is read from the time,
and no job flips it. Pure.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from festinger.proposals.proposal import Proposal, State

WARN_SHARE = 0.9
"""How full an inbox may be before it warns."""


class Standing(StrEnum):
    """Where an undecided proposal lies."""

    OPEN = "open"
    PUT_OFF = "put off"
    QUIET = "quiet"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fullness:
    """How many proposals wait, and how many may."""

    open: int
    limit: int

    @property
    def room(self) -> int:
        return max(0, self.limit - self.open)

    @property
    def paused_because(self) -> str | None:
        """Why nothing more is promoted, if so."""
        return None if self.room else f"inbox full ({self.open} of {self.limit})"

    @property
    def warning(self) -> str | None:
        """What is said before it is full."""
        if self.room and self.open >= self.limit * WARN_SHARE:
            return f"inbox nearly full ({self.open} of {self.limit})"
        return None


def standing(proposal: Proposal, *, now: datetime, quiet_days: int) -> Standing:
    if proposal.state not in (State.PROMOTED, State.DEEPENING, State.DEFERRED):
        return Standing.ELSEWHERE
    if proposal.state is State.DEFERRED and proposal.deferred_until and now < proposal.deferred_until:
        return Standing.PUT_OFF
    moved = [at for at in (proposal.last_seen, proposal.promoted_at, proposal.deferred_until) if at]
    is_quiet = not moved or max(moved) <= quiet_since(now, quiet_days)
    return Standing.QUIET if is_quiet else Standing.OPEN


def quiet_since(now: datetime, quiet_days: int) -> datetime:
    """What nobody saw since then is quiet."""
    return now - timedelta(days=quiet_days)
