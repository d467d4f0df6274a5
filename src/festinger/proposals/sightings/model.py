"""Defines suggestions and sightings, and checks whether a suggestion can be a proposal.

A `Suggestion` is what a producer submits; its cause is determined by the server and never read from the text.
A `ProposalSighting` is the stored row, `SightingResult` what came of it. A wrong type, category or scope is
bad input and the caller's fault. Text that says nothing, or too much, is refused: it is stored but belongs to
no proposal. Pure.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.errors import BadInput
from festinger.ids import AgentId, Cause, Origin, SessionId
from festinger.proposals.model import ProposalId, ProposalType
from festinger.records import JsonRecord, row_mapper
from festinger.settings.proposals import SLUG

REFLECTION = "reflection"
CONSOLIDATION = "consolidation"
PERSON = "person"
API = "api"


def detector_producer(name: str) -> str:
    """Return the producer name of a detector."""
    return f"detector:{name}"


class SightingExclusionReason(StrEnum):
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
    """A suggested change as a producer submits it.

    `at` is the server's timestamp of the evidence, `source` the event or call that it comes with. A caller
    who knows that this must not be a vote sets `uncounted`.
    """

    category: str
    scope: str
    what: str
    producer: str
    source: str
    cause: Cause
    at: datetime
    type: ProposalType = ProposalType.ADVICE
    why: str = ""
    how: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict, hash=False)
    target: Mapping[str, Any] = field(default_factory=dict, hash=False)
    evidence: Mapping[str, Any] = field(default_factory=dict, hash=False)
    cited: tuple[Origin, ...] = ()
    """Origins of the evidence: a sighting is trusted no more than the least trusted of them."""
    reflection: UUID | None = None
    uncounted: SightingExclusionReason | None = None


class SightingStatus(StrEnum):
    """What came of a sighting."""

    CREATED = "created"
    MERGED = "merged"
    SUPPRESSED = "suppressed"
    REOPENED = "reopened"
    SEEN_AFTER = "seen after a decision"
    AGAIN = "told before"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class SightingResult:
    result: SightingStatus
    sighting: UUID
    proposal: ProposalId | None = None
    fingerprint: str = ""
    seen_count: int = 0
    counted: bool = False
    """Whether it was a new vote."""
    reason: str = ""
    """Why it was refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalSighting(JsonRecord):
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
    uncounted_because: SightingExclusionReason | None

    @property
    def cause(self) -> Cause:
        return Cause(agent=self.agent_id, session=self.session_id, day=self.day, origin=self.origin)


sighting_of = row_mapper(ProposalSighting)


LONGEST_WHAT = 500
LONGEST_REASON = 4000
LONGEST_SOURCE = 200

PRODUCERS = frozenset({REFLECTION, CONSOLIDATION, PERSON, API})
_DETECTOR = re.compile(r"detector:[a-z][a-z0-9_]{0,39}")


def validate_suggestion(suggestion: Suggestion, *, categories: Collection[str]) -> None:
    """Raise `BadInput` for malformed fields."""
    for name in ("category", "scope", "what", "why", "how", "producer", "source"):
        if not isinstance(getattr(suggestion, name), str):
            raise BadInput(f"`{name}` must be text.")
    if suggestion.category not in categories:
        raise BadInput(f"`{suggestion.category[:40]}` is no category.", hint=f"There are {', '.join(categories)}.")
    if not SLUG.fullmatch(suggestion.scope):
        raise BadInput(
            f"`{suggestion.scope[:40]}` is no scope.",
            hint="A scope begins with a small letter and has at most 40 small letters, digits, `_` and `-`.",
        )
    if suggestion.producer not in PRODUCERS and not _DETECTOR.fullmatch(suggestion.producer):
        raise BadInput(f"`{suggestion.producer[:40]}` is no producer.")
    if not 1 <= len(suggestion.source) <= LONGEST_SOURCE:
        raise BadInput("A sighting must say which event or call it comes from.")


def refusal_reason(*, what: str, why: str, how: str, normalised: str) -> str:
    """Return why this text is no proposal; empty if it is one."""
    if len(what) > LONGEST_WHAT:
        return f"`what` has more than {LONGEST_WHAT} characters"
    for name, text in (("why", why), ("how", how)):
        if len(text) > LONGEST_REASON:
            return f"`{name}` has more than {LONGEST_REASON:,} characters"
    return "" if normalised else "nothing is left of `what` but small words"
