"""What is a proposal?

A suggested change with where it stands, how often and since when it was seen, and what it would do. Values only: a row
of the table as the rooms see it. How it was counted is `counting`'s matter, when it is ripe the gate's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, NewType
from uuid import UUID

from festinger.clock import iso
from festinger.ids import SpaceId
from festinger.proposals.fingerprint import Profile

ProposalId = NewType("ProposalId", UUID)


class State(StrEnum):
    WAITING = "waiting"
    PROMOTED = "promoted"
    APPROVED = "approved"
    APPLIED = "applied"
    UNDONE = "undone"
    REJECTED = "rejected"
    DEEPENING = "deepening"
    DEFERRED = "deferred"
    DUPLICATE = "duplicate"


UNDECIDED = frozenset({State.WAITING, State.PROMOTED, State.DEEPENING, State.DEFERRED})
"""Nobody has said yes or no."""

DECIDED_FOR = frozenset({State.APPROVED, State.APPLIED, State.UNDONE})
"""Somebody said yes; a further sighting shows that it did not help, and asks nobody again."""


class Held(StrEnum):
    """Why a proposal is kept from being promoted."""

    LIKE_REJECTED = "like_rejected"
    PRODUCER_MUTED = "producer_muted"


class Type(StrEnum):
    """What an approval would do."""

    MEMORY_CHANGE = "memory_change"
    IDENTITY_PROMOTION = "identity_promotion"
    CENSOR_RULE = "censor_rule"
    CENSOR_ESCALATION = "censor_escalation"
    DIMENSION_DECOMPOSITION = "dimension_decomposition"
    SETTINGS_CHANGE = "settings_change"
    FORGET_REQUEST = "forget_request"
    ADVICE = "advice"


class Priority(StrEnum):
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A suggested change: what it asks for, where it stands, and how often and since when it was seen."""

    space_id: SpaceId
    id: ProposalId
    fingerprint: str
    profile: Profile
    normalised: str
    category: str
    scope: str
    type: Type
    what: str
    why: str
    how: str
    payload: Mapping[str, Any] = field(hash=False)
    target: Mapping[str, Any] = field(hash=False)
    state: State
    held: Held | None
    seen_count: int
    days_seen: int
    sightings: int
    first_seen: datetime | None
    last_seen: datetime | None
    counted_since: datetime | None
    evaluated_at: datetime | None
    promoted_at: datetime | None
    priority: Priority
    producer: str
    suppressed_until: datetime | None
    deferred_until: datetime | None
    seen_after: int
    decided_at: datetime | None
    rejections: int
    reevaluations: int
    duplicate_of: ProposalId | None
    created_at: datetime
    version: int

    def held_now(self, now: datetime) -> Held | None:
        """Why it is kept back at this moment; what keeps it back may have an end."""
        return held_at(self.held, self.suppressed_until, now)

    def is_suppressed(self, now: datetime) -> bool:
        """Whether somebody said no, and that still holds."""
        is_silent = self.suppressed_until is not None and now <= self.suppressed_until
        return self.state is State.REJECTED and is_silent

    def as_json(self) -> dict[str, Any]:
        """As every door shows it."""
        return {each.name: shown(getattr(self, each.name)) for each in fields(self)}


_NAMES = tuple(each.name for each in fields(Proposal))


def proposal_of(row: Mapping[str, Any]) -> Proposal:
    """The proposal that a row holds."""
    values = {name: row[name] for name in _NAMES}
    values |= {
        "profile": Profile(row["profile"]),
        "type": Type(row["type"]),
        "state": State(row["state"]),
        "held": Held(row["held"]) if row["held"] else None,
        "priority": Priority(row["priority"]),
    }
    return Proposal(**values)


def held_at(held: Held | None, until: datetime | None, now: datetime) -> Held | None:
    """The reason for which something is kept back, as long as that lasts."""
    return None if until is not None and now > until else held


def shown(value: Any) -> Any:
    """A value of a row in the form in which doors give it."""
    if isinstance(value, datetime):
        return iso(value)
    return str(value) if isinstance(value, UUID) else value
