"""How are proposals joined to the rest of the house?

Builds what the room needs, runs the gate by its schedule and looks for proposals of the same meaning.
Doors ask here for what waits for a person.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from festinger.app.deciding import with_worth
from festinger.embedding.embedder import Embedder
from festinger.events.event import Event
from festinger.ids import MemoryId, SpaceId
from festinger.jobs.model import Queue, Run
from festinger.memory.erasure.repair import TakenBack
from festinger.memory.erasure.selector import Selector
from festinger.proposals import inbox, pairs
from festinger.proposals.deps import Desk, Key
from festinger.proposals.erase import give_back, take_back
from festinger.proposals.health import observed, still_observed
from festinger.proposals.inbox import DIGEST, Card, Wanted, remind
from festinger.proposals.model import Proposal, ProposalId
from festinger.proposals.pairs import PROMOTE
from festinger.proposals.producers import Rate, muted_until, rate, values
from festinger.proposals.promotion import Promoted, promote
from festinger.proposals.sightings.intake import COMPARE, sight, sight_in
from festinger.proposals.sightings.model import Sighted, Suggestion
from festinger.proposals.sightings.similarity import (
    REFINGERPRINT,
    Comparison,
    compare_meanings,
    compare_proposals,
    refingerprint,
)
from festinger.settings.proposals import ProposalsSettings
from festinger.store.pool import Transaction

if TYPE_CHECKING:
    from festinger.app.wiring import App

COMPARING_LIMIT = timedelta(minutes=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxRoom:
    """What a person is asked, as this process opens it."""

    desk: Desk

    async def sight(self, space: SpaceId, suggestion: Suggestion) -> Sighted:
        return await sight(self.desk, space, suggestion)

    async def sight_in(self, transaction: Transaction, space: SpaceId, suggestion: Suggestion) -> Sighted:
        """The same within a transaction of the caller's; what is refused is told and not raised."""
        return await sight_in(self.desk, transaction, space, suggestion)

    async def promote(self, space: SpaceId, *, dry_run: bool = False) -> Promoted:
        return await promote(self.desk, space, dry_run=dry_run)

    async def page(self, space: SpaceId, wanted: Wanted) -> list[Proposal]:
        return await inbox.page(self.desk, space, wanted)

    async def card(self, space: SpaceId, id_: UUID) -> Card:
        return await inbox.card(self.desk, space, id_)

    async def find(self, space: SpaceId, text: str) -> ProposalId:
        """The proposal that a person means by an id or its beginning."""
        return await inbox.find(self.desk, space, text)

    async def explain(self, space: SpaceId, a: UUID, b: UUID) -> Comparison:
        """Why two proposals are not one."""
        one, other = await self.card(space, a), await self.card(space, b)
        return compare_proposals(one.proposal, other.proposal)

    async def pairs(self, space: SpaceId, *, limit: int = 50) -> list[dict[str, Any]]:
        return await pairs.suggested(self.desk, space, limit=limit)

    async def observed(self, space: SpaceId, *, exclude: Collection[UUID] = ()) -> list[Proposal]:
        """What an agent may read as past observations; nothing where that is off."""
        return await observed(self.desk, space, exclude=exclude)

    async def still_observed(self, space: SpaceId, ids: Collection[UUID]) -> list[Proposal]:
        return await still_observed(self.desk, space, ids)

    async def take_back(
        self, transaction: Transaction, space: SpaceId, selector: Selector, bad: Collection[MemoryId]
    ) -> TakenBack:
        """Let what a source said for proposals count no more, within the transaction that repairs."""
        done = await take_back(self.desk, transaction, space, selector, bad=bad)
        return TakenBack(rows=len(done.sightings), kept=done.as_json(), cited=tuple(done.sightings))

    async def give_back(self, transaction: Transaction, space: SpaceId, kept: Mapping[str, Any]) -> None:
        """Let it count again, within the transaction that undoes the repair."""
        await give_back(self.desk, transaction, space, kept)

    async def rate(self, space: SpaceId) -> Rate:
        return await rate(self.desk, space)


def build_inbox(app: "App") -> InboxRoom:
    """The room, with everything that it takes from the house."""

    def terms(space: SpaceId) -> ProposalsSettings:
        return app.settings.for_space(space).proposals

    def embedder() -> Embedder | None:
        return app.embedder

    async def ask(transaction: Transaction, job: str, **ids: Any) -> None:
        name = ":".join([job, *map(str, ids.values())])
        await app.jobs.defer(transaction, job, lock=name, queueing_lock=name, **ids)

    async def worth(transaction: Transaction, space: SpaceId) -> Mapping[Key, float]:
        return await values(desk, transaction, space)

    async def muted(transaction: Transaction, space: SpaceId, key: Key) -> datetime | None:
        return await muted_until(desk, transaction, space, key)

    desk = Desk(
        store=app.store,
        outbox=app.outbox,
        clock=app.tools.clock,
        new_id=app.tools.new_id,
        terms=terms,
        ask=ask,
        values=worth,
        muted_until=muted,
        judges=app.memory.judges,
        embedder=embedder,
    )
    return InboxRoom(desk=with_worth(desk))


def register_inbox(app: "App", room: InboxRoom) -> None:
    """Make the room's jobs and its subscriber known."""
    desk = room.desk

    async def promote_everywhere(run: Run) -> int:
        promoted = 0
        for space in app.directory.ids():
            promoted += (await promote(desk, space)).promoted
            await run.report(promoted, note="proposals promoted")
        return promoted

    async def compare_space(_run: Run, *, space: str) -> int:
        return (await compare_meanings(desk, SpaceId(space))).suggested

    async def fingerprint_anew(_run: Run, *, space: str) -> int:
        return await refingerprint(desk, SpaceId(space))

    async def profile_changed(transaction: Transaction, event: Event) -> None:
        if event.payload["key"] == "proposals.profile":
            for space in app.directory.ids():
                await desk.ask(transaction, REFINGERPRINT, space=space)

    async def remind_everywhere(_run: Run) -> int:
        return sum([(await remind(desk, space)).open for space in app.directory.ids()])

    app.jobs.register(PROMOTE, promote_everywhere, queue=Queue.SLEEP, schedule="proposals.promote_schedule")
    app.jobs.register(COMPARE, compare_space, queue=Queue.JUDGE, limit=COMPARING_LIMIT)
    app.jobs.register(REFINGERPRINT, fingerprint_anew, queue=Queue.SLEEP)
    app.jobs.register(DIGEST, remind_everywhere, queue=Queue.SEND, schedule="proposals.digest_schedule")
    app.outbox.subscribe("setting_changed", REFINGERPRINT, profile_changed)
