"""What is kept of proposals, as a person looks at it?

A page of them, or one in full: who saw it, in which words and how often, what the gate reads of it now, where it lies,
and what else may mean the same. What was decided of it is told by `verdict`. Nothing here changes anything.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.clock import iso
from festinger.errors import NotFound
from festinger.ids import Origin, SpaceId, pick, prefix
from festinger.proposals.counting import UNTRUSTED
from festinger.proposals.desk import Desk
from festinger.proposals.family import family_of
from festinger.proposals.gate import Reading, Seen, bars_for, read
from festinger.proposals.hidden import with_hidden_shown
from festinger.proposals.inbox import Standing, quiet_since, standing
from festinger.proposals.proposal import Proposal, ProposalId, State, proposal_of
from festinger.proposals.sighting import Sighting, sighting_of
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.proposals")

MOST = 200
UNTRUSTED_ONLY = "all sightings come from untrusted text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which proposals are asked for; what is not said does not matter. A cursor goes on after a page."""

    states: Collection[State] | None = None
    scope: str | None = None
    category: str | None = None
    held: bool | None = None
    standing: Standing | None = None
    after: tuple[datetime, UUID] | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """Words in which something was said, and how often."""

    text: str
    times: int
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A proposal with everything that a person should see before deciding."""

    proposal: Proposal
    reading: Reading
    standing: Standing
    sightings: tuple[Sighting, ...]
    wordings: tuple[Wording, ...]
    pairs: tuple[Mapping[str, Any], ...]
    is_untrusted: bool

    @property
    def opposites(self) -> dict[UUID, str]:
        """What asks for the opposite, which nobody may approve this without seeing; as `pairs.opposites` reads it."""
        opposed = (each for each in self.pairs if each["relation"] == "opposite" and each["state"] == "open")
        return {UUID(each["other"]): each["what"] for each in opposed if each["what"]}

    def as_json(self) -> dict[str, Any]:
        """As every door shows it, with hidden characters made visible."""
        shown: dict[str, Any] = {
            **glance(self.proposal, self.reading, self.standing),
            "notes": [UNTRUSTED_ONLY] if self.is_untrusted else [],
            "wordings": [
                {"text": each.text, "times": each.times, "since": iso(each.since)} for each in self.wordings
            ],
            "seen": [each.as_json() for each in self.sightings],
            "pairs": [dict(each) for each in self.pairs],
        }
        return {name: visible(value) for name, value in shown.items()}


def glance(proposal: Proposal, reading: Reading, standing: Standing) -> dict[str, Any]:
    """A proposal as it stands in a list, with hidden characters made visible."""
    gate = {"ripeness": reading.ripeness, "age_days": reading.age_days, "missing": reading.missing}
    shown: dict[str, Any] = visible(proposal.as_json())
    return {**shown, "gate": gate, "standing": standing}


async def glances(desk: Desk, space: SpaceId, wanted: Wanted) -> list[dict[str, Any]]:
    """Proposals that fit as a list shows them, the latest seen first."""
    now, terms = desk.clock(), desk.terms(space)
    return [
        glance(
            each,
            read(seen_of(each), bars_for(terms, each.scope), now=now),
            standing(each, now=now, quiet_days=terms.quiet_days),
        )
        for each in await page(desk, space, wanted)
    ]


async def page(desk: Desk, space: SpaceId, wanted: Wanted) -> list[Proposal]:
    """Proposals that fit, the latest seen first."""
    before, after = wanted.after or (None, None)
    now = desk.clock()
    rows = await desk.store.all(
        Q["list_proposals"],
        space=space,
        states=None if wanted.states is None else [str(state) for state in wanted.states],
        scope=wanted.scope,
        category=wanted.category,
        held=wanted.held,
        standing=wanted.standing,
        now=now,
        quiet_since=quiet_since(now, desk.terms(space).quiet_days),
        before=before,
        after=after,
        limit=min(wanted.limit, MOST),
    )
    return [proposal_of(row) for row in rows]


async def card(desk: Desk, space: SpaceId, id_: UUID) -> Card:
    """One proposal in full."""
    async with desk.store.transaction() as transaction:
        row = await transaction.maybe(Q["find_proposal"], space=space, id=id_)
        if row is None:
            raise NotFound(f"There is no proposal `{id_}`.")
        proposal = proposal_of(row)
        family = await family_of(transaction, space, proposal.id)
        sightings = await transaction.all(Q["sightings_of"], space=space, family=family, limit=MOST)
        wordings = await transaction.all(Q["wordings_of"], space=space, family=family, limit=MOST)
        pairs = await transaction.all(Q["pairs_of"], space=space, proposal=proposal.id)
        origins = await transaction.all(Q["origins_of"], space=space, family=family)
    now, terms = desk.clock(), desk.terms(space)
    return Card(
        proposal=proposal,
        reading=read(seen_of(proposal), bars_for(terms, proposal.scope), now=now),
        standing=standing(proposal, now=now, quiet_days=terms.quiet_days),
        sightings=tuple(map(sighting_of, sightings)),
        wordings=tuple(
            Wording(text=each["text"], times=each["times"], since=each["first_at"]) for each in wordings
        ),
        pairs=tuple(map(_pair, pairs)),
        is_untrusted=bool(origins) and {Origin(each["origin"]) for each in origins} <= UNTRUSTED,
    )


def seen_of(proposal: Proposal) -> Seen:
    """What the gate looks at."""
    return Seen(
        causes=proposal.seen_count,
        days=proposal.days_seen,
        first_seen=proposal.first_seen,
        evaluated_at=proposal.evaluated_at,
    )


async def find(desk: Desk, space: SpaceId, text: str) -> ProposalId:
    """The proposal that a person means by an id or its beginning."""
    begins = prefix(text)
    rows = await desk.store.all(Q["proposals_by_prefix"], space=space, prefix=begins)
    return ProposalId(pick(begins, [row["id"] for row in rows]))


async def funnel(desk: Desk, transaction: Transaction, space: SpaceId) -> dict[str, int]:
    """How many proposals there are in each state, and how many of those that wait are held."""
    rows = await transaction.all(Q["funnel"], space=space)
    found = {str(state): 0 for state in State} | {"held": 0}
    for row in rows:
        found[row["state"]] += row["proposals"]
        found["held"] += row["proposals"] if row["held"] and row["state"] == State.WAITING else 0
    return found


def visible(value: Any) -> Any:
    """A value of JSON with every hidden character shown by its number."""
    if isinstance(value, str):
        return with_hidden_shown(value)
    if isinstance(value, Mapping):
        return {name: visible(item) for name, item in value.items()}
    return [visible(item) for item in value] if isinstance(value, list | tuple) else value


def _pair(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": str(row["id"]),
        "other": str(row["other"]),
        "what": row["what"],
        "relation": row["relation"],
        "similarity": round(row["similarity"], 3),
        "state": row["state"],
    }
