"""How is what people decide joined to the rest of the house?

Gives the room of proposals what a yes does in every other room, the model that thinks a proposal over, and what else
waits for a person anywhere. Every channel decides through here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from festinger.app.conversing import has_session
from festinger.app.effects import effects_of
from festinger.app.elsewhere import sources_of
from festinger.app.misfiring import propose_demotion
from festinger.errors import BadInput
from festinger.events.event import Event
from festinger.ids import SpaceId, read_id
from festinger.jobs.model import Queue, Run
from festinger.llm.ledger import Caller
from festinger.llm.model import Model, Purpose
from festinger.memory.changes import find_all
from festinger.memory.episodes.lessons import tie_decision
from festinger.proposals import pairs
from festinger.proposals.deps import Desk, Key, Office
from festinger.proposals.inbox import SHOWN, Sources, Waiting, everything_waiting
from festinger.proposals.model import Author, Channel, Decided, Kind, Proposal, Said
from festinger.proposals.producers import Worth, muted_until, values
from festinger.proposals.sightings.model import Suggestion
from festinger.proposals.verdicts import reviewers
from festinger.proposals.verdicts.apply import Undone, undo
from festinger.proposals.verdicts.decide import Each, decide, decide_many, take_up, verdict_told
from festinger.proposals.verdicts.effects import Look
from festinger.proposals.verdicts.propose import Proposed, propose, rebuild, what_it_would_do
from festinger.proposals.verdicts.reevaluation import REEVALUATE, reevaluate
from festinger.proposals.verdicts.tasks import Task, TaskState, close_task, tasks
from festinger.store.pool import Transaction

if TYPE_CHECKING:
    from festinger.app.wiring import App

TAKE_UP = "take_up_verdicts"
TIE = "tie_verdict"
WEAKEN = "propose_weaker_censor"
EACH_MINUTE = "* * * * *"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidingRoom:
    """What people decide, as this process opens it. What each may raise is told where it is done."""

    office: Office
    sources: Sources

    async def decide(self, space: SpaceId, said: Said) -> Decided:
        return await decide(self.office, space, said)

    async def decide_many(self, space: SpaceId, many: Sequence[Said]) -> list[Each]:
        return await decide_many(self.office, space, many)

    async def undo(self, space: SpaceId, proposal: UUID, *, author: Author) -> Undone:
        return await undo(self.office, space, proposal, author=author)

    async def propose(
        self,
        space: SpaceId,
        suggestion: Suggestion,
        *,
        author: Author,
        channel: Channel,
        approve: bool = False,
    ) -> Proposed:
        return await propose(self.office, space, suggestion, author=author, channel=channel, approve=approve)

    async def rebuild(self, space: SpaceId, proposal: UUID, *, by: str) -> Proposal:
        return await rebuild(self.office, space, proposal, by=by)

    async def would_do(self, space: SpaceId, proposal: Proposal) -> Look:
        """What an approval would find and do now."""
        return await what_it_would_do(self.office, space, proposal)

    async def release(self, space: SpaceId, proposal: UUID, *, author: Author) -> Proposal:
        return await pairs.release(self.office.desk, space, proposal, author=author)

    async def lift(self, space: SpaceId, key: Key, *, author: Author) -> int:
        return await pairs.lift(self.office.desk, space, key, author=author)

    async def muted(self, space: SpaceId) -> list[Worth]:
        return await pairs.muted(self.office.desk, space)

    async def tasks(self, space: SpaceId, *, state: TaskState | None = TaskState.OPEN) -> list[Task]:
        return await tasks(self.office.desk, space, state=state)

    async def close_task(
        self, space: SpaceId, task: UUID, *, author: Author, state: TaskState = TaskState.DONE
    ) -> Task:
        return await close_task(self.office.desk, space, task, author=author, state=state)

    async def new_codes(self, space: SpaceId, name: str) -> list[str]:
        return await reviewers.new_codes(self.office, space, name)

    async def waiting(self, space: SpaceId, *, limit: int = SHOWN) -> list[Waiting]:
        """What else waits for a person, in every other room."""
        return await everything_waiting(self.sources, space, limit=limit)


def with_worth(desk: Desk) -> Desk:
    """A desk that knows how far asking has paid."""
    return replace(desk, values=partial(values, desk), muted_until=partial(muted_until, desk))


def build_deciding(app: "App", desk: Desk) -> DecidingRoom:
    """The room, with everything that it takes from the house."""

    async def thinker(space: SpaceId) -> Model | None:
        return await app.model(Purpose.SYSTEM2, Caller(space=space))

    office = Office(
        desk=desk,
        effects=effects_of(app, desk),
        entropy=app.tools.entropy,
        thinker=thinker,
        related=memories_near,
    )
    return DecidingRoom(office=office, sources=sources_of(app, desk))


def register_deciding(app: "App", room: DecidingRoom) -> None:
    """Make the room's jobs known."""

    async def think(_run: Run, *, space: str, proposal: str, kind: str) -> None:
        await reevaluate(room.office, SpaceId(space), UUID(proposal), kind=Kind(kind))

    async def take_up_everywhere(run: Run) -> None:
        taken = 0
        for space in app.directory.ids():
            taken += await take_up(room.office, space)
            await run.report(taken, note="verdicts taken up")

    async def tie(transaction: Transaction, event: Event) -> None:
        verdict = await verdict_told(transaction, event.space, event.payload)
        if verdict is not None:
            await tie_decision(app.memory.desk, transaction, event, target="verdict", id_=verdict.id)

    async def ask_to_weaken(transaction: Transaction, event: Event) -> None:
        await propose_demotion(room.office.desk, transaction, event)

    app.outbox.subscribe("proposal_decided", TIE, tie, wants=has_session)
    app.outbox.subscribe("censor_false_positive", WEAKEN, ask_to_weaken)
    app.jobs.register(REEVALUATE, think, queue=Queue.JUDGE)
    app.jobs.register(TAKE_UP, take_up_everywhere, schedule=EACH_MINUTE)


async def memories_near(transaction: Transaction, space: SpaceId, proposal: Proposal) -> Mapping[str, Any]:
    """The memories and conflicts that a payload names, as they are."""
    payload = proposal.payload
    named = [*payload.get("ids", ()), *payload.get("memory_ids", ()), payload.get("memory_id")]
    found = await find_all(transaction, space, _ids(named))
    memories = [
        {"id": str(id_), "content": memory.content, "status": memory.status.value}
        for id_, memory in found.items()
    ]
    return {"memories": memories, "conflicts": [str(each) for each in _ids([payload.get("conflict_id")])]}


def _ids(given: Sequence[object]) -> list[UUID]:
    """Those of some texts that are ids: a payload may come from a model."""
    found: list[UUID] = []
    for each in given:
        try:
            found.append(read_id(str(each)))
        except BadInput:
            continue
    return found
