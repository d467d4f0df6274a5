"""The review inbox of a space, as the console, the API and the command line share it.

Each caller passes its author and channel, and gets documents with hidden characters made visible. Every
decision ends in the same operation; only the wording and presentation differ between interfaces.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from festinger.clock import read_moment
from festinger.errors import BadInput
from festinger.ids import Cause, SpaceId, pick, prefix
from festinger.proposals import pairs as suggested
from festinger.proposals.deps import ONE_BY_ONE, WORDS_NEEDED, EffectPreview, ProposalDeps, ReviewDeps, effect_for
from festinger.proposals.gate import InboxStatus
from festinger.proposals.health import proposal_stats
from festinger.proposals.inbox import (
    SHOWN,
    ProposalQuery,
    count_everything_waiting,
    escape_hidden_in_json,
    list_pending_groups,
    list_proposal_summaries,
    load_card,
    load_decisions,
    resolve_proposal_id,
)
from festinger.proposals.model import (
    Author,
    DecideResult,
    IdentityProof,
    Proposal,
    ProposalId,
    ProposalState,
    ProposalType,
    ReviewChannel,
    VerdictInput,
    VerdictKind,
)
from festinger.proposals.pairs import list_muted_producers, list_suggested_pairs, release_by_reviewer, unmute_producer
from festinger.proposals.producers import is_still_recurring, load_promotion_rate
from festinger.proposals.promotion import load_inbox_capacity, promote
from festinger.proposals.sightings.intake import record_sighting
from festinger.proposals.sightings.recount import API, SightingResult, Suggestion
from festinger.proposals.verdicts import reviewers
from festinger.proposals.verdicts.apply import undo_approval
from festinger.proposals.verdicts.decide import decide, decide_many
from festinger.proposals.verdicts.propose import preview_effect, propose, rebuild_proposal
from festinger.proposals.verdicts.reviewers import build_not_authorised, require_reviewer
from festinger.proposals.verdicts.tasks import TaskState, close_task, list_tasks
from festinger.records import to_json

if TYPE_CHECKING:
    from festinger.runtime.app import App

Document = dict[str, Any]
Closed = TypeVar("Closed", bound=StrEnum)

LONGEST_REF = 200
MOST_LOOKED_AT = 200
"""The most applied proposals, latest seen first, that are checked for whether they helped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictDetails:
    note: str = ""
    of: str = ""
    """The proposal that this one duplicates, by its id or a prefix of it."""
    until: datetime | None = None
    edits: Mapping[str, Any] | None = None
    word: str = ""
    version: int | None = None
    seen: Sequence[str] = ()
    """The other proposals that the person has looked at, by their ids or prefixes."""
    ref: str = ""
    """Identifies the message in its channel; empty makes it a message of its own."""


