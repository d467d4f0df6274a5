"""Wires retrieval and outcomes into the app.

Recalls are recorded in the background. Captured exchanges are read for the outcomes of their notes, and
surfacings without a report expire.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import structlog

from festinger.errors import FestingerError
from festinger.events.catalogue import Event
from festinger.ids import MemoryId, Origin, Scope, SessionId, SpaceId
from festinger.jobs.model import JobRun, Queue
from festinger.memory.erasure.repair import SourceWithdrawalResult
from festinger.memory.erasure.selector import ErasureSelector
from festinger.observability.metrics import OUTCOMES_FAULTS, OUTCOMES_SKIPPED
from festinger.outcomes.capture import CAPTURED, infer_and_report_exchange, select_events_with_notes
from festinger.outcomes.corrections import CORRECT, learn_correction
from festinger.outcomes.model import OutcomeDeps, Reporter
from festinger.outcomes.protocol import ObservationProtocol, prune_expired_reads, stage_reads
from festinger.outcomes.replay import reinstate_outcomes, withdraw_outcomes
from festinger.outcomes.report import prune_report_keys
from festinger.outcomes.surface import MOST_EXPIRED, expire_surfacings, record_surfacings
from festinger.retrieval.deps import RetrievalConfig, RetrievalDeps
from festinger.retrieval.index.terms import NonEmptySpaces, count_words_of_changed_texts, recount_words
from festinger.retrieval.index.turns import count_embedded_parts, index_turns
from festinger.retrieval.lessons import HEARD as OUTCOME
from festinger.retrieval.lessons import embed_questions, record_cue_outcomes
from festinger.retrieval.log import prune_recalls
from festinger.store.pool import Transaction
from festinger.store.vectors import READ_WHOLE_BELOW, EmbeddingModelSpec, ensure_index

if TYPE_CHECKING:
    from festinger.runtime.app import App


COUNT_WORDS = "count_words"
RECOUNT_WORDS = "recount_words"
INDEX_TURNS = "index_turns"
TEND_RECALLS = "tend_recalls"
LEARN_QUESTIONS = "learn_questions"

EACH_MINUTE = "* * * * *"
RECALLS_NIGHTLY = "41 3 * * *"
TURN_TABLE = "turn_index"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallService:
    """Recall, as this process opens it."""

    deps: RetrievalDeps
    holdings: NonEmptySpaces


def build_recall_service(app: "App") -> RecallService:

    def terms(space: SpaceId) -> RetrievalConfig:
        chosen = app.settings.for_space(space)
        trusts = {Origin(name): number for name, number in chosen.memory.trusts.items()}
        return RetrievalConfig(
            retrieval=chosen.retrieval,
            outcomes=chosen.outcomes,
            rerank_timeout_ms=chosen.rerank.timeout_ms,
            reranks=bool(chosen.rerank.model),
            trusts=lambda origin: trusts.get(Origin(origin), 0.5),
        )

    async def on_surfaced(transaction: Transaction, place: Scope, memories: Sequence[UUID], recall: UUID) -> None:
        await app.outcomes.on_surfaced(transaction, place, memories, recall=recall, reason="recall")

    deps = RetrievalDeps(
        store=app.store,
        outbox=app.outbox,
        clock=app.tools.clock,
        stopwatch=app.tools.stopwatch,
        new_id=app.tools.new_id,
        terms=terms,
        embedder=lambda: app.embedder,
        reranker=lambda: app.reranker,
        memory=app.memory.deps,
        on_read=app.outcomes.on_read,
        later=app.afterwards.write,
        on_surfaced=on_surfaced,
    )
    return RecallService(deps=deps, holdings=NonEmptySpaces(app.tools.stopwatch))


def register_recall_jobs(app: "App", room: RecallService) -> None:
    deps = room.deps

    async def count(_run: JobRun) -> None:
        for space in app.directory.ids():
            await count_words_of_changed_texts(deps, space)

    async def count_anew(_run: JobRun, *, space: str) -> int:
        return await recount_words(deps, SpaceId(space))

    async def index(_run: JobRun) -> None:
        for space in app.directory.ids():
            await index_turns(deps, space, between=app.jobs.courtesy.turn)
            await embed_questions(deps, space)
            await count_words_of_changed_texts(deps, space)
        await _index_vectors(app, room)

    async def tend(_run: JobRun) -> None:
        for space in app.directory.ids():
            await prune_recalls(deps, space)

    app.jobs.register(COUNT_WORDS, count, queue=Queue.INDEX, schedule=EACH_MINUTE)
    app.jobs.register(RECOUNT_WORDS, count_anew, queue=Queue.INDEX, limit=timedelta(hours=6))
    app.jobs.register(INDEX_TURNS, index, queue=Queue.INDEX, schedule=EACH_MINUTE, limit=timedelta(hours=6))
    app.jobs.register(TEND_RECALLS, tend, queue=Queue.SLEEP, schedule=RECALLS_NIGHTLY)
    app.outbox.subscribe(OUTCOME, LEARN_QUESTIONS, record_cue_outcomes)


async def _index_vectors(app: "App", room: RecallService) -> None:
    """Ensure the vector index of the current model once a space has enough parts to be searched by it."""
    if (embedder := app.embedder) is None:
        return
    model, enough = EmbeddingModelSpec(name=embedder.name, dims=embedder.dimensions), READ_WHOLE_BELOW // 2
    for space in app.directory.ids():
        if await count_embedded_parts(room.deps, space, model.name, most=enough) >= enough:
            await ensure_index(app.store, TURN_TABLE, model, column="embedding")
            return


log = structlog.get_logger(room="outcomes")

EXPIRE = "expire_surfacings"
TEND = "tend_outcomes"
OVERHEAR = "infer_outcomes"
OUTCOMES_NIGHTLY = "47 3 * * *"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomesService:
    """Outcomes of memories, as this process opens it."""

    deps: OutcomeDeps

    async def on_read(self, transaction: Transaction, scope: Scope, memories: Sequence[UUID]) -> int:
        """Record that memories were read, within the caller's transaction."""
        return await stage_reads(self.deps, transaction, self._reporter(scope), memories)

    async def record_reads_safely(self, scope: Scope, memories: Sequence[UUID]) -> None:
        """Record reads in a transaction of their own. A failure here fails nobody's read."""
        try:
            async with self.deps.store.transaction() as transaction:
                await self.on_read(transaction, scope, memories)
        except FestingerError as error:
            OUTCOMES_SKIPPED.labels("unwritten").inc(len(memories))
            log.warning("reads not noted", memories=len(memories), why=error.message)

    async def on_surfaced(
        self, transaction: Transaction, scope: Scope, memories: Sequence[UUID], *, recall: UUID, reason: str
    ) -> None:
        """Record that a recall showed memories to a model, within the caller's transaction."""
        await record_surfacings(self.deps, transaction, self._reporter(scope), memories, reason=reason, recall=recall)

    async def take_back(
        self, transaction: Transaction, space: SpaceId, selector: ErasureSelector, _bad: Collection[MemoryId]
    ) -> SourceWithdrawalResult:
        """Withdraw what a source reported, within the transaction of the repair."""
        done = await withdraw_outcomes(self.deps, transaction, space, selector)
        kept = {"outcomes": [str(each) for each in done.outcomes]}
        return SourceWithdrawalResult(rows=len(done.memories), kept=kept)

    async def give_back(self, transaction: Transaction, space: SpaceId, kept: Mapping[str, Any]) -> None:
        """Reinstate what was withdrawn, within the transaction that undoes the repair."""
        await reinstate_outcomes(self.deps, transaction, space, [UUID(each) for each in kept["outcomes"]])

    def protocol(self, reporter: Reporter, changed: dict[str, Any] | None = None) -> ObservationProtocol:
        return ObservationProtocol(self.deps, reporter, changed)

    def _reporter(self, scope: Scope) -> Reporter:
        return Reporter(scope=scope, name="recall", door="recall", origin=Origin.SYSTEM)


