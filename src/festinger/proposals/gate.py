"""When is a proposal ripe for a person to look at?

Acting on one reading chases noise, so bars stand in its way and all must be cleared: it has recurred (distinct causes),
it has lasted (since the first sighting), and it was seen on more than one day, because a flood of one day, a week ago,
is no pattern. Pure: `promote` reads the rows and passes the time in.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from festinger.proposals.proposal import Priority
from festinger.settings.proposals import ProposalsSettings

DAY = timedelta(days=1)
HIGH, NORMAL = 10, 5
"""Causes from which a proposal is urgent, and from which it is no longer of low priority."""


class Ripeness(StrEnum):
    RIPE = "ripe"
    TOO_FEW = "too few"
    TOO_NEW = "too new"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    causes: int = 2
    age: timedelta = timedelta(days=7)
    days: int = 2

    @property
    def days_needed(self) -> int:
        """One cause cannot have been seen on two days."""
        return min(self.days, self.causes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the gate looks at. `evaluated_at` is until when its age was read before."""

    causes: int
    days: int
    first_seen: datetime | None
    evaluated_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    ripeness: Ripeness
    age_days: int
    missing: str = ""
    """What it lacks, in words."""

    @property
    def is_ripe(self) -> bool:
        return self.ripeness is Ripeness.RIPE


def read(seen: Seen, bars: Bars, *, now: datetime) -> Reading:
    """Whether it is ripe, and if not, what is missing; the count is looked at before the age."""
    age = age_of(seen, now)
    whole_days = age // DAY
    if seen.causes < bars.causes:
        return Reading(
            ripeness=Ripeness.TOO_FEW, age_days=whole_days, missing=_more(bars.causes - seen.causes, "cause")
        )
    if age < bars.age:
        return Reading(
            ripeness=Ripeness.TOO_NEW, age_days=whole_days, missing=_more(bars.age // DAY - whole_days, "day")
        )
    if seen.days < bars.days_needed:
        return Reading(
            ripeness=Ripeness.TOO_FEW, age_days=whole_days, missing=f"{seen.days} of {bars.days_needed} days"
        )
    return Reading(ripeness=Ripeness.RIPE, age_days=whole_days)


def age_of(seen: Seen, now: datetime) -> timedelta:
    """How long ago it was first seen. A clock that went back makes nothing younger than it was found to be."""
    if seen.first_seen is None:
        return timedelta(0)
    latest = max(now, seen.evaluated_at) if seen.evaluated_at else now
    return max(latest - seen.first_seen, timedelta(0))


def bars_for(settings: ProposalsSettings, scope: str) -> Bars:
    """The bars that stand before proposals of a scope."""
    own = settings.bars_of_scope(scope)
    causes = settings.min_seen_count if own.min_seen_count is None else own.min_seen_count
    age = settings.min_age_days if own.min_age_days is None else own.min_age_days
    return Bars(causes=causes, age=timedelta(days=age), days=settings.min_days_seen)


def priority_of(seen_count: int) -> Priority:
    if seen_count >= HIGH:
        return Priority.HIGH
    return Priority.NORMAL if seen_count >= NORMAL else Priority.LOW


def _more(count: int, noun: str) -> str:
    return f"{count} more {noun}{'' if count == 1 else 's'}"