NOTHING_MORE = VerdictDetails()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewService:
    """The inbox of a space, for one author on one channel."""

    app: "App"
    space: SpaceId
    author: Author
    channel: ReviewChannel

    @property
    def _deps(self) -> ProposalDeps:
        return self.app.inbox.deps

    @property
    def _review_deps(self) -> ReviewDeps:
        return self.app.deciding.office

    async def overview(self, *, limit: int = SHOWN) -> Document:
        """Return how many things wait, the funnel, the rate, and what waits in other packages."""
        numbers = await proposal_stats(self._deps, self.space)
        elsewhere = await list_pending_groups(self.app.deciding.sources, self.space, limit=limit)
        muted = await list_muted_producers(self._deps, self.space)
        return {
            "in_all": count_everything_waiting(numbers["open"], elsewhere),
            **numbers,
            "elsewhere": [_shown(each.as_json()) for each in elsewhere],
            "muted": [_shown(each.as_json()) for each in muted],
        }

    async def listed(self, wanted: ProposalQuery) -> list[Document]:
        return await list_proposal_summaries(self._deps, self.space, wanted)

    async def list_still_recurring(self) -> list[Document]:
        """List what was applied and keeps being proposed."""
        now, terms = self._deps.clock(), self._deps.terms(self.space)
        return [
            each
            for each in await self.listed(ProposalQuery(states=(ProposalState.APPLIED,), limit=MOST_LOOKED_AT))
            if is_still_recurring(
                seen_after=each["seen_after"],
                decided_at=read_moment(each["decided_at"]),
                bar=terms.min_seen_count,
                now=now,
            )
        ]

    async def find(self, text: str) -> ProposalId:
        return await resolve_proposal_id(self._deps, self.space, text)

    async def card(self, id_: UUID) -> Document:
        """Return one proposal with its sightings, the effect of an approval, and what was decided."""
        card = await load_card(self._deps, self.space, id_)
        look = await preview_effect(self._review_deps, self.space, card.proposal)
        decided = await load_decisions(self._deps, self.space, id_)
        return {**card.as_json(), "effect": _describe_effect(card.proposal, look), **decided.as_json()}

    async def rate(self) -> Document:
        return (await load_promotion_rate(self._deps, self.space)).as_json()

    async def propose(self, said: Suggestion, *, approve: bool = False) -> Document:
        """Propose something. A reviewer's own is promoted at once; any other waits like any sighting."""
        if self.author.proof is not IdentityProof.NONE:
            done = await propose(
                self._review_deps, self.space, said, author=self.author, channel=self.channel, approve=approve
            )
            return await self._propose_document(done.proposal.id, done.sighted, done.decided)
        if approve:
            raise build_not_authorised(self.author)
        effect_for(self.app.deciding.office.effects, said.type).check(said.payload)
        sighted = await record_sighting(self._deps, self.space, said)
        assert sighted.proposal is not None, "what is refused raises"
        return await self._propose_document(sighted.proposal, sighted, None)

    async def _propose_document(self, id_: UUID, sighted: SightingResult, decided: DecideResult | None) -> Document:
        return {
            "proposal": await self.card(id_),
            "result": sighted.result.value,
            "counted": sighted.counted,
            "decided": decided.as_json() if decided else None,
        }

    async def promote(self, *, dry_run: bool = False) -> Document:
        """Run the promotion gate once."""
        return _shown((await promote(self._deps, self.space, dry_run=dry_run)).as_json())

    async def decide(self, id_: UUID, kind: VerdictKind, words: VerdictDetails = NOTHING_MORE) -> Document:
        """Decide a proposal. Raises what `decide` raises."""
        done = await decide(self._review_deps, self.space, await self._said(id_, kind, words))
        return _shown(done.as_json())

    async def decide_many(
        self, ids: Sequence[UUID], kind: VerdictKind, words: VerdictDetails = NOTHING_MORE
    ) -> Document:
        """Give many proposals the same verdict; return each result. Raises `NotAuthorised`."""
        many = [await self._said(each, kind, words, nth=place) for place, each in enumerate(ids)]
        found = await decide_many(self._review_deps, self.space, many)
        await require_reviewer(self._deps, self.space, self.author)
        done = sum(each.result not in ("stale", "already", "failed") for each in found)
        return {"done": done, "of": len(found), "items": [_shown(each.as_json()) for each in found]}

    async def _said(self, id_: UUID, kind: VerdictKind, words: VerdictDetails, *, nth: int = 0) -> VerdictInput:
        ref = f"{self.author.identity} {words.ref} {nth}" if words.ref else str(self._deps.new_id())
        return VerdictInput(
            proposal=id_,
            kind=kind,
            author=self.author,
            channel=self.channel,
            ref=ref[:LONGEST_REF],
            note=words.note,
            of=await self.find(words.of) if words.of else None,
            until=words.until,
            edits=words.edits or {},
            word=words.word,
            version=words.version,
            seen=tuple([await self.find(each) for each in words.seen]),
        )

    async def undo(self, id_: UUID) -> Document:
        return _shown((await undo_approval(self._review_deps, self.space, id_, author=self.author)).as_json())

    async def rebuild(self, id_: UUID) -> Document:
        """Rebuild a proposal from the current state; the reviewer looks at it once more."""
        reviewer = await self._reviewer()
        await rebuild_proposal(self._review_deps, self.space, id_, by=reviewer)
        return await self.card(id_)

    async def release(self, id_: UUID) -> Document:
        """Release what is held back."""
        await release_by_reviewer(self._deps, self.space, id_, author=self.author)
        return await self.card(id_)

    async def lift(self, producer: str, category: str) -> Document:
        released = await unmute_producer(self._deps, self.space, (producer, category), author=self.author)
        return {"producer": producer, "category": category, "released": released}

    async def pairs(self, *, limit: int = 50) -> list[Document]:
        rows = await list_suggested_pairs(self._deps, self.space, limit=limit)
        return [_shown({name: _plain(value) for name, value in row.items()}) for row in rows]

    async def decide_pair(self, id_: UUID, *, accept: bool) -> Document:
        by = await self._reviewer()
        if not accept:
            await suggested.decline_pair(self._deps, self.space, id_, by=by)
            return {"pair": str(id_), "state": "declined", "proposal": None}
        joined = await suggested.accept_pair(self._deps, self.space, id_, by=by)
        return {"pair": str(id_), "state": "accepted", "proposal": str(joined.id)}

    async def split(self, id_: UUID) -> Document:
        """Split two proposals that were joined."""
        by = await self._reviewer()
        left, alone = await suggested.split_pair(self._deps, self.space, id_, by=by)
        return {"pair": str(id_), "state": "declined", "proposals": [str(left.id), str(alone.id)]}

    async def tasks(self, *, state: TaskState | None = TaskState.OPEN) -> list[Document]:
        found = await list_tasks(self._deps, self.space, state=state)
        return [_shown(each.as_json()) for each in found]

    async def close_task(self, id_: UUID, state: TaskState) -> Document:
        task = await close_task(self._deps, self.space, id_, author=self.author, state=state)
        return _shown(task.as_json())

    async def reviewers(self) -> list[Document]:
        return [_shown(each.as_json()) for each in await reviewers.list_reviewers(self._deps, self.space)]

    async def add_reviewer(self, name: str, identities: Mapping[str, Sequence[str]]) -> Document:
        added = await reviewers.add_reviewer(self._deps, self.space, name, **identities)
        return _shown(added.as_json())

    async def retire_reviewer(self, name: str) -> Document:
        return _shown((await reviewers.deactivate_reviewer(self._deps, self.space, name)).as_json())

    async def _reviewer(self) -> str:
        return (await require_reviewer(self._deps, self.space, self.author)).name


