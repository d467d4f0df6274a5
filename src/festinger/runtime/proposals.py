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
from festinger.events.outbox import Wants, wants_all
from festinger.ids import DEFAULT_AGENT, MemoryId, Origin, SessionId, SpaceId, cause, read_id
from festinger.jobs.model import JobRun, Queue
from festinger.llm.ledger import ModelCaller
from festinger.llm.model import Model, ModelPurpose
from festinger.memory.censors.censor import CensorAction, is_mostly_wrong
from festinger.memory.censors.edit import lock_censor
from festinger.memory.censors.escalation import AUTO, is_warning
from festinger.memory.changes import find_memories
from festinger.memory.episodes.lessons import link_decision
from festinger.memory.erasure.repair import SourceWithdrawalResult
from festinger.memory.erasure.selector import Selector
from festinger.proposals import inbox, pairs
from festinger.proposals.deps import Key, ProposalDeps, ReviewDeps
from festinger.proposals.detectors import patterns, tool_failure
from festinger.proposals.detectors.detector import DetectorFinding, DetectorName, finding_to_suggestion
from festinger.proposals.erase import reinstate_sightings, withdraw_sightings
from festinger.proposals.health import load_observations, reload_observations
from festinger.proposals.inbox import (
    DIGEST,
    SHOWN,
    PendingGroup,
    ProposalCard,
    ProposalQuery,
    Sources,
    list_pending_groups,
    send_digest,
)
from festinger.proposals.model import (
    Author,
    DecideResult,
    Proposal,
    ProposalId,
    ProposalType,
    ReviewChannel,
    VerdictInput,
    VerdictKind,
)
from festinger.proposals.pairs import PROMOTE
from festinger.proposals.producers import (
    ProducerValue,
    PromotionRate,
    load_muted_until,
    load_promotion_rate,
    load_value_scores,
)
from festinger.proposals.promotion import PromotionReport, promote
from festinger.proposals.reflection import REFLECT, ReflectionDeps, enqueue_reflection, reflect
from festinger.proposals.sightings.intake import COMPARE, record_sighting, record_sighting_in
from festinger.proposals.sightings.model import SightingResult, Suggestion, detector_producer
from festinger.proposals.sightings.similarity import (
    REFINGERPRINT,
    FingerprintComparison,
    compare_fingerprints,
    compare_meanings,
    refingerprint,
)
from festinger.proposals.verdicts import reviewers
from festinger.proposals.verdicts.apply import UndoApprovalResult, undo_approval
from festinger.proposals.verdicts.decide import (
    BatchVerdictResult,
    decide,
    decide_many,
    resume_pending_verdicts,
    verdict_from_event,
)
from festinger.proposals.verdicts.effects import EffectPreview
from festinger.proposals.verdicts.propose import ProposeResult, preview_effect, propose, rebuild_proposal
from festinger.proposals.verdicts.reevaluation import REEVALUATE, reevaluate
from festinger.proposals.verdicts.tasks import Task, TaskState, close_task, list_tasks
from festinger.runtime.effects.registry import build_effects
from festinger.runtime.memory import has_session
from festinger.runtime.review.queue import build_waiting_sources
from festinger.settings.proposals import ProposalsSettings
from festinger.store.pool import Transaction

if TYPE_CHECKING:
    from festinger.runtime.app import App


MISFIRES = detector_producer("censor_misfires")


async def propose_demotion(deps: ProposalDeps, transaction: Transaction, event: Event) -> None:
    """Propose that a censor which stops things, wrongly more often than not, only warns. A subscriber of
    `censor_false_positive`."""
    try:
        censor = await lock_censor(transaction, event.space, UUID(event.payload["censor"]))
    except NotFound:
        return
    if not censor.active or censor.action is not CensorAction.BLOCK or not is_mostly_wrong(censor):
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
        type=ProposalType.CENSOR_ESCALATION,
        payload={"censor_id": str(censor.id), "from": CensorAction.BLOCK.value, "to": CensorAction.WARN.value},
        target={f"censor:{censor.id}": censor.version},
        evidence={"triggers": [event.payload["trigger"]]},
    )
    await record_sighting_in(deps, transaction, event.space, said)


