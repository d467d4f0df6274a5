"""Reads proposals for people: lists, cards, decision history and other pending items. Writes nothing.

A card shows who saw a proposal, in which words and how often, what the gate says now, where it is listed and
what may mean the same. Pending items of other packages (conflicts, judge questions, quarantine, pairs, tasks)
are shown beside the proposals, so that there is one place to look and one number; they pass no gate and take
no place in the inbox.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.clock import iso
from festinger.ids import Origin, SpaceId, pick, prefix
from festinger.proposals.deps import ProposalDeps
from festinger.proposals.gate import (
    GateInput,
    InboxStatus,
    RipenessResult,
    check_ripeness,
    inbox_status,
    quiet_cutoff,
    thresholds_for,
)
from festinger.proposals.model import (
    AppliedEffect,
    Proposal,
    ProposalId,
    ProposalState,
    Verdict,
    effect_of,
    find_proposal,
    load_ids_with_duplicates,
    proposal_of,
    verdict_of,
)
from festinger.proposals.sightings.fingerprint import escape_hidden_chars
from festinger.proposals.sightings.recount import UNTRUSTED, ProposalSighting, sighting_of
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.proposals")

MOST = 200
UNTRUSTED_ONLY = "all sightings come from untrusted text"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalQuery:
    """Filter for proposals; unset fields match everything. `after` continues from the last of a page."""

    states: Collection[ProposalState] | None = None
    scope: str | None = None
    category: str | None = None
    held: bool | None = None
    standing: InboxStatus | None = None
    after: tuple[datetime, UUID] | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """A wording and how often it was used."""

    text: str
    times: int
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalCard:
    """A proposal with everything that a person should see before deciding."""

    proposal: Proposal
    reading: RipenessResult
    standing: InboxStatus
    sightings: tuple[ProposalSighting, ...]
    wordings: tuple[Wording, ...]
    pairs: tuple[Mapping[str, Any], ...]
    is_untrusted: bool

    @property
    def opposites(self) -> dict[UUID, str]:
        """Open proposals that ask for the opposite; an approver must have seen them."""
        opposed = (each for each in self.pairs if each["relation"] == "opposite" and each["state"] == "open")
        return {UUID(each["other"]): each["what"] for each in opposed if each["what"]}

    def as_json(self) -> dict[str, Any]:
        """Serialize for every interface, with hidden characters made visible."""
        shown: dict[str, Any] = {
            **summarize_proposal(self.proposal, self.reading, self.standing),
            "notes": [UNTRUSTED_ONLY] if self.is_untrusted else [],
            "wordings": [{"text": each.text, "times": each.times, "since": iso(each.since)} for each in self.wordings],
            "seen": [each.as_json() for each in self.sightings],
            "pairs": [dict(each) for each in self.pairs],
        }
        return {name: escape_hidden_in_json(value) for name, value in shown.items()}


def summarize_proposal(proposal: Proposal, reading: RipenessResult, standing: InboxStatus) -> dict[str, Any]:
    """Return a proposal as a list entry, with hidden characters made visible."""
    gate = {"ripeness": reading.ripeness, "age_days": reading.age_days, "missing": reading.missing}
    shown: dict[str, Any] = escape_hidden_in_json(proposal.as_json())
    return {**shown, "gate": gate, "standing": standing}


async def list_proposal_summaries(deps: ProposalDeps, space: SpaceId, wanted: ProposalQuery) -> list[dict[str, Any]]:
    """List matching proposals as entries, most recently seen first."""
    now, terms = deps.clock(), deps.terms(space)
    return [
        summarize_proposal(
            each,
            check_ripeness(build_gate_input(each), thresholds_for(terms), now=now),
            inbox_status(each, now=now, quiet_days=terms.quiet_days),
        )
        for each in await list_proposals(deps, space, wanted)
    ]


async def list_proposals(deps: ProposalDeps, space: SpaceId, wanted: ProposalQuery) -> list[Proposal]:
    """List matching proposals, most recently seen first."""
    before, after = wanted.after or (None, None)
    now = deps.clock()
    rows = await deps.store.all(
        Q["list_proposals"],
        space=space,
        states=None if wanted.states is None else [str(state) for state in wanted.states],
        scope=wanted.scope,
        category=wanted.category,
        held=wanted.held,
        standing=wanted.standing,
        now=now,
        quiet_since=quiet_cutoff(now, deps.terms(space).quiet_days),
        before=before,
        after=after,
        limit=min(wanted.limit, MOST),
    )
    return [proposal_of(row) for row in rows]


async def load_card(deps: ProposalDeps, space: SpaceId, id_: UUID) -> ProposalCard:
    """Load one proposal in full. Raises `NotFound`."""
    async with deps.store.transaction() as transaction:
        proposal = await find_proposal(transaction, space, id_)
        family = await load_ids_with_duplicates(transaction, space, proposal.id)
        sightings = await transaction.all(Q["sightings_of"], space=space, family=family, limit=MOST)
        wordings = await transaction.all(Q["wordings_of"], space=space, family=family, limit=MOST)
        pairs = await transaction.all(Q["pairs_of"], space=space, proposal=proposal.id)
        origins = await transaction.all(Q["origins_of"], space=space, family=family)
    now, terms = deps.clock(), deps.terms(space)
    return ProposalCard(
        proposal=proposal,
        reading=check_ripeness(build_gate_input(proposal), thresholds_for(terms), now=now),
        standing=inbox_status(proposal, now=now, quiet_days=terms.quiet_days),
        sightings=tuple(map(sighting_of, sightings)),
        wordings=tuple(Wording(text=each["text"], times=each["times"], since=each["first_at"]) for each in wordings),
        pairs=tuple(map(_pair_to_json, pairs)),
        is_untrusted=bool(origins) and {Origin(each["origin"]) for each in origins} <= UNTRUSTED,
    )


def build_gate_input(proposal: Proposal) -> GateInput:
    return GateInput(
        causes=proposal.seen_count,
        days=proposal.days_seen,
        first_seen=proposal.first_seen,
        evaluated_at=proposal.evaluated_at,
    )


async def resolve_proposal_id(deps: ProposalDeps, space: SpaceId, text: str) -> ProposalId:
    """Resolve a full or abbreviated id."""
    begins = prefix(text)
    rows = await deps.store.all(Q["proposals_by_prefix"], space=space, prefix=begins)
    return ProposalId(pick(begins, [row["id"] for row in rows]))


async def count_by_state(deps: ProposalDeps, transaction: Transaction, space: SpaceId) -> dict[str, int]:
    """Count proposals by state, and how many of the waiting ones are held."""
    rows = await transaction.all(Q["funnel"], space=space)
    found = {str(state): 0 for state in ProposalState} | {"held": 0}
    for row in rows:
        found[row["state"]] += row["proposals"]
        found["held"] += row["proposals"] if row["held"] and row["state"] == ProposalState.WAITING else 0
    return found


def escape_hidden_in_json(value: Any) -> Any:
    """Return a JSON value with every hidden character shown by its code point."""
    if isinstance(value, str):
        return escape_hidden_chars(value)
    if isinstance(value, Mapping):
        return {name: escape_hidden_in_json(item) for name, item in value.items()}
    return [escape_hidden_in_json(item) for item in value] if isinstance(value, list | tuple) else value


def _pair_to_json(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": str(row["id"]),
        "other": str(row["other"]),
        "what": row["what"],
        "relation": row["relation"],
        "similarity": round(row["similarity"], 3),
        "state": row["state"],
    }


SHOWN = 20
"""Items shown of each kind; `count` covers all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingItem:
    """One pending item: its title, and why it waits."""

    id: str
    title: str
    why: str = ""
    link: str = ""
    """Where it is decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingGroup:
    """Pending items of one kind."""

    kind: str
    count: int
    items: tuple[PendingItem, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "count": self.count, "items": [asdict(each) for each in self.items]}


Source = Callable[[SpaceId, int], Awaitable[PendingGroup]]
"""Returns what is pending in one package, with at most the given number of items."""

Sources = Sequence[Source]


async def list_pending_groups(sources: Sources, space: SpaceId, *, limit: int = SHOWN) -> list[PendingGroup]:
    """List the nonempty groups, in the order of their sources."""
    found = [await source(space, limit) for source in sources]
    return [each for each in found if each.count]


def count_everything_waiting(open_proposals: int, elsewhere: Sequence[PendingGroup]) -> int:
    """The total number that every page shows."""
    return open_proposals + sum(each.count for each in elsewhere)


MOST_DECISIONS = 50
"""Maximum number of verdicts and of effects shown for one proposal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionHistory:
    """The verdicts and effects of one proposal, newest first."""

    verdicts: tuple[Verdict, ...]
    effects: tuple[AppliedEffect, ...]

    def as_json(self) -> dict[str, Any]:
        """Serialize for every interface, with hidden characters made visible."""
        return {
            "verdicts": [escape_hidden_in_json(each.as_json()) for each in self.verdicts],
            "effects": [escape_hidden_in_json(each.as_json()) for each in self.effects],
        }


async def load_decisions(deps: ProposalDeps, space: SpaceId, proposal: UUID) -> DecisionHistory:
    """Load all verdicts and effects of a proposal, whether acted on, undone or not."""
    async with deps.store.transaction() as transaction:
        verdicts = await transaction.all(Q["verdicts_of"], space=space, proposal=proposal, limit=MOST_DECISIONS)
        done = await transaction.all(Q["effects_of"], space=space, proposal=proposal, limit=MOST_DECISIONS)
    return DecisionHistory(verdicts=tuple(map(verdict_of, verdicts)), effects=tuple(map(effect_of, done)))