async def count_waiting(app: "App", space: SpaceId) -> int:
    """Return how many things wait for a person anywhere."""
    deps = app.inbox.deps
    async with deps.store.transaction() as transaction:
        inbox = await load_inbox_capacity(deps, transaction, space, now=deps.clock())
    return count_everything_waiting(inbox.open, await list_pending_groups(app.deciding.sources, space, limit=0))


def build_suggestion(fields: Mapping[str, Any], *, cause: Cause, at: datetime, source: str) -> Suggestion:
    """Build a suggestion from the fields of an interface, which has already identified its author."""
    return Suggestion(
        what=fields["what"],
        category=fields["category"],
        scope=fields["scope"],
        type=parse_proposal_type(fields.get("type") or ProposalType.ADVICE),
        why=fields.get("why") or "",
        how=fields.get("how") or "",
        payload=fields.get("payload") or {},
        producer=API,
        source=source,
        cause=cause,
        at=at,
    )


def parse_proposal_type(text: str) -> ProposalType:
    return _parse_enum_member(ProposalType, text, "type of proposal")


def parse_proposal_filter(
    query: Mapping[str, str], *, after: tuple[datetime, UUID] | None = None, limit: int = 50
) -> ProposalQuery:
    """Build a proposal query from the parameters that all interfaces share."""
    held = query.get("held")
    if held not in (None, "true", "false"):
        raise BadInput("`held` must be `true` or `false`.")
    return ProposalQuery(
        states=(_parse_enum_member(ProposalState, query["state"], "state of a proposal"),)
        if "state" in query
        else None,
        scope=query.get("scope"),
        category=query.get("category"),
        held=None if held is None else held == "true",
        standing=_parse_enum_member(InboxStatus, query["standing"], "place of a proposal")
        if "standing" in query
        else None,
        after=after,
        limit=limit,
    )


def pick_document_id(text: str, documents: Sequence[Document]) -> UUID:
    """Pick the document that an id or a prefix of it names."""
    begins = prefix(text)
    return pick(begins, [UUID(each["id"]) for each in documents if each["id"].startswith(begins)])


def _shown(document: Mapping[str, Any]) -> Document:
    """Return a document with every hidden character escaped."""
    shown: Document = escape_hidden_in_json(document)
    return shown


def _describe_effect(proposal: Proposal, look: EffectPreview) -> Document:
    """Describe what an approval would do now and what has changed since it was proposed."""
    moved = {name for name, version in proposal.target.items() if look.versions.get(name) != version}
    return {
        "says": look.says,
        "gone": list(look.gone),
        "changed": sorted(moved | set(look.changed)),
        "is_done": look.is_done,
        "word": WORDS_NEEDED.get(proposal.type, ""),
        "one_by_one": proposal.type in ONE_BY_ONE,
    }


def _plain(value: Any) -> Any:
    """Convert a row's value to the form that interfaces return."""
    return round(value, 3) if isinstance(value, float) else to_json(value)


def _parse_enum_member(closed: type[Closed], text: str, noun: str) -> Closed:
    try:
        return closed(text)
    except ValueError as error:
        known = ", ".join(f"`{each.value}`" for each in closed)
        raise BadInput(f"`{text[:40]}` is no {noun}.", hint=f"Say one of {known}.") from error