TAKE_UP = "take_up_verdicts"
TIE = "tie_verdict"
WEAKEN = "propose_weaker_censor"
EACH_MINUTE = "* * * * *"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionService:
    """What people decide, as this process opens it. What each may raise is told where it is done."""

    office: ReviewDeps
    sources: Sources

    async def decide(self, space: SpaceId, said: VerdictInput) -> DecideResult:
        return await decide(self.office, space, said)

    async def decide_many(self, space: SpaceId, many: Sequence[VerdictInput]) -> list[BatchVerdictResult]:
        return await decide_many(self.office, space, many)

    async def undo(self, space: SpaceId, proposal: UUID, *, author: Author) -> UndoApprovalResult:
        return await undo_approval(self.office, space, proposal, author=author)

    async def propose(
        self, space: SpaceId, suggestion: Suggestion, *, author: Author, channel: ReviewChannel, approve: bool = False
    ) -> ProposeResult:
        return await propose(self.office, space, suggestion, author=author, channel=channel, approve=approve)

    async def rebuild(self, space: SpaceId, proposal: UUID, *, by: str) -> Proposal:
        return await rebuild_proposal(self.office, space, proposal, by=by)

    async def would_do(self, space: SpaceId, proposal: Proposal) -> EffectPreview:
        """What an approval would find and do now."""
        return await preview_effect(self.office, space, proposal)

    async def release(self, space: SpaceId, proposal: UUID, *, author: Author) -> Proposal:
        return await pairs.release_by_reviewer(self.office.deps, space, proposal, author=author)

    async def lift(self, space: SpaceId, key: Key, *, author: Author) -> int:
        return await pairs.unmute_producer(self.office.deps, space, key, author=author)

    async def muted(self, space: SpaceId) -> list[ProducerValue]:
        return await pairs.list_muted_producers(self.office.deps, space)

    async def tasks(self, space: SpaceId, *, state: TaskState | None = TaskState.OPEN) -> list[Task]:
        return await list_tasks(self.office.deps, space, state=state)

    async def close_task(
        self, space: SpaceId, task: UUID, *, author: Author, state: TaskState = TaskState.DONE
    ) -> Task:
        return await close_task(self.office.deps, space, task, author=author, state=state)

    async def new_codes(self, space: SpaceId, name: str) -> list[str]:
        return await reviewers.issue_codes(self.office, space, name)

    async def waiting(self, space: SpaceId, *, limit: int = SHOWN) -> list[PendingGroup]:
        """What else waits for a person, in every other room."""
        return await list_pending_groups(self.sources, space, limit=limit)


def add_producer_values(deps: ProposalDeps) -> ProposalDeps:
    """A desk that knows how far asking has paid."""
    return replace(deps, values=partial(load_value_scores, deps), muted_until=partial(load_muted_until, deps))


def build_decisions(app: "App", deps: ProposalDeps) -> DecisionService:
    """The room, with everything that it takes from the house."""

    async def thinker(space: SpaceId) -> Model | None:
        return await app.model(ModelPurpose.SYSTEM2, ModelCaller(space=space))

    office = ReviewDeps(
        deps=deps,
        effects=build_effects(app, deps),
        entropy=app.tools.entropy,
        thinker=thinker,
        related=find_related_memories,
    )
    return DecisionService(office=office, sources=build_waiting_sources(app, deps))


def register_decisions(app: "App", room: DecisionService) -> None:
    """Make the room's jobs known."""

    async def think(_run: JobRun, *, space: str, proposal: str, kind: str) -> None:
        await reevaluate(room.office, SpaceId(space), UUID(proposal), kind=VerdictKind(kind))

    async def take_up_everywhere(run: JobRun) -> None:
        taken = 0
        for space in app.directory.ids():
            taken += await resume_pending_verdicts(room.office, space)
            await run.report(taken, note="verdicts taken up")

    async def tie(transaction: Transaction, event: Event) -> None:
        verdict = await verdict_from_event(transaction, event.space, event.payload)
        if verdict is not None:
            await link_decision(app.memory.deps, transaction, event, target="verdict", id_=verdict.id)

    async def ask_to_weaken(transaction: Transaction, event: Event) -> None:
        await propose_demotion(room.office.deps, transaction, event)

    app.outbox.subscribe("proposal_decided", TIE, tie, wants=has_session)
    app.outbox.subscribe("censor_false_positive", WEAKEN, ask_to_weaken)
    app.jobs.register(REEVALUATE, think, queue=Queue.JUDGE)
    app.jobs.register(TAKE_UP, take_up_everywhere, schedule=EACH_MINUTE)


