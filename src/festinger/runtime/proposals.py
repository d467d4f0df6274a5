"""Wires proposals into the app: inbox, decisions, detectors and reflection.

Builds the dependencies, runs the promotion gate on its schedule and looks for proposals of the same meaning.
Detectors record what they find in the transaction of their delivery, so that it is found once; unknown names
are checked each hour. Reflection on a closed episode is a background job: a slow model delays nobody, a
missing one skips it. A blocking censor that is mostly wrong is proposed for demotion in fixed words, so that
repeats are one proposal; whoever called the match wrong is its cause.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from festinger.errors import BadInput, NotFound
from festinger.events.catalogue import Event
from festinger.events.outbox import Wants, wants_all
from festinger.ids import DEFAULT_AGENT, MemoryId, Origin, SessionId, SpaceId, cause, read_id
from festinger.jobs.model import JobRun, Queue
from festinger.llm.model import ModelPurpose
from festinger.memory.censors.censor import CensorAction, is_mostly_wrong
from festinger.memory.censors.edit import lock_censor
from festinger.memory.censors.escalation import AUTO, is_warning_trigger
from festinger.memory.changes import load_existing_memories
from festinger.memory.episodes.lessons import link_decision_to_episode
from festinger.memory.erasure.repair import SourceWithdrawalResult
from festinger.memory.erasure.selector import ErasureSelector
from festinger.proposals.deps import ProposalDeps, ReviewDeps
from festinger.proposals.detectors import patterns, tool_failure
from festinger.proposals.detectors.patterns import DetectorFinding, DetectorName, finding_to_suggestion
from festinger.proposals.erase import reinstate_sightings, withdraw_sightings
from festinger.proposals.inbox import Sources
from festinger.proposals.model import Proposal, ProposalType, VerdictKind
from festinger.proposals.pairs import PROMOTE
from festinger.proposals.producers import load_muted_until, load_producer_scores
from festinger.proposals.promotion import promote
from festinger.proposals.reflection import REFLECT, ReflectionDeps, enqueue_reflection, reflect
from festinger.proposals.sightings.intake import COMPARE, record_sighting_in_transaction, select_new_suggestions
from festinger.proposals.sightings.recount import Suggestion, detector_producer
from festinger.proposals.sightings.similarity import suggest_similar_pairs
from festinger.proposals.verdicts.decide import load_verdict_of_event, resume_pending_verdicts
from festinger.proposals.verdicts.reevaluation import REEVALUATE, reevaluate
from festinger.runtime.effects.registry import build_effects
from festinger.runtime.memory import has_session
from festinger.runtime.review.queue import build_waiting_sources
from festinger.store.pool import Transaction

if TYPE_CHECKING:
    from festinger.runtime.app import App


MISFIRES = detector_producer("censor_misfires")


async def propose_censor_demotion(deps: ProposalDeps, transaction: Transaction, event: Event) -> None:
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
    await record_sighting_in_transaction(deps, transaction, event.space, said)


TAKE_UP = "take_up_verdicts"
TIE = "tie_verdict"
WEAKEN = "propose_weaker_censor"
EACH_MINUTE = "* * * * *"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionService:
    """What people decide, as this process opens it, and what waits for them in other packages."""

    office: ReviewDeps
    sources: Sources


def build_decision_service(app: "App", deps: ProposalDeps) -> DecisionService:
    office = ReviewDeps(
        deps=deps,
        effects=build_effects(app, deps),
        thinker=app.model_for(ModelPurpose.SYSTEM2),
        related=find_related_memories,
    )
    return DecisionService(office=office, sources=build_waiting_sources(app, deps))


def register_decision_jobs(app: "App", room: DecisionService) -> None:

    async def think(_run: JobRun, *, space: str, proposal: str, kind: str) -> None:
        await reevaluate(room.office, SpaceId(space), UUID(proposal), kind=VerdictKind(kind))

    async def take_up_everywhere(run: JobRun) -> None:
        taken = 0
        for space in app.directory.ids():
            taken += await resume_pending_verdicts(room.office, space)
            await run.report(taken, note="verdicts taken up")

    async def tie(transaction: Transaction, event: Event) -> None:
        verdict = await load_verdict_of_event(transaction, event.space, event.payload)
        if verdict is not None:
            await link_decision_to_episode(app.memory.deps, transaction, event, target="verdict", id_=verdict.id)

    app.outbox.subscribe("proposal_decided", TIE, tie, wants=has_session)
    app.outbox.subscribe("censor_false_positive", WEAKEN, partial(propose_censor_demotion, room.office.deps))
    app.jobs.register(REEVALUATE, think, queue=Queue.JUDGE)
    app.jobs.register(TAKE_UP, take_up_everywhere, schedule=EACH_MINUTE)


async def find_related_memories(transaction: Transaction, space: SpaceId, proposal: Proposal) -> Mapping[str, Any]:
    """Return the memories and conflicts that a payload names, as they are."""
    payload = proposal.payload
    named = [*payload.get("ids", ()), *payload.get("memory_ids", ()), payload.get("memory_id")]
    found = await load_existing_memories(transaction, space, _ids(named))
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

    async def take_back(
        self, transaction: Transaction, space: SpaceId, selector: ErasureSelector, bad: Collection[MemoryId]
    ) -> SourceWithdrawalResult:
        """Withdraw a source's sightings, within the transaction of the repair."""
        done = await withdraw_sightings(self.deps, transaction, space, selector, bad=bad)
        return SourceWithdrawalResult(rows=len(done.sightings), kept=done.as_json(), cited=tuple(done.sightings))

    async def give_back(self, transaction: Transaction, space: SpaceId, kept: Mapping[str, Any]) -> None:
        """Reinstate them, within the transaction that undoes the repair."""
        await reinstate_sightings(self.deps, transaction, space, kept)


