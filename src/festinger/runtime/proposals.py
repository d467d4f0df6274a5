"""Wires proposals into the app: inbox, decisions, detectors and reflection.

Builds the dependencies, runs the promotion gate on its schedule and looks for proposals of the same meaning.
Detectors record what they find in the transaction of their delivery, so that it is found once; unknown names
are checked each hour. Reflection on a closed episode is a background job: a slow model delays nobody, a
missing one skips it. A blocking censor that is mostly wrong is proposed for demotion in fixed words, so that
repeats are one proposal; whoever called the match wrong is its cause.
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
    """Propose that a blocking censor that is wrong more often than not only warns. Subscribes to
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
    """What people decide, as this process opens it. Methods raise what the operations they call raise."""

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
        """Preview what an approval would find and do now."""
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
        """List what else waits for a person, in every other package."""
        return await list_pending_groups(self.sources, space, limit=limit)


def add_producer_values(deps: ProposalDeps) -> ProposalDeps:
    """Add the value of each producer's past proposals to the dependencies."""
    return replace(deps, values=partial(load_value_scores, deps), muted_until=partial(load_muted_until, deps))


def build_decisions(app: "App", deps: ProposalDeps) -> DecisionService:
    """Build the decision service with its dependencies."""

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
    """Register the jobs and subscribers of decisions."""

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
    """Return the memories and conflicts that a payload names, as they are."""
    payload = proposal.payload
    named = [*payload.get("ids", ()), *payload.get("memory_ids", ()), payload.get("memory_id")]
    found = await find_memories(transaction, space, _ids(named))
    memories = [
        {"id": str(id_), "content": memory.content, "status": memory.status.value} for id_, memory in found.items()
    ]
    return {"memories": memories, "conflicts": [str(each) for each in _ids([payload.get("conflict_id")])]}


def _ids(given: Sequence[object]) -> list[UUID]:
    """Keep the texts that are ids: a payload may come from a model."""
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
    """The inbox of proposals, as this process opens it."""

    deps: ProposalDeps

    async def sight(self, space: SpaceId, suggestion: Suggestion) -> SightingResult:
        return await record_sighting(self.deps, space, suggestion)

    async def sight_in(self, transaction: Transaction, space: SpaceId, suggestion: Suggestion) -> SightingResult:
        """Like `sight`, within the caller's transaction; a refusal is returned and not raised."""
        return await record_sighting_in(self.deps, transaction, space, suggestion)

    async def promote(self, space: SpaceId, *, dry_run: bool = False) -> PromotionReport:
        return await promote(self.deps, space, dry_run=dry_run)

    async def page(self, space: SpaceId, wanted: ProposalQuery) -> list[Proposal]:
        return await inbox.list_proposals(self.deps, space, wanted)

    async def card(self, space: SpaceId, id_: UUID) -> ProposalCard:
        return await inbox.load_card(self.deps, space, id_)

    async def find(self, space: SpaceId, text: str) -> ProposalId:
        """Find the proposal by an id or a prefix of it."""
        return await inbox.resolve_proposal_id(self.deps, space, text)

    async def explain(self, space: SpaceId, a: UUID, b: UUID) -> FingerprintComparison:
        """Explain why two proposals are not one."""
        one, other = await self.card(space, a), await self.card(space, b)
        return compare_fingerprints(one.proposal, other.proposal)

    async def pairs(self, space: SpaceId, *, limit: int = 50) -> list[dict[str, Any]]:
        return await pairs.list_suggested_pairs(self.deps, space, limit=limit)

    async def observed(self, space: SpaceId, *, exclude: Collection[UUID] = ()) -> list[Proposal]:
        """Return what an agent may read as past observations; nothing where that is off."""
        return await load_observations(self.deps, space, exclude=exclude)

    async def still_observed(self, space: SpaceId, ids: Collection[UUID]) -> list[Proposal]:
        return await reload_observations(self.deps, space, ids)

    async def take_back(
        self, transaction: Transaction, space: SpaceId, selector: Selector, bad: Collection[MemoryId]
    ) -> SourceWithdrawalResult:
        """Withdraw a source's sightings, within the transaction of the repair."""
        done = await withdraw_sightings(self.deps, transaction, space, selector, bad=bad)
        return SourceWithdrawalResult(rows=len(done.sightings), kept=done.as_json(), cited=tuple(done.sightings))

    async def give_back(self, transaction: Transaction, space: SpaceId, kept: Mapping[str, Any]) -> None:
        """Reinstate them, within the transaction that undoes the repair."""
        await reinstate_sightings(self.deps, transaction, space, kept)

    async def rate(self, space: SpaceId) -> PromotionRate:
        return await load_promotion_rate(self.deps, space)


def build_inbox(app: "App") -> InboxService:
    """Build the inbox service with its dependencies."""

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
    """Register the jobs of the inbox and its subscriber."""
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
"""The name of a detector's subscriber."""
UNKNOWN_NAMES = "detect_unknown_names"
EACH_HOUR = "23 * * * *"


def register_detectors(app: "App", deps: ProposalDeps) -> None:
    """Subscribe each detector to the events it examines."""

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
    """Whether a detector is enabled in a space."""
    return bool(getattr(deps.terms(space).detectors, name.value).enabled)


async def record_findings(
    deps: ProposalDeps, transaction: Transaction, space: SpaceId, found: Sequence[DetectorFinding]
) -> int:
    """Record what a detector found; return the number of findings."""
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
    """Register the reflection job and its subscriber."""

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