async def find_related_memories(transaction: Transaction, space: SpaceId, proposal: Proposal) -> Mapping[str, Any]:
    """The memories and conflicts that a payload names, as they are."""
    payload = proposal.payload
    named = [*payload.get("ids", ()), *payload.get("memory_ids", ()), payload.get("memory_id")]
    found = await find_memories(transaction, space, _ids(named))
    memories = [
        {"id": str(id_), "content": memory.content, "status": memory.status.value} for id_, memory in found.items()
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
class InboxService:
    """What a person is asked, as this process opens it."""

    deps: ProposalDeps

    async def sight(self, space: SpaceId, suggestion: Suggestion) -> SightingResult:
        return await record_sighting(self.deps, space, suggestion)

    async def sight_in(self, transaction: Transaction, space: SpaceId, suggestion: Suggestion) -> SightingResult:
        """The same within a transaction of the caller's; what is refused is told and not raised."""
        return await record_sighting_in(self.deps, transaction, space, suggestion)

    async def promote(self, space: SpaceId, *, dry_run: bool = False) -> PromotionReport:
        return await promote(self.deps, space, dry_run=dry_run)

    async def page(self, space: SpaceId, wanted: ProposalQuery) -> list[Proposal]:
        return await inbox.list_proposals(self.deps, space, wanted)

    async def card(self, space: SpaceId, id_: UUID) -> ProposalCard:
        return await inbox.load_card(self.deps, space, id_)

    async def find(self, space: SpaceId, text: str) -> ProposalId:
        """The proposal that a person means by an id or its beginning."""
        return await inbox.resolve_proposal_id(self.deps, space, text)

    async def explain(self, space: SpaceId, a: UUID, b: UUID) -> FingerprintComparison:
        """Why two proposals are not one."""
        one, other = await self.card(space, a), await self.card(space, b)
        return compare_fingerprints(one.proposal, other.proposal)

    async def pairs(self, space: SpaceId, *, limit: int = 50) -> list[dict[str, Any]]:
        return await pairs.list_suggested_pairs(self.deps, space, limit=limit)

    async def observed(self, space: SpaceId, *, exclude: Collection[UUID] = ()) -> list[Proposal]:
        """What an agent may read as past observations; nothing where that is off."""
        return await load_observations(self.deps, space, exclude=exclude)

    async def still_observed(self, space: SpaceId, ids: Collection[UUID]) -> list[Proposal]:
        return await reload_observations(self.deps, space, ids)

    async def take_back(
        self, transaction: Transaction, space: SpaceId, selector: Selector, bad: Collection[MemoryId]
    ) -> SourceWithdrawalResult:
        """Let what a source said for proposals count no more, within the transaction that repairs."""
        done = await withdraw_sightings(self.deps, transaction, space, selector, bad=bad)
        return SourceWithdrawalResult(rows=len(done.sightings), kept=done.as_json(), cited=tuple(done.sightings))

    async def give_back(self, transaction: Transaction, space: SpaceId, kept: Mapping[str, Any]) -> None:
        """Let it count again, within the transaction that undoes the repair."""
        await reinstate_sightings(self.deps, transaction, space, kept)

    async def rate(self, space: SpaceId) -> PromotionRate:
        return await load_promotion_rate(self.deps, space)


def build_inbox(app: "App") -> InboxService:
    """The room, with everything that it takes from the house."""

    def terms(space: SpaceId) -> ProposalsSettings:
        return app.settings.for_space(space).proposals

    def embedder() -> Embedder | None:
        return app.embedder

    async def ask(transaction: Transaction, job: str, **ids: Any) -> None:
        name = ":".join([job, *map(str, ids.values())])
        await app.jobs.defer(transaction, job, lock=name, queueing_lock=name, **ids)

    async def worth(transaction: Transaction, space: SpaceId) -> Mapping[Key, float]:
        return await load_value_scores(deps, transaction, space)

    async def muted(transaction: Transaction, space: SpaceId, key: Key) -> datetime | None:
        return await load_muted_until(deps, transaction, space, key)

    deps = ProposalDeps(
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
    return InboxService(deps=add_producer_values(deps))


def register_inbox(app: "App", room: InboxService) -> None:
    """Make the room's jobs and its subscriber known."""
    deps = room.deps

    async def promote_everywhere(run: JobRun) -> int:
        promoted = 0
        for space in app.directory.ids():
            promoted += (await promote(deps, space)).promoted
            await run.report(promoted, note="proposals promoted")
        return promoted

    async def compare_space(_run: JobRun, *, space: str) -> int:
        return (await compare_meanings(deps, SpaceId(space))).suggested

    async def fingerprint_anew(_run: JobRun, *, space: str) -> int:
        return await refingerprint(deps, SpaceId(space))

    async def profile_changed(transaction: Transaction, event: Event) -> None:
        if event.payload["key"] == "proposals.profile":
            for space in app.directory.ids():
                await deps.ask(transaction, REFINGERPRINT, space=space)

    async def remind_everywhere(_run: JobRun) -> int:
        return sum([(await send_digest(deps, space)).open for space in app.directory.ids()])

    app.jobs.register(PROMOTE, promote_everywhere, queue=Queue.SLEEP, schedule="proposals.promote_schedule")
    app.jobs.register(COMPARE, compare_space, queue=Queue.JUDGE, limit=COMPARING_LIMIT)
    app.jobs.register(REFINGERPRINT, fingerprint_anew, queue=Queue.SLEEP)
    app.jobs.register(DIGEST, remind_everywhere, queue=Queue.SEND, schedule="proposals.digest_schedule")
    app.outbox.subscribe("setting_changed", REFINGERPRINT, profile_changed)


Look = Callable[[ProposalDeps, Transaction, Event], Awaitable[list[DetectorFinding]]]

DETECT = "detect_{}"
"""How the subscriber of a detector is called."""
UNKNOWN_NAMES = "detect_unknown_names"
EACH_HOUR = "23 * * * *"


def register_detectors(app: "App", deps: ProposalDeps) -> None:
    """Let each detector hear of what it looks at."""

    def asks_a_person(event: Event) -> bool:
        return is_warning(event) and app.settings.for_space(event.space).memory.censor_escalation != AUTO

    listen = _listener(app, deps)
    listen("episode_closed", DetectorName.TOOL_FAILURE, tool_failure.find_tool_failures)
    listen("loop_detected", DetectorName.LOOP, patterns.find_loops)
    listen("censor_triggered", DetectorName.CENSOR_HITS, patterns.find_censor_hits, asks_a_person)
    listen("conflict_opened", DetectorName.CONFLICT_CHURN, patterns.find_conflict_churn, patterns.is_edge_conflict)
    listen("outcome_recorded", DetectorName.MISLEADING, patterns.find_misleading, patterns.is_contradicted)
    listen("concept_wanted", DetectorName.ZERO_HIT, _unknown)

    async def unknown_names(run: JobRun) -> int:
        found = 0
        for space in app.directory.ids():
            async with deps.store.transaction() as transaction:
                found += await record_findings(deps, transaction, space, await _looked_at(deps, transaction, space))
            await run.report(found, note="unknown names sighted")
        return found

    app.jobs.register(UNKNOWN_NAMES, unknown_names, queue=Queue.SLEEP, schedule=EACH_HOUR, low_value=True)


def _listener(app: "App", deps: ProposalDeps) -> Callable[..., None]:
    def listen(event: str, name: DetectorName, look: Look, wants: Wants = wants_all) -> None:
        async def hear(transaction: Transaction, told: Event) -> None:
            if not is_detector_enabled(deps, told.space, name):
                return
            try:
                found = await look(deps, transaction, told)
            except NotFound:  # forgotten meanwhile
                return
            await record_findings(deps, transaction, told.space, found)

        app.outbox.subscribe(event, DETECT.format(name), hear, queue=Queue.SLEEP, wants=wants)

    return listen


def is_detector_enabled(deps: ProposalDeps, space: SpaceId, name: DetectorName) -> bool:
    """Whether a detector looks at a space."""
    return bool(getattr(deps.terms(space).detectors, name.value).enabled)


async def record_findings(
    deps: ProposalDeps, transaction: Transaction, space: SpaceId, found: Sequence[DetectorFinding]
) -> int:
    """Sight what a detector found; how many findings there were."""
    for each in found:
        await record_sighting_in(deps, transaction, space, finding_to_suggestion(each))
    return len(found)


async def _unknown(deps: ProposalDeps, transaction: Transaction, event: Event) -> list[DetectorFinding]:
    return await patterns.find_unknown_names(deps, transaction, event.space)


async def _looked_at(deps: ProposalDeps, transaction: Transaction, space: SpaceId) -> list[DetectorFinding]:
    if not is_detector_enabled(deps, space, DetectorName.ZERO_HIT):
        return []
    return await patterns.find_unknown_names(deps, transaction, space)


REFLECTING_LIMIT = timedelta(minutes=10)


def register_reflection(app: "App", deps: ProposalDeps) -> None:
    """Make the job and its subscriber known."""

    async def writer(space: SpaceId) -> Model | None:
        return await app.model(ModelPurpose.WRITE, ModelCaller(space=space))

    mirror = ReflectionDeps(deps=deps, memory=app.memory.deps, writer=writer)

    async def look_back(_run: JobRun, *, space: str, episode: str) -> int:
        with suppress(NotFound):  # forgotten meanwhile
            return len(await reflect(mirror, SpaceId(space), UUID(episode)))
        return 0

    async def ask(transaction: Transaction, event: Event) -> None:
        await enqueue_reflection(deps, transaction, event)

    app.outbox.subscribe("episode_closed", REFLECT, ask)
    app.jobs.register(REFLECT, look_back, queue=Queue.JUDGE, limit=REFLECTING_LIMIT, low_value=True)