def build_inbox_service(app: "App") -> InboxService:

    deps = ProposalDeps(
        store=app.store,
        outbox=app.outbox,
        clock=app.tools.clock,
        new_id=app.tools.new_id,
        terms=lambda space: app.settings.for_space(space).proposals,
        ask=app.request_job,
        values=lambda transaction, space: load_producer_scores(deps, transaction, space),
        muted_until=lambda transaction, space, key: load_muted_until(deps, transaction, space, key),
        judges=app.memory.judges,
        embedder=lambda: app.embedder,
    )
    return InboxService(deps=deps)


def register_inbox_jobs(app: "App", room: InboxService) -> None:
    deps = room.deps

    async def promote_everywhere(run: JobRun) -> int:
        promoted = 0
        for space in app.directory.ids():
            promoted += (await promote(deps, space)).promoted
            await run.report(promoted, note="proposals promoted")
        return promoted

    async def compare_space(_run: JobRun, *, space: str) -> int:
        return (await suggest_similar_pairs(deps, SpaceId(space))).suggested

    app.jobs.register(PROMOTE, promote_everywhere, queue=Queue.SLEEP, schedule="proposals.promote_schedule")
    app.jobs.register(COMPARE, compare_space, queue=Queue.JUDGE, limit=COMPARING_LIMIT)


Look = Callable[[ProposalDeps, Transaction, Event], Awaitable[list[DetectorFinding]]]

DETECT = "detect_{}"
"""The name of a detector's subscriber."""
UNKNOWN_NAMES = "detect_unknown_names"
EACH_HOUR = "23 * * * *"


def register_detectors(app: "App", deps: ProposalDeps) -> None:
    """Subscribe each detector to the events it examines."""

    def asks_a_person(event: Event) -> bool:
        return is_warning_trigger(event) and app.settings.for_space(event.space).memory.censor_escalation != AUTO

    listen = _listener(app, deps)
    listen("episode_closed", DetectorName.TOOL_FAILURE, tool_failure.find_tool_failures)
    listen("loop_detected", DetectorName.LOOP, patterns.find_loops)
    listen("censor_triggered", DetectorName.CENSOR_HITS, patterns.find_censor_to_escalate, asks_a_person)
    listen("conflict_opened", DetectorName.CONFLICT_CHURN, patterns.find_dimension_to_split, patterns.is_edge_conflict)
    listen(
        "outcome_recorded", DetectorName.MISLEADING, patterns.find_misleading_memory, patterns.is_contradiction_event
    )
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
    return bool(getattr(deps.terms(space).detectors, name.value).enabled)


async def record_findings(
    deps: ProposalDeps, transaction: Transaction, space: SpaceId, found: Sequence[DetectorFinding]
) -> int:
    """Record what a detector found and has not reported before; return the number of findings."""
    for each in await select_new_suggestions(transaction, space, [finding_to_suggestion(each) for each in found]):
        await record_sighting_in_transaction(deps, transaction, space, each)
    return len(found)


async def _unknown(deps: ProposalDeps, transaction: Transaction, event: Event) -> list[DetectorFinding]:
    return await patterns.find_unknown_names(deps, transaction, event.space, concept=event.payload["concept_id"])


async def _looked_at(deps: ProposalDeps, transaction: Transaction, space: SpaceId) -> list[DetectorFinding]:
    if not is_detector_enabled(deps, space, DetectorName.ZERO_HIT):
        return []
    return await patterns.find_unknown_names(deps, transaction, space)


REFLECTING_LIMIT = timedelta(minutes=10)


def register_reflection_jobs(app: "App", deps: ProposalDeps) -> None:
    mirror = ReflectionDeps(deps=deps, memory=app.memory.deps, writer=app.model_for(ModelPurpose.WRITE))

    async def look_back(_run: JobRun, *, space: str, episode: str) -> int:
        with suppress(NotFound):  # forgotten meanwhile
            return len(await reflect(mirror, SpaceId(space), UUID(episode)))
        return 0

    app.outbox.subscribe("episode_closed", REFLECT, partial(enqueue_reflection, deps))
    app.jobs.register(REFLECT, look_back, queue=Queue.JUDGE, limit=REFLECTING_LIMIT, low_value=True)
