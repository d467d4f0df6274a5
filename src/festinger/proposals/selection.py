"""What becomes of each proposal that waits, in one run of the gate?

Ripe ones are taken in the order of their rank, then the older, then the smaller id, as far as the run, their scope and
the inbox have room. Pure: the numbers come in, and `promote` does what is decided here.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from festinger.proposals.desk import Key
from festinger.proposals.gate import Ripeness, Seen, bars_for, read
from festinger.proposals.inbox import Fullness
from festinger.proposals.proposal import Held, ProposalId, held_at
from festinger.proposals.rank import rank
from festinger.settings.proposals import ProposalsSettings

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
