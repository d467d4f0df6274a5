"""Counts the distinct causes behind a proposal.

A cause has one vote however often it repeats, an agent has a few votes a day however many sessions it opens,
and untrusted text can never carry a proposal alone. Whatever adds or moves sightings recounts here, in the
caller's transaction.

Defines suggestions and sightings, and checks whether a suggestion can be a proposal.

A `Suggestion` is what a producer submits; its cause is determined by the server and never read from the text.
A `ProposalSighting` is the stored row, `SightingResult` what came of it. A wrong type, category or scope is
bad input and the caller's fault. Text that says nothing, or too much, is refused: it is stored but belongs to
no proposal. Pure.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.errors import BadInput
from festinger.ids import AgentId, Cause, Origin, SessionId, SpaceId
from festinger.proposals.deps import ProposalDeps
from festinger.proposals.gate import priority_of
from festinger.proposals.model import (
    DECIDED_FOR,
    Proposal,
    ProposalId,
    ProposalType,
    load_ids_with_duplicates,
    proposal_of,
)
from festinger.records import JsonRecord, field_values, row_mapper
from festinger.settings.proposals import SLUG, ProposalsSettings
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

REFLECTION = "reflection"
CONSOLIDATION = "consolidation"
PERSON = "person"
API = "api"


def detector_producer(name: str) -> str:
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


UNTRUSTED = frozenset({Origin.TOOL, Origin.DOCUMENT, Origin.SYSTEM})
"""Text that reaches an agent without anybody vouching for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteGroup:
    """Causes of one agent, day and origin: how many sessions, and from when to when."""

    agent: str
    day: date
    origin: Origin
    sessions: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteLimits:
    """At most `per_agent_day` causes per agent, day and origin count; untrusted ones below `min_seen`."""

    per_agent_day: int = 3
    min_seen: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteTally:
    seen_count: int = 0
    days_seen: int = 0
    first_seen: datetime | None = None
    last_seen: datetime | None = None
    is_untrusted: bool = False
    """Whether only untrusted text backs it."""


def count_votes(votes: Iterable[VoteGroup], limits: VoteLimits) -> VoteTally:
    cast = list(votes)
    if not cast:
        return VoteTally()
    capped = [(each.origin in UNTRUSTED, min(each.sessions, limits.per_agent_day)) for each in cast]
    trusted = sum(sessions for is_untrusted, sessions in capped if not is_untrusted)
    untrusted = sum(sessions for is_untrusted, sessions in capped if is_untrusted)
    return VoteTally(
        seen_count=trusted + min(untrusted, limits.min_seen - 1),
        days_seen=len({each.day for each in cast}),
        first_seen=min(each.first_at for each in cast),
        last_seen=max(each.last_at for each in cast),
        is_untrusted=trusted == 0,
    )


def is_over_vote_limit(session: SessionId, counted: Collection[SessionId], limits: VoteLimits) -> bool:
    """Whether a further session of an agent, day and origin has no vote left."""
    return session not in counted and len(counted) >= limits.per_agent_day


def select_sightings_for_votes(
    waiting: Iterable[tuple[SessionId, UUID]], counted: Collection[SessionId], limits: VoteLimits
) -> list[UUID]:
    """Return the sightings that get votes freed by others: those of the first sessions."""
    voting = set(counted)
    found = []
    for session, sighting in waiting:
        if not is_over_vote_limit(session, voting, limits):
            voting.add(session)
            found.append(sighting)
    return found


vote_group_of = row_mapper(VoteGroup, agent="agent_id")


Q = load_queries("festinger.proposals")

SHOWN_SESSION = 120


async def recount(
    deps: ProposalDeps,
    transaction: Transaction,
    space: SpaceId,
    root: Proposal,
    *,
    said: int = 0,
    family: list[UUID] | None = None,
) -> Proposal:
    """Recount the votes of a proposal and its duplicates, and save them; `said` adds to the sightings."""
    limits = vote_limits_for(deps.terms(space))
    family = family or await load_ids_with_duplicates(transaction, space, root.id)
    counted = await count_votes_since(transaction, space, family, since=root.counted_since, limits=limits)
    after = VoteTally()
    if root.state in DECIDED_FOR:
        after = await count_votes_since(transaction, space, family, since=root.decided_at, limits=limits)
    row = await transaction.one(
        Q["count_votes"],
        space=space,
        id=root.id,
        **field_values(counted),
        seen_after=after.seen_count,
        said=said,
        priority=priority_of(counted.seen_count),
    )
    return proposal_of(row)


async def count_votes_since(
    transaction: Transaction, space: SpaceId, family: list[UUID], *, since: Any, limits: VoteLimits
) -> VoteTally:
    rows = await transaction.all(Q["votes"], space=space, family=family, since=since)
    return count_votes(map(vote_group_of, rows), limits)


def vote_limits_for(settings: ProposalsSettings) -> VoteLimits:
    return VoteLimits(per_agent_day=settings.max_causes_per_agent_day, min_seen=settings.min_seen_count)


async def emit_proposal_event(
    deps: ProposalDeps,
    transaction: Transaction,
    name: str,
    proposal: Proposal,
    /,
    *,
    agent: AgentId | None = None,
    session: SessionId | None = None,
    **payload: Any,
) -> None:
    """Emit an event about a proposal, which the payload names."""
    await deps.outbox.emit(
        transaction,
        name,
        space=proposal.space_id,
        subject=event_subject(proposal.id),
        agent=agent,
        session=session,
        payload={"proposal": str(proposal.id), **payload},
    )


def event_subject(id_: UUID) -> str:
    return f"proposal:{id_}"


def cause_to_json(cause: Cause) -> dict[str, str]:
    return {
        "agent": cause.agent,
        "session": cause.session[:SHOWN_SESSION],
        "day": cause.day.isoformat(),
        "origin": cause.origin,
    }
