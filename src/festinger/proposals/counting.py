"""How many causes stand behind a proposal?

Distinct ones, not repeats: whoever says the same a thousand times has one vote, an agent that opens a thousand
sessions in a day has a few, and text that nobody vouches for can never carry a proposal alone. Pure; the rows are
gathered by `sight`.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from festinger.ids import Origin, SessionId

UNTRUSTED = frozenset({Origin.TOOL, Origin.DOCUMENT, Origin.SYSTEM})
"""Text that reaches an agent without anybody vouching for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Votes:
    """The causes of one agent, day and origin: how many sessions, and from when to when."""

    agent: str
    day: date
    origin: Origin
    sessions: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """`per_agent_day` causes of one agent, day and origin count; untrusted ones stay below `min_seen`."""

    per_agent_day: int = 3
    min_seen: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    seen_count: int = 0
    days_seen: int = 0
    first_seen: datetime | None = None
    last_seen: datetime | None = None
    is_untrusted: bool = False
    """Whether nobody but untrusted text has said it."""


def tally(votes: Iterable[Votes], limits: Limits) -> Tally:
    """What votes add up to."""
    cast = list(votes)
    if not cast:
        return Tally()
    capped = [(each.origin in UNTRUSTED, min(each.sessions, limits.per_agent_day)) for each in cast]
    trusted = sum(sessions for is_untrusted, sessions in capped if not is_untrusted)
    untrusted = sum(sessions for is_untrusted, sessions in capped if is_untrusted)
    return Tally(
        seen_count=trusted + min(untrusted, limits.min_seen - 1),
        days_seen=len({each.day for each in cast}),
        first_seen=min(each.first_at for each in cast),
        last_seen=max(each.last_at for each in cast),
        is_untrusted=trusted == 0,
    )


def is_flood(session: SessionId, counted: Collection[SessionId], limits: Limits) -> bool:
    """Whether a further session of an agent, day and origin has no vote any more."""
    return session not in counted and len(counted) >= limits.per_agent_day


def freed(
    waiting: Iterable[tuple[SessionId, UUID]], counted: Collection[SessionId], limits: Limits
) -> list[UUID]:
    """Which sightings of an agent, day and origin get a vote where others lost theirs: those of the first sessions."""
    voting = set(counted)
    found = []
    for session, sighting in waiting:
        if not is_flood(session, voting, limits):
            voting.add(session)
            found.append(sighting)
    return found


def votes_of(row: Mapping[str, Any]) -> Votes:
    return Votes(
        agent=row["agent_id"],
        day=row["day"],
        origin=Origin(row["origin"]),
        sessions=row["sessions"],
        first_at=row["first_at"],
        last_at=row["last_at"],
    )
