"""What does somebody say who wants something changed, and what is kept of it?

Values only. A `Suggestion` is what a producer gives; whose word it is, the cause, was found out by the server and is
never read from the text. A `Sighting` is the row that is kept of it. `Sighted` is what came of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.ids import AgentId, Cause, Origin, SessionId
from festinger.proposals.proposal import ProposalId, Type, shown

REFLECTION = "reflection"
CONSOLIDATION = "consolidation"
PERSON = "person"
API = "api"


def detector(name: str) -> str:
    """The producer that a detector is."""
    return f"detector:{name}"


class Uncounted(StrEnum):
    """Why a sighting is no vote."""

    EVALUATION = "evaluation"
    OWN_WORDS = "own words"
    IMPORT = "import"
    DRY_RUN = "dry run"
    SUPPRESSED = "suppressed"
    FLOOD = "too many sessions of one agent in one day"
    REFUSED = "refused"
    REPAIRED = "what came from there was taken back"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """Something that should change, as somebody says it.

    `at` is the server's own stamp of the evidence, `source` the event or call that it comes with. `uncounted` is given
    by a caller who knows that this must be no vote.
    """

    category: str
    scope: str
    what: str
    producer: str
    source: str
    cause: Cause
    at: datetime
    type: Type = Type.ADVICE
    why: str = ""
    how: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict, hash=False)
    target: Mapping[str, Any] = field(default_factory=dict, hash=False)
    evidence: Mapping[str, Any] = field(default_factory=dict, hash=False)
    cited: tuple[Origin, ...] = ()
    """Whose words the evidence is: a sighting is trusted no more than the least trusted of them."""
    reflection: UUID | None = None
    uncounted: Uncounted | None = None


class Result(StrEnum):
    """What came of a sighting."""

    CREATED = "created"
    MERGED = "merged"
    SUPPRESSED = "suppressed"
    REOPENED = "reopened"
    SEEN_AFTER = "seen after a decision"
    AGAIN = "told before"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighted:
    result: Result
    sighting: UUID
    proposal: ProposalId | None = None
    fingerprint: str = ""
    seen_count: int = 0
    counted: bool = False
    """Whether it was a new vote."""
    reason: str = ""
    """Why it was refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    id: UUID
    proposal_id: ProposalId | None
    agent_id: AgentId
    session_id: SessionId
    day: date
    origin: Origin
    producer: str
    text: str
    why: str
    how: str
    evidence: Mapping[str, Any] = field(hash=False)
    reflection_id: UUID | None
    source_id: str
    times: int
    at: datetime
    last_at: datetime
    counted: bool
    uncounted_because: Uncounted | None

    @property
    def cause(self) -> Cause:
        return Cause(agent=self.agent_id, session=self.session_id, day=self.day, origin=self.origin)

    def as_json(self) -> dict[str, Any]:
        """As every door shows it."""
        plain = {each.name: shown(getattr(self, each.name)) for each in fields(self)}
        return plain | {"day": self.day.isoformat()}


_NAMES = tuple(each.name for each in fields(Sighting))


def sighting_of(row: Mapping[str, Any]) -> Sighting:
    """The sighting that a row holds."""
    because = row["uncounted_because"]
    values = {name: row[name] for name in _NAMES}
    return Sighting(
        **values
        | {"origin": Origin(row["origin"]), "uncounted_because": Uncounted(because) if because else None}
    )
