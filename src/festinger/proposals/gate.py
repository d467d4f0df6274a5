"""Decides which waiting proposals are ripe, in which order, and where undecided ones are listed.

Acting on one sighting would chase noise, so a proposal must have recurred (distinct causes), lasted (since
the first sighting) and been seen on more than one day: a flood on a single day a week ago is no pattern. Ripe
ones are ranked by causes, adjusted by the past value of their producer, and capped per run, scope and inbox.
Deferred proposals return, and long unseen ones go quiet and take no place, by the clock; no job changes their
state. Pure: `promotion` loads the rows and passes the time in.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from festinger.proposals.deps import Key
from festinger.proposals.model import HoldReason, Proposal, ProposalId, ProposalPriority, ProposalState, active_hold
from festinger.settings.proposals import ProposalsSettings

DAY = timedelta(days=1)
HIGH, NORMAL = 10, 5
"""Causes from which a proposal has high priority, and from which normal."""


class Ripeness(StrEnum):
    RIPE = "ripe"
    TOO_FEW = "too few"
    TOO_NEW = "too new"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateThresholds:
    causes: int = 2
    age: timedelta = timedelta(days=7)
    days: int = 2

    @property
    def days_needed(self) -> int:
        """One cause cannot have been seen on two days."""
        return min(self.days, self.causes)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateInput:
    """What the gate looks at. `evaluated_at` is when its age was last computed."""

    causes: int
    days: int
    first_seen: datetime | None
    evaluated_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RipenessResult:
    ripeness: Ripeness
    age_days: int
    missing: str = ""
    """What is still required, in words."""

    @property
    def is_ripe(self) -> bool:
        return self.ripeness is Ripeness.RIPE


def check_ripeness(seen: GateInput, bars: GateThresholds, *, now: datetime) -> RipenessResult:
    """Check whether it is ripe, and if not, what is missing; causes are checked before age."""
    age = compute_age(seen, now)
    whole_days = age // DAY
    ripeness, missing = Ripeness.RIPE, ""
    if seen.causes < bars.causes:
        ripeness, missing = Ripeness.TOO_FEW, _format_missing(bars.causes - seen.causes, "cause")
    elif age < bars.age:
        ripeness, missing = Ripeness.TOO_NEW, _format_missing(bars.age // DAY - whole_days, "day")
    elif seen.days < bars.days_needed:
        ripeness, missing = Ripeness.TOO_FEW, f"{seen.days} of {bars.days_needed} days"
    return RipenessResult(ripeness=ripeness, age_days=whole_days, missing=missing)


def compute_age(seen: GateInput, now: datetime) -> timedelta:
    """Return the time since the first sighting. A clock set back does not reduce an age computed before."""
    if seen.first_seen is None:
        return timedelta(0)
    latest = max(now, seen.evaluated_at) if seen.evaluated_at else now
    return max(latest - seen.first_seen, timedelta(0))


def thresholds_for(settings: ProposalsSettings) -> GateThresholds:
    age = timedelta(days=settings.min_age_days)
    return GateThresholds(causes=settings.min_seen_count, age=age, days=settings.min_days_seen)


def priority_of(seen_count: int) -> ProposalPriority:
    if seen_count >= HIGH:
        return ProposalPriority.HIGH
    return ProposalPriority.NORMAL if seen_count >= NORMAL else ProposalPriority.LOW


def _format_missing(count: int, noun: str) -> str:
    return f"{count} more {noun}{'' if count == 1 else 's'}"


SWAY = 0.5
"""Maximum share by which the value of a producer moves the rank of its proposals."""


def compute_rank(seen_count: int, value: float = 0.0) -> float:
    return seen_count * (1 + max(-SWAY, min(SWAY, value)))


WARN_SHARE = 0.9
"""Share of the inbox limit from which it warns."""


class InboxStatus(StrEnum):
    """Where an undecided proposal is listed."""

    OPEN = "open"
    PUT_OFF = "put off"
    QUIET = "quiet"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxCapacity:
    """How many proposals are open, and how many may be."""

    open: int
    limit: int

    @property
    def room(self) -> int:
        return max(0, self.limit - self.open)

    @property
    def paused_because(self) -> str | None:
        """Why promotion is paused; None if it is not."""
        return None if self.room else f"inbox full ({self.open} of {self.limit})"

    @property
    def warning(self) -> str | None:
        """A warning before the inbox is full."""
        if self.room and self.open >= self.limit * WARN_SHARE:
            return f"inbox nearly full ({self.open} of {self.limit})"
        return None


def inbox_status(proposal: Proposal, *, now: datetime, quiet_days: int) -> InboxStatus:
    if proposal.state not in (ProposalState.PROMOTED, ProposalState.DEEPENING, ProposalState.DEFERRED):
        return InboxStatus.ELSEWHERE
    if proposal.state is ProposalState.DEFERRED and proposal.deferred_until and now < proposal.deferred_until:
        return InboxStatus.PUT_OFF
    moved = [at for at in (proposal.last_seen, proposal.promoted_at, proposal.deferred_until) if at]
    is_quiet = not moved or max(moved) <= quiet_cutoff(now, quiet_days)
    return InboxStatus.QUIET if is_quiet else InboxStatus.OPEN


def quiet_cutoff(now: datetime, quiet_days: int) -> datetime:
    """Return the time before which the last sighting makes a proposal quiet."""
    return now - timedelta(days=quiet_days)


LAST = datetime.max.replace(tzinfo=UTC)


class GateDecision(StrEnum):
    PROMOTED = "promoted"
    OVER_CAP = "over cap"
    TOO_NEW = "too new"
    TOO_FEW = "too few"
    HELD = "held"
    EXCLUDED = "excluded"


ORDER = {fate: place for place, fate in enumerate(GateDecision)}


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionCandidate:
    """A proposal that waits for promotion."""

    id: ProposalId
    category: str
    scope: str
    producer: str
    held: HoldReason | None
    held_until: datetime | None = None
    seen: GateInput


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """A candidate with the decision of the gate."""

    candidate: PromotionCandidate
    fate: GateDecision
    age_days: int
    missing: str
    rank: float

    @property
    def place(self) -> tuple[float, datetime, str]:
        """Sort key: the smallest comes first."""
        return -self.rank, self.candidate.seen.first_seen or LAST, str(self.candidate.id)


def evaluate_candidates(
    candidates: Iterable[PromotionCandidate],
    settings: ProposalsSettings,
    *,
    values: Mapping[Key, float],
    inbox: InboxCapacity,
    now: datetime,
) -> list[GateResult]:
    """Decide each candidate; the promoted ones come first."""
    found = [_evaluate_candidate(each, settings, values=values, now=now) for each in candidates]
    ripe = sorted((each for each in found if each.fate is GateDecision.PROMOTED), key=lambda each: each.place)
    others = sorted(
        (each for each in found if each.fate is not GateDecision.PROMOTED),
        key=lambda each: (ORDER[each.fate], *each.place),
    )
    room = min(settings.promote_max_per_run, inbox.room)
    left = [replace(each, fate=GateDecision.OVER_CAP, missing="room in this run") for each in ripe[room:]]
    return [*ripe[:room], *left, *others]


def _evaluate_candidate(
    candidate: PromotionCandidate, settings: ProposalsSettings, *, values: Mapping[Key, float], now: datetime
) -> GateResult:
    reading = check_ripeness(candidate.seen, thresholds_for(settings), now=now)
    return GateResult(
        candidate=candidate,
        fate=_decide_candidate(candidate, settings, reading.ripeness, now=now),
        age_days=reading.age_days,
        missing=reading.missing,
        rank=compute_rank(candidate.seen.causes, values.get((candidate.producer, candidate.category), 0.0)),
    )


def _decide_candidate(
    candidate: PromotionCandidate, settings: ProposalsSettings, ripeness: Ripeness, *, now: datetime
) -> GateDecision:
    if candidate.category in settings.excluded_categories:
        return GateDecision.EXCLUDED
    if active_hold(candidate.held, candidate.held_until, now) is not None:
        return GateDecision.HELD
    # Seen only in evaluation runs: no first sighting that counts.
    if candidate.seen.first_seen is None:
        return GateDecision.EXCLUDED
    return GateDecision.PROMOTED if ripeness is Ripeness.RIPE else GateDecision(ripeness.value)
