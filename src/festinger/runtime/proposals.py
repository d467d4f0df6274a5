"""How are proposals joined to the rest of the house?

Builds what the room needs, runs the gate by its schedule and looks for proposals of the same meaning.
Doors ask here for what waits for a person.

How is what people decide joined to the rest of the house?

Gives the room of proposals what a yes does in every other room, the model that thinks a proposal over, and what else
waits for a person anywhere. Every channel decides through here.

How are the detectors joined to the rest of the house?

Each hears of the events after which it may fire; names that nobody knows are looked at each hour. What it finds is
sighted in the transaction of its delivery, so that it is found once. All of this is background work: a fault in it
delays nobody.

How is looking back joined to the rest of the house?

An episode that ends is looked back at by the model that writes, as background work of its own: a slow model delays
nobody, and one that is not there leaves it out.

What if a censor that stops things is mostly wrong?

A person is asked whether it should only warn again. The words are always the same for one censor, so that what is said
of it often is one proposal; who called the strike wrong is its cause.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from festinger.embedding.embedder import Embedder
from festinger.errors import BadInput, NotFound
from festinger.events.event import Event
from festinger.events.outbox import Wants, everything
from festinger.ids import DEFAULT_AGENT, MemoryId, Origin, SessionId, SpaceId, cause, read_id
from festinger.jobs.model import Queue, Run
from festinger.llm.ledger import Caller
from festinger.llm.model import Model, Purpose
from festinger.memory.censors.censor import Force, is_mostly_wrong
from festinger.memory.censors.edit import lock_censor
from festinger.memory.censors.escalation import AUTO, is_warning
from festinger.memory.changes import find_all
from festinger.memory.episodes.lessons import tie_decision
from festinger.memory.erasure.repair import TakenBack
from festinger.memory.erasure.selector import Selector
from festinger.proposals import inbox, pairs
from festinger.proposals.deps import Desk, Key, Office
from festinger.proposals.detectors import patterns, tool_failure
from festinger.proposals.detectors.detector import Detector, Firing, suggestion
from festinger.proposals.erase import give_back, take_back
from festinger.proposals.health import observed, still_observed
from festinger.proposals.inbox import (
    DIGEST,
    SHOWN,
    Card,
    Sources,
    Waiting,
    Wanted,
    everything_waiting,
    remind,
)
from festinger.proposals.model import Author, Channel, Decided, Kind, Proposal, ProposalId, Said, Type
from festinger.proposals.pairs import PROMOTE
from festinger.proposals.producers import Rate, Worth, muted_until, rate, values
from festinger.proposals.promotion import Promoted, promote
from festinger.proposals.reflection import REFLECT, Mirror, ask_for_reflection, reflect
from festinger.proposals.sightings.intake import COMPARE, sight, sight_in
from festinger.proposals.sightings.model import Sighted, Suggestion, detector
from festinger.proposals.sightings.similarity import (
    REFINGERPRINT,
    Comparison,
    compare_meanings,
    compare_proposals,
    refingerprint,
)
from festinger.proposals.verdicts import reviewers
from festinger.proposals.verdicts.apply import Undone, undo
from festinger.proposals.verdicts.decide import Each, decide, decide_many, take_up, verdict_told
from festinger.proposals.verdicts.effects import Look as ProposalLook
from festinger.proposals.verdicts.propose import Proposed, propose, rebuild, what_it_would_do
from festinger.proposals.verdicts.reevaluation import REEVALUATE, reevaluate
from festinger.proposals.verdicts.tasks import Task, TaskState, close_task, tasks
from festinger.runtime.effects.registry import effects_of
from festinger.runtime.memory import has_session
from festinger.runtime.review.queue import sources_of
from festinger.settings.proposals import ProposalsSettings
from festinger.store.pool import Transaction

if TYPE_CHECKING:
    from festinger.runtime.app import App


MISFIRES = detector("censor_misfires")


async def propose_demotion(desk: Desk, transaction: Transaction, event: Event) -> None:
    """Propose that a censor which stops things, wrongly more often than not, only warns. A subscriber of
    `censor_false_positive`."""
    try:
        censor = await lock_censor(transaction, event.space, UUID(event.payload["censor"]))
    except NotFound:
        return
    if not censor.active or censor.action is not Force.BLOCK or not is_mostly_wrong(censor):
        return
    session = SessionId(event.session or f"censor:{censor.id}")
    said = Suggestion(
        category="safety",
        scope="censor",
        what=f"Let censor {censor.id} warn instead of stopping",
        why=f"{censor.false_positive_count} of its {censor.activation_count} strikes were called wrong.",
        producer=MISFIRES,
        source=str(event.id),
        cause=cause(agent=event.agent or DEFAULT_AGENT, session=session, origin=Origin.JOB, at=event.at),
        at=event.at,
        type=Type.CENSOR_ESCALATION,
        payload={"censor_id": str(censor.id), "from": Force.BLOCK.value, "to": Force.WARN.value},
        target={f"censor:{censor.id}": censor.version},
        evidence={"triggers": [event.payload["trigger"]]},
    )
    await sight_in(desk, transaction, event.space, said)


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

    async def would_do(self, space: SpaceId, proposal: Proposal) -> ProposalLook:
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


Look = Callable[[Desk, Transaction, Event], Awaitable[list[Firing]]]

DETECT = "detect_{}"
"""How the subscriber of a detector is called."""
UNKNOWN_NAMES = "detect_unknown_names"
EACH_HOUR = "23 * * * *"


def register_detectors(app: "App", desk: Desk) -> None:
    """Let each detector hear of what it looks at."""

    def asks_a_person(event: Event) -> bool:
        return is_warning(event) and app.settings.for_space(event.space).memory.censor_escalation != AUTO

    listen = _listener(app, desk)
    listen("episode_closed", Detector.TOOL_FAILURE, tool_failure.look)
    listen("loop_detected", Detector.LOOP, patterns.find_loops)
    listen("censor_triggered", Detector.CENSOR_HITS, patterns.find_censor_hits, asks_a_person)
    listen("conflict_opened", Detector.CONFLICT_CHURN, patterns.find_conflict_churn, patterns.is_of_the_world)
    listen("outcome_recorded", Detector.MISLEADING, patterns.find_misleading, patterns.is_contradicted)
    listen("concept_wanted", Detector.ZERO_HIT, _unknown)

    async def unknown_names(run: Run) -> int:
        found = 0
        for space in app.directory.ids():
            async with desk.store.transaction() as transaction:
                found += await say(desk, transaction, space, await _looked_at(desk, transaction, space))
            await run.report(found, note="unknown names sighted")
        return found

    app.jobs.register(UNKNOWN_NAMES, unknown_names, queue=Queue.SLEEP, schedule=EACH_HOUR, low_value=True)


def _listener(app: "App", desk: Desk) -> Callable[..., None]:
    def listen(event: str, name: Detector, look: Look, wants: Wants = everything) -> None:
        async def hear(transaction: Transaction, told: Event) -> None:
            if not is_on(desk, told.space, name):
                return
            try:
                found = await look(desk, transaction, told)
            except NotFound:  # forgotten meanwhile
                return
            await say(desk, transaction, told.space, found)

        app.outbox.subscribe(event, DETECT.format(name), hear, queue=Queue.SLEEP, wants=wants)

    return listen


def is_on(desk: Desk, space: SpaceId, name: Detector) -> bool:
    """Whether a detector looks at a space."""
    return bool(getattr(desk.terms(space).detectors, name.value).enabled)


async def say(desk: Desk, transaction: Transaction, space: SpaceId, found: Sequence[Firing]) -> int:
    """Sight what a detector found; how many findings there were."""
    for each in found:
        await sight_in(desk, transaction, space, suggestion(each))
    return len(found)


async def _unknown(desk: Desk, transaction: Transaction, event: Event) -> list[Firing]:
    return await patterns.find_unknown_names(desk, transaction, event.space)


async def _looked_at(desk: Desk, transaction: Transaction, space: SpaceId) -> list[Firing]:
    if not is_on(desk, space, Detector.ZERO_HIT):
        return []
    return await patterns.find_unknown_names(desk, transaction, space)


REFLECTING_LIMIT = timedelta(minutes=10)


def register_reflecting(app: "App", desk: Desk) -> None:
    """Make the job and its subscriber known."""

    async def writer(space: SpaceId) -> Model | None:
        return await app.model(Purpose.WRITE, Caller(space=space))

    mirror = Mirror(desk=desk, memory=app.memory.desk, writer=writer)

    async def look_back(_run: Run, *, space: str, episode: str) -> int:
        with suppress(NotFound):  # forgotten meanwhile
            return len(await reflect(mirror, SpaceId(space), UUID(episode)))
        return 0

    async def ask(transaction: Transaction, event: Event) -> None:
        await ask_for_reflection(desk, transaction, event)

    app.outbox.subscribe("episode_closed", REFLECT, ask)
    app.jobs.register(REFLECT, look_back, queue=Queue.JUDGE, limit=REFLECTING_LIMIT, low_value=True)
