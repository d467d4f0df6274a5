"""Provides the three hooks through which a program reports what it did with memories.

`on_read` when one was fetched, `on_surfaced` when some were put before a model, `on_context_used` when it is
known what became of them. Only the last is evidence: a read is staged until an outcome says that the memory
was used, and is discarded otherwise. Wherever memories are accepted, their ids are too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, ClassVar
from uuid import UUID

from festinger.ids import SpaceId
from festinger.memory.model import Memory
from festinger.observability.metrics import OUTCOMES_SKIPPED
from festinger.outcomes.effects import OutcomeState
from festinger.outcomes.model import (
    DEFAULT_PARTITION,
    Defaults,
    ObserveResult,
    OutcomeDeps,
    Reporter,
    build_outcome_report,
    id_of,
    parse_memory_id,
)
from festinger.outcomes.report import observe
from festinger.outcomes.store import (
    Declared,
    MemoryPrediction,
    RankedMemory,
    prediction_errors,
    record_prediction,
    resolve_prediction,
    set_rhythm,
    top_by_strength,
)
from festinger.outcomes.surface import Surfacing, expire_surfacings, list_pending_surfacings, record_surfacings
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.outcomes")


async def stage_reads(
    deps: OutcomeDeps,
    transaction: Transaction,
    reporter: Reporter,
    memories: Sequence[UUID],
    *,
    partition: str | None = None,
) -> int:
    """Stage reads of memories; return how many of them exist. One listed twice was read twice."""
    if not memories:
        return 0
    now, space = deps.clock(), reporter.scope.space
    rows = await transaction.all(
        Q["stage_reads"],
        space=space,
        ids=[deps.new_id() for _ in memories],
        memories=list(memories),
        agent=reporter.scope.agent,
        partition=partition or reporter.partition,
        at=now,
        expires=now + timedelta(seconds=deps.terms(space).staged_ttl_s),
    )
    known = {row["id"] for row in rows}
    missing = sum(memory not in known for memory in memories)
    if missing:
        OUTCOMES_SKIPPED.labels("unknown").inc(missing)
    return len(memories) - missing


async def prune_expired_reads(deps: OutcomeDeps, space: SpaceId) -> int:
    """Discard staged reads that have expired."""
    return await deps.store.run(Q["prune_reads"], space=space, at=deps.clock())


Named = Memory | UUID | str
"""A memory, or its id."""


class ObservationProtocol:
    """The hooks, bound to one handle: its space, agent and session. Made by `memory.observation`."""

    def __init__(self, deps: OutcomeDeps, reporter: Reporter, changed: dict[str, Any] | None = None) -> None:
        self.defaults = Defaults(deps.terms(reporter.scope.space), changed)
        self.reporter = reporter
        self.deps = replace(deps, terms=lambda _space: self.defaults.settings)

    @property
    def proposals(self) -> "RecallProposal":
        """What was surfaced and awaits an outcome."""
        return RecallProposal(deps=self.deps, reporter=self.reporter)

    async def on_read(self, memory: Named, *, partition: str | None = None) -> None:
        """Stage a read of a memory; it counts once the memory was used. An unknown id is ignored."""
        if (wanted := parse_memory_id(id_of(memory))) is not None:
            async with self.deps.store.transaction() as transaction:
                await stage_reads(self.deps, transaction, self.reporter, [wanted], partition=partition)

    async def on_surfaced(
        self,
        memories: Sequence[Named],
        reason: str = "proactive",
        partition: str | None = None,
        *,
        turn: UUID | None = None,
        recall: UUID | None = None,
    ) -> list[Surfacing]:
        """Record that memories were put before a model, in this order; the memories do not change."""
        wanted = [found for each in memories if (found := parse_memory_id(id_of(each))) is not None]
        if not wanted:
            return []
        async with self.deps.store.transaction() as transaction:
            return await record_surfacings(
                self.deps,
                transaction,
                self.reporter,
                wanted,
                reason=reason,
                partition=partition,
                turn=turn,
                recall=recall,
            )

    async def on_context_used(
        self,
        memories: Sequence[Named],
        outcome_map: Mapping[Any, Any],
        partition: str | None = None,
        key: str | None = None,
        credit: Mapping[str, float] | None = None,
        superseded_by: Mapping[Any, Any] | None = None,
        *,
        turn: UUID | None = None,
        recall: UUID | None = None,
        q: Mapping[str, float] | None = None,
    ) -> ObserveResult:
        """Report what became of memories, all or nothing; one missing from the map is deferred.

        Raises `UnknownOutcome`, `BadInput`, `Replayed`.
        """
        report = build_outcome_report(
            memories,
            outcome_map,
            partition=partition,
            turn=turn,
            recall=recall,
            key=key,
            credit=credit,
            superseded_by=superseded_by or {},
            q=q or {},
        )
        return await observe(self.deps, self.reporter, report)

    async def set_rhythm(
        self,
        memory: Named,
        cycles: Sequence[Declared] = (),
        pressure_rate: float = 0.0,
        decay_rate: float | None = None,
    ) -> OutcomeState:
        """Set how the strength of a memory moves with time. Raises `NotFound`, `BadInput`."""
        return await set_rhythm(
            self.deps,
            self.reporter.scope,
            UUID(id_of(memory)),
            cycles=cycles,
            pressure_rate=pressure_rate,
            decay_rate=decay_rate,
        )

    async def top_by_strength(self, n: int) -> list[RankedMemory]:
        """Return the strongest memories now."""
        return await top_by_strength(self.deps, self.reporter.scope, n)

    async def record_prediction(self, memory: Named, predicted: Mapping[str, Any] | None) -> None:
        """Record what a memory is expected to lead to. Raises `NotFound`, and `ValueError` for None."""
        await record_prediction(self.deps, self.reporter.scope, UUID(id_of(memory)), predicted)

    async def resolve_prediction(self, memory: Named, actual: Mapping[str, Any]) -> float | None:
        """Report what came; return the prediction error, or None if no prediction was open."""
        return await resolve_prediction(self.deps, self.reporter, UUID(id_of(memory)), actual)

    async def prediction_errors(self, limit: int = 50) -> list[MemoryPrediction]:
        """List resolved predictions, largest error first."""
        return await prediction_errors(self.deps, self.reporter.scope, limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallProposal:
    """What was surfaced in a partition and awaits an outcome."""

    DEFAULT_TTL: ClassVar[int] = 3600

    deps: OutcomeDeps
    reporter: Reporter

    async def get_pending(self, partition: str = DEFAULT_PARTITION) -> list[Surfacing]:
        """List what awaits an outcome, oldest first."""
        return await list_pending_surfacings(self.deps, self.reporter.scope.space, partition)

    async def expire_stale(self, ttl: float = DEFAULT_TTL) -> list[Surfacing]:
        """Expire what has waited longer than `ttl` seconds; return what expired."""
        return await expire_surfacings(self.deps, self.reporter.scope.space, ttl=timedelta(seconds=ttl))
