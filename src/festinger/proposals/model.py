"""Defines proposals, verdicts and effects, and how they are locked and saved.

`VerdictInput` is what a channel passes in: the verdict, and whom the channel identified as its author.
`Verdict` is the stored row, whether acted on or not; `DecideResult` is what came of it. A duplicate keeps its
row, wording and sightings and points to the proposal that stands for it, so that a merge can be undone; votes
are counted over the whole family. State and wording are saved separately, because an effect may erase text
meanwhile that a state change must not bring back.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NewType
from uuid import UUID

from festinger.clock import iso
from festinger.errors import FestingerError, NotFound
from festinger.ids import SessionId, SpaceId
from festinger.records import JsonRecord, field_values, parse_choice, row_mapper, to_json
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

ProposalId = NewType("ProposalId", UUID)


class ProposalState(StrEnum):
    WAITING = "waiting"
    PROMOTED = "promoted"
    APPROVED = "approved"
    APPLIED = "applied"
    UNDONE = "undone"
    REJECTED = "rejected"
    DEEPENING = "deepening"
    DEFERRED = "deferred"
    DUPLICATE = "duplicate"


DECIDED_FOR = frozenset({ProposalState.APPROVED, ProposalState.APPLIED, ProposalState.UNDONE})
"""Approved; a further sighting shows that it did not help, and asks nobody again."""


class HoldReason(StrEnum):
    """Why a proposal is kept from being promoted."""

    LIKE_REJECTED = "like_rejected"
    PRODUCER_MUTED = "producer_muted"


class ProposalType(StrEnum):
    """What an approval would do."""

    MEMORY_CHANGE = "memory_change"
    IDENTITY_PROMOTION = "identity_promotion"
    CENSOR_RULE = "censor_rule"
    CENSOR_ESCALATION = "censor_escalation"
    DIMENSION_DECOMPOSITION = "dimension_decomposition"
    SETTINGS_CHANGE = "settings_change"
    FORGET_REQUEST = "forget_request"
    ADVICE = "advice"


class ProposalPriority(StrEnum):
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal(JsonRecord):
    """A suggested change: what it asks for, its state, and how often and since when it was seen."""

    space_id: SpaceId
    id: ProposalId
    fingerprint: str
    normalised: str
    category: str
    scope: str
    type: ProposalType
    what: str
    why: str
    how: str
    payload: Mapping[str, Any] = field(hash=False)
    target: Mapping[str, Any] = field(hash=False)
    state: ProposalState
    held: HoldReason | None
    seen_count: int
    days_seen: int
    sightings: int
    first_seen: datetime | None
    last_seen: datetime | None
    counted_since: datetime | None
    evaluated_at: datetime | None
    promoted_at: datetime | None
    priority: ProposalPriority
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

    def current_hold_reason(self, now: datetime) -> HoldReason | None:
        """The hold reason at this moment; a hold may expire."""
        return active_hold(self.held, self.suppressed_until, now)

    def is_suppressed(self, now: datetime) -> bool:
        """Whether it was rejected and is still suppressed."""
        is_silent = self.suppressed_until is not None and now <= self.suppressed_until
        return self.state is ProposalState.REJECTED and is_silent


proposal_of = row_mapper(Proposal)


def active_hold(held: HoldReason | None, until: datetime | None, now: datetime) -> HoldReason | None:
    """Return the hold reason while the hold lasts."""
    return None if until is not None and now > until else held


class VerdictKind(StrEnum):
    """Kinds of verdicts, in order of precedence when several wait for one proposal."""

    REJECT = "reject"
    DUPLICATE = "duplicate"
    APPROVE = "approve"
    DEEPEN = "deepen"
    TOO_VAGUE = "too_vague"
    DEFER = "defer"
    REOPEN = "reopen"


ORDER = {kind: place for place, kind in enumerate(VerdictKind)}


class ReviewChannel(StrEnum):
    CONSOLE = "console"
    CLI = "cli"
    API = "api"
    WEBHOOK = "webhook"
    FOLDER = "folder"
    """A file that a person edited, in earlier versions; stored verdicts still name it."""
    LIBRARY = "library"


class IdentityProof(StrEnum):
    """How a channel knows who the author is."""

    LOGIN = "login"
    KEY = "key"
    UID = "uid"
    WEBHOOK = "webhook"
    NAMED = "named"
    """A name that the program using the library vouches for."""
    NONE = "none"
    """No right to decide: an agent's key, a tool, a model, or nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """The author of a verdict as identified by the channel, never from the text of the verdict."""

    name: str
    proof: IdentityProof = IdentityProof.NONE
    id: str = ""
    """The login, key id or user id; empty where only the name is known."""

    @property
    def identity(self) -> str:
        return self.id or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictInput:
    """A verdict as received. The same `channel` and `ref` is the same verdict, and counts once."""

    proposal: UUID
    kind: VerdictKind
    author: Author
    channel: ReviewChannel
    ref: str
    note: str = ""
    of: UUID | None = None
    """The proposal that this one duplicates."""
    until: datetime | None = None
    edits: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What the person changed before approving: `what`, `why`, `how`, `payload`."""
    word: str = ""
    """The confirmation word, required where nothing can be undone."""
    version: int | None = None
    """The version that the person saw."""
    seen: tuple[UUID, ...] = ()
    """Other proposals that the person has looked at; must include those that ask for the opposite."""
    session: SessionId | None = None
    """The conversation in which the verdict was given, if any."""
    digest: str = ""
    """Hash of the whole message, for channels that must recognize a repeat."""

    @property
    def fields(self) -> dict[str, Any]:
        """What is stored besides the kind and the note."""
        values = {"of": to_json(self.of), "until": iso(self.until) if self.until else None, "word": self.word}
        values |= {"edits": dict(self.edits), "version": self.version, "session": self.session}
        values |= {"digest": self.digest, "seen": sorted(map(str, self.seen))}
        return {name: value for name, value in values.items() if value not in (None, "", {}, [])}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(JsonRecord):
    """A stored verdict on a proposal, whether it was acted on or not."""

    id: UUID
    proposal_id: ProposalId
    kind: VerdictKind
    author: str
    verified: bool
    channel: str
    channel_ref: str
    note: str
    fields: Mapping[str, Any] = field(hash=False)
    received_at: datetime
    processed_at: datetime | None
    result: str | None

    @property
    def of(self) -> UUID | None:
        return UUID(self.fields["of"]) if "of" in self.fields else None

    @property
    def until(self) -> datetime | None:
        return datetime.fromisoformat(self.fields["until"]) if "until" in self.fields else None

    @property
    def seen(self) -> frozenset[UUID]:
        return frozenset(map(UUID, self.fields.get("seen", ())))

    @property
    def session(self) -> SessionId | None:
        return self.fields.get("session")


verdict_of = row_mapper(Verdict)


class VerdictResult(StrEnum):
    APPLIED = "applied"
    REJECTED = "rejected"
    DEEPENING = "deepening"
    REEVALUATED = "reevaluated"
    DUPLICATE = "duplicate"
    DEFERRED = "deferred"
    REOPENED = "reopened"
    OVERTAKEN = "overtaken"
    UNVERIFIED = "unverified"
    STALE = "stale"
    FORGOTTEN = "target forgotten"
    ALREADY = "already decided"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedEffect(JsonRecord):
    """What an approval did, and whether it was undone."""

    id: UUID
    proposal_id: ProposalId
    type: ProposalType
    before: Mapping[str, Any] = field(hash=False)
    after: Mapping[str, Any] = field(hash=False)
    changes: tuple[str, ...]
    applied_at: datetime
    applied_by: str
    undone_at: datetime | None
    undone_by: str | None


effect_of = row_mapper(AppliedEffect)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideResult:
    proposal: Proposal
    verdict: Verdict
    result: str
    effect: AppliedEffect | None = None
    again: bool = False
    """Whether the same verdict was received before, so that nothing was done now."""

    def as_json(self) -> dict[str, Any]:
        return {
            "proposal": str(self.proposal.id),
            "state": self.proposal.state.value,
            "version": self.proposal.version,
            "result": self.result,
            "verdict": str(self.verdict.id),
            "effect": self.effect.as_json() if self.effect else None,
        }


def parse_verdict_kind(text: str) -> VerdictKind:
    """Parse a verdict kind in any case, with a space, `-` or `_` between words. Raises `BadInput`."""
    return parse_choice(VerdictKind, "_".join(text.casefold().replace("-", " ").replace("_", " ").split()), "verdict")


Q = load_queries("festinger.proposals")

MOST_STEPS = 5
"""Longest chain of duplicates; a longer one is a cycle."""


async def lock_proposal(transaction: Transaction, space: SpaceId, id_: UUID) -> Proposal:
    """Load a proposal and lock its row until the transaction ends. Raises `NotFound`."""
    return await find_proposal(transaction, space, id_, query="hold_proposal")


async def find_proposal(
    transaction: Transaction, space: SpaceId, id_: UUID, *, query: str = "find_proposal"
) -> Proposal:
    """Load a proposal. Raises `NotFound`."""
    return proposal_of(await transaction.one(Q[query], NotFound(f"There is no proposal `{id_}`."), space=space, id=id_))


async def lock_duplicate_root(transaction: Transaction, space: SpaceId, found: Proposal) -> Proposal:
    """Lock and return the proposal that a locked one duplicates; itself if it is no duplicate."""
    root = found
    for _ in range(MOST_STEPS):
        if root.duplicate_of is None:
            return root
        root = await lock_proposal(transaction, space, root.duplicate_of)
    if root.duplicate_of is None:
        return root
    raise FestingerError(f"The duplicates of proposal `{found.id}` lead nowhere.")


async def load_ids_with_duplicates(transaction: Transaction, space: SpaceId, id_: ProposalId) -> list[UUID]:
    """Return the ids of a proposal and all its duplicates."""
    return [row["id"] for row in await transaction.all(Q["family"], space=space, id=id_)]


async def save_state(transaction: Transaction, proposal: Proposal) -> Proposal:
    """Save the state of a proposal that the caller has locked; its version rises."""
    return proposal_of(await transaction.one(Q["move_proposal"], space=proposal.space_id, **field_values(proposal)))


async def save_wording(transaction: Transaction, proposal: Proposal) -> Proposal:
    """Save the wording and payload of a proposal that the caller has locked; its version rises."""
    row = await transaction.one(
        Q["reword_proposal"],
        space=proposal.space_id,
        id=proposal.id,
        what=proposal.what,
        how=proposal.how,
        payload=json.dumps(dict(proposal.payload), default=str),
        target=json.dumps(dict(proposal.target), default=str),
    )
    return proposal_of(row)
