"""When is a proposal ripe for a person to look at?

Acting on one reading chases noise, so bars stand in its way and all must be cleared: it has recurred (distinct causes),
it has lasted (since the first sighting), and it was seen on more than one day, because a flood of one day, a week ago,
is no pattern. Pure: `promote` reads the rows and passes the time in.

Which ripe proposal comes first?

The one that more causes have seen, a little more or less by what its producer's proposals were worth before. Pure.

What becomes of each proposal that waits, in one run of the gate?

Ripe ones are taken in the order of their rank, then the older, then the smaller id, as far as the run, their scope and
the inbox have room. Pure: the numbers come in, and `promote` does what is decided here.

Which proposals wait for a person at this moment?

Those that were promoted and not decided. One that was put off comes back when its time is over, and one that nobody saw
for long has gone quiet: it is listed apart and takes no place, until it is seen again. All of it is read from the time,
and no job flips it. Pure.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from festinger.proposals.deps import Key
from festinger.proposals.model import Held, Priority, Proposal, ProposalId, State, held_at
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


SWAY = 0.5
"""How far the worth of a producer moves the rank of what it proposes."""


def rank(seen_count: int, value: float = 0.0) -> float:
    return seen_count * (1 + max(-SWAY, min(SWAY, value)))


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


LAST = datetime.max.replace(tzinfo=UTC)


class Fate(StrEnum):
    PROMOTED = "promoted"
    OVER_CAP = "over cap"
    TOO_NEW = "too new"
    TOO_FEW = "too few"
    HELD = "held"
    EXCLUDED = "excluded"


ORDER = {fate: place for place, fate in enumerate(Fate)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A proposal that waits."""

    id: ProposalId
    category: str
    scope: str
    producer: str
    held: Held | None
    held_until: datetime | None = None
    seen: Seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A candidate with what was found of it."""

    candidate: Candidate
    fate: Fate
    age_days: int
    missing: str
    rank: float

    @property
    def place(self) -> tuple[float, datetime, str]:
        """Who comes first has the smallest."""
        return -self.rank, self.candidate.seen.first_seen or LAST, str(self.candidate.id)


def select(
    candidates: Iterable[Candidate],
    settings: ProposalsSettings,
    *,
    values: Mapping[Key, float],
    inbox: Fullness,
    now: datetime,
) -> list[Read]:
    """What becomes of each, those that are promoted first."""
    found = [_read(each, settings, values=values, now=now) for each in candidates]
    ripe = sorted((each for each in found if each.fate is Fate.PROMOTED), key=lambda each: each.place)
    others = sorted(
        (each for each in found if each.fate is not Fate.PROMOTED),
        key=lambda each: (ORDER[each.fate], *each.place),
    )
    taken = _capped(ripe, settings, room=inbox.room)
    return sorted(taken, key=lambda each: (ORDER[each.fate], *each.place)) + others


def _read(
    candidate: Candidate, settings: ProposalsSettings, *, values: Mapping[Key, float], now: datetime
) -> Read:
    reading = read(candidate.seen, bars_for(settings, candidate.scope), now=now)
    return Read(
        candidate=candidate,
        fate=_fate(candidate, settings, reading.ripeness, now=now),
        age_days=reading.age_days,
        missing=reading.missing,
        rank=rank(candidate.seen.causes, values.get((candidate.producer, candidate.category), 0.0)),
    )


def _fate(candidate: Candidate, settings: ProposalsSettings, ripeness: Ripeness, *, now: datetime) -> Fate:
    if candidate.category in settings.excluded_categories:
        return Fate.EXCLUDED
    if held_at(candidate.held, candidate.held_until, now) is not None:
        return Fate.HELD
    # What only trials have seen has no first sighting that counts.
    if candidate.seen.first_seen is None:
        return Fate.EXCLUDED
    return Fate.PROMOTED if ripeness is Ripeness.RIPE else Fate(ripeness.value)


def _capped(ripe: Sequence[Read], settings: ProposalsSettings, *, room: int) -> list[Read]:
    """Scopes with a cap of their own are held to that one, all others together to that of the run."""
    taken: Counter[str | None] = Counter()
    fates = []
    for each in ripe:
        own = settings.bars_of_scope(each.candidate.scope).promote_max_per_run
        purse = None if own is None else each.candidate.scope
        cap = settings.promote_max_per_run if own is None else own
        is_taken = taken[purse] < cap and taken.total() < room
        taken[purse] += is_taken
        fates.append(each if is_taken else _over_cap(each))
    return fates


def _over_cap(each: Read) -> Read:
    return Read(
        candidate=each.candidate,
        fate=Fate.OVER_CAP,
        age_days=each.age_days,
        missing="room in this run",
        rank=each.rank,
    )