def build_outcomes_service(app: "App") -> OutcomesService:
    deps = OutcomeDeps(
        store=app.store,
        outbox=app.outbox,
        clock=app.tools.clock,
        new_id=app.tools.new_id,
        terms=lambda space: app.settings.for_space(space).outcomes,
        memory=app.memory.deps,
        world=app.world.deps,
    )
    return OutcomesService(deps=deps)


def register_outcome_jobs(app: "App", room: OutcomesService) -> None:
    deps = room.deps

    async def expire_everywhere(run: JobRun) -> None:
        ended = 0
        for space in app.directory.ids():
            while found := await expire_surfacings(deps, space):
                ended += len(found)
                await run.report(ended, note="surfacings expired")
                if len(found) < MOST_EXPIRED:
                    break

    async def tend(_run: JobRun) -> None:
        for space in app.directory.ids():
            await prune_expired_reads(deps, space)
            await prune_report_keys(deps, space)

    async def infer(transaction: Transaction, event: Event) -> None:
        try:
            async with transaction.savepoint():
                await infer_and_report_exchange(deps, transaction, event)
        except (FestingerError, ValueError, KeyError, TypeError) as error:
            # What cannot be read is counted and skipped: the surfacing then expires by itself.
            OUTCOMES_FAULTS.inc()
            log.warning("outcomes not inferred", session=event.session, error=type(error).__name__)
            if isinstance(error, FestingerError) and error.http == 503:
                raise

    async def infer_all(transaction: Transaction, events: Sequence[Event]) -> None:
        for event in await select_events_with_notes(transaction, events):
            await infer(transaction, event)

    async def correct(_run: JobRun, *, space: str, memory: str, session: str) -> None:
        await learn_correction(deps, SpaceId(space), UUID(memory), session=SessionId(session))

    app.jobs.register(CORRECT, correct, queue=Queue.JUDGE)
    app.jobs.register(EXPIRE, expire_everywhere, queue=Queue.SLEEP, schedule=EACH_MINUTE)
    app.jobs.register(TEND, tend, queue=Queue.SLEEP, schedule=OUTCOMES_NIGHTLY)
    app.outbox.subscribe(CAPTURED, OVERHEAR, infer, batch=infer_all)
