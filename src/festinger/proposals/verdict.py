"""What does somebody say of a proposal, and who is that?

Values only. `Said` is what a channel hands in: the verdict, and whom the channel found out to be speaking. A `Verdict`
is the row that is kept of it, whether it is acted on or not; `Decided` is what came of it. Nothing here decides.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.clock import iso
from festinger.errors import BadInput
from festinger.ids import SessionId
from festinger.proposals.proposal import Proposal, ProposalId, Type, shown


class Kind(StrEnum):
    """What can be said; of several that wait for one proposal the first in this order counts."""

    REJECT = "reject"
    DUPLICATE = "duplicate"
    APPROVE = "approve"
    DEEPEN = "deepen"
    TOO_VAGUE = "too_vague"
    DEFER = "defer"
    REOPEN = "reopen"


ORDER = {kind: place for place, kind in enumerate(Kind)}


class Channel(StrEnum):
    CONSOLE = "console"
    CLI = "cli"
    API = "api"
    WEBHOOK = "webhook"
    FOLDER = "folder"
    LIBRARY = "library"


class Proof(StrEnum):
    """How a channel knows who speaks."""

    LOGIN = "login"
    KEY = "key"
    UID = "uid"
    WEBHOOK = "webhook"
    NAMED = "named"
    """A name in a file; a one-time code says more."""
    NONE = "none"
    """Nobody who may decide: an agent's key, a tool, a model, or nobody at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Whoever speaks, as far as the channel could tell. Nothing of it is read from what they say."""

    name: str
    proof: Proof = Proof.NONE
    id: str = ""
    """The login, the id of the key, the user id; the name where that is all there is."""
    code: str = field(default="", repr=False)
    """A one-time code that came along."""

    @property
    def identity(self) -> str:
        return self.id or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A verdict as it comes in. The same `channel` and `ref` again is the same verdict, and counts once."""

    proposal: UUID
    kind: Kind
    author: Author
    channel: Channel
    ref: str
    note: str = ""
    of: UUID | None = None
    """Of which proposal this one is a duplicate."""
    until: datetime | None = None
    edits: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What the person changed before saying yes: `what`, `why`, `how`, `payload`."""
    word: str = ""
    """What must be written out where nothing can be taken back."""
    version: int | None = None
    """The version that the person saw."""
    seen: tuple[UUID, ...] = ()
    """Which other proposals the person has looked at: those that ask for the opposite must be among them."""
    session: SessionId | None = None
    """The conversation in which it was said, if it was in one."""
    digest: str = ""
    """Of the whole message, where a channel must tell whether the same one comes again."""

    @property
    def fields(self) -> dict[str, Any]:
        """What is kept beside the kind and the note."""
        given = {"of": shown(self.of), "until": iso(self.until) if self.until else None, "word": self.word}
        given |= {"edits": dict(self.edits), "version": self.version, "session": self.session}
        given |= {"digest": self.digest, "seen": sorted(map(str, self.seen))}
        return {name: value for name, value in given.items() if value not in (None, "", {}, [])}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What somebody said of a proposal, whether it was acted on or not."""

    id: UUID
    proposal_id: ProposalId
    kind: Kind
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

    def as_json(self) -> dict[str, Any]:
        """As every door shows it."""
        return {each.name: shown(getattr(self, each.name)) for each in fields(self)}


_NAMES = tuple(each.name for each in fields(Verdict))


def verdict_of(row: Mapping[str, Any]) -> Verdict:
    """The verdict that a row holds."""
    return Verdict(**{name: row[name] for name in _NAMES} | {"kind": Kind(row["kind"])})


class Result(StrEnum):
    """What came of a verdict."""

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
class Effect:
    """What an approval did, and whether that was taken back."""

    id: UUID
    proposal_id: ProposalId
    type: Type
    before: Mapping[str, Any] = field(hash=False)
    after: Mapping[str, Any] = field(hash=False)
    changes: tuple[str, ...]
    applied_at: datetime
    applied_by: str
    undone_at: datetime | None
    undone_by: str | None

    def as_json(self) -> dict[str, Any]:
        """As every door shows it."""
        plain = {each.name: shown(getattr(self, each.name)) for each in fields(self)}
        return plain | {"changes": list(self.changes)}


_EFFECT = tuple(each.name for each in fields(Effect))


def effect_of(row: Mapping[str, Any]) -> Effect:
    """The effect that a row holds."""
    values = {name: row[name] for name in _EFFECT}
    return Effect(**values | {"type": Type(row["type"]), "changes": tuple(row["changes"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What came of a verdict."""

    proposal: Proposal
    verdict: Verdict
    result: str
    effect: Effect | None = None
    again: bool = False
    """Whether the same verdict had come before, so that nothing was done now."""

    def as_json(self) -> dict[str, Any]:
        return {
            "proposal": str(self.proposal.id),
            "state": self.proposal.state.value,
            "version": self.proposal.version,
            "result": self.result,
            "verdict": str(self.verdict.id),
            "effect": self.effect.as_json() if self.effect else None,
        }


def kind_of(text: str) -> Kind:
    """The verdict that is meant, in any case and with a space, `-` or `_` between its words."""
    try:
        return Kind("_".join(text.casefold().replace("-", " ").replace("_", " ").split()))
    except ValueError as error:
        known = ", ".join(f"`{each}`" for each in Kind)
        raise BadInput(f"`{text[:40]}` is no verdict.", hint=f"Say {known}.") from error
