"""The three hooks through which a program says what it did with memories.

`on_read` when somebody fetched one, `on_surfaced` when some were put before a model, `on_context_used` when it is
known what became of them. Only the last is evidence. Where memories are taken, their ids are too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, ClassVar
from uuid import UUID

from festinger.memory.memory import Memory
from festinger.outcomes.defaults import Defaults
from festinger.outcomes.desk import DEFAULT_PARTITION, Desk, Reporter
from festinger.outcomes.effects import State
from festinger.outcomes.observed import Observed, id_of, memory_id, report_of
from festinger.outcomes.predictions import (
    Kept,
    prediction_errors,
    record_prediction,
    resolve_prediction,
)
from festinger.outcomes.reads import stage
from festinger.outcomes.report import observe
from festinger.outcomes.rhythms import Declared, Strong, set_rhythm, top_by_strength
from festinger.outcomes.surfacing import Surfacing, expire, pending, surface

Named = Memory | UUID | str
"""A memory, or its id."""


class ObservationProtocol:
    """The hooks, bound to one handle: its space, agent and session. Made by `memory.observation`."""

    def __init__(self, desk: Desk, reporter: Reporter, defaults: Defaults | None = None) -> None:
        self.defaults = defaults or Defaults(desk.terms(reporter.place.space))
        self.reporter = reporter
        self._desk = replace(desk, terms=lambda _space: self.defaults.settings)

    @property
    def proposals(self) -> "RecallProposal":
        """What was surfaced and waits for an outcome."""
        return RecallProposal(desk=self._desk, reporter=self.reporter)

    async def on_read(self, memory: Named, *, partition: str | None = None) -> None:
        """Note that a memory was read; it counts once it was used. An unknown id is passed over."""
        if (wanted := memory_id(id_of(memory))) is not None:
            async with self._desk.store.transaction() as transaction:
                await stage(self._desk, transaction, self.reporter, [wanted], partition=partition)

    async def on_surfaced(
        self,
        memories: Sequence[Named],
        reason: str = "proactive",
        partition: str | None = None,
        *,
        turn: UUID | None = None,
        recall: UUID | None = None,
    ) -> list[Surfacing]:
        """Note that memories were put before a model, in their order; they themselves do not change."""
        wanted = [found for each in memories if (found := memory_id(id_of(each))) is not None]
        if not wanted:
            return []
        async with self._desk.store.transaction() as transaction:
            return await surface(
                self._desk,
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
    ) -> Observed:
        """Say what became of memories, all of it or nothing; one that is not in the map was not dealt with.

        Raises `UnknownOutcome`, `BadInput`, `Replayed`.
        """
        report = report_of(
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
        return await observe(self._desk, self.reporter, report)

    async def set_rhythm(
        self,
        memory: Named,
        cycles: Sequence[Declared] = (),
        pressure_rate: float = 0.0,
        decay_rate: float | None = None,
    ) -> State:
        """Say how the strength of a memory moves with time. Raises `NotFound`, `BadInput`."""
        return await set_rhythm(
            self._desk,
            self.reporter.place,
            UUID(id_of(memory)),
            cycles=cycles,
            pressure_rate=pressure_rate,
            decay_rate=decay_rate,
        )

    async def top_by_strength(self, n: int) -> list[Strong]:
        """The strongest memories now."""
        return await top_by_strength(self._desk, self.reporter.place, n)

    async def record_prediction(self, memory: Named, predicted: Mapping[str, Any] | None) -> None:
        """Keep what a memory is expected to lead to. Raises `NotFound`, `ValueError` for nothing."""
        await record_prediction(self._desk, self.reporter.place, UUID(id_of(memory)), predicted)

    async def resolve_prediction(self, memory: Named, actual: Mapping[str, Any]) -> float | None:
        """Say what came; how far it was off, or none if nothing was open."""
        return await resolve_prediction(self._desk, self.reporter, UUID(id_of(memory)), actual)

    async def prediction_errors(self, limit: int = 50) -> list[Kept]:
        """Predictions that came to their end, the most wrong first."""
        return await prediction_errors(self._desk, self.reporter.place, limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallProposal:
    """What was surfaced in a partition and waits for an outcome."""

    DEFAULT_TTL: ClassVar[int] = 3600

    desk: Desk
    reporter: Reporter

    async def get_pending(self, partition: str = DEFAULT_PARTITION) -> list[Surfacing]:
        """What waits, oldest first."""
        return await pending(self.desk, self.reporter.place.space, partition)

    async def expire_stale(self, ttl: float = DEFAULT_TTL) -> list[Surfacing]:
        """End what has waited longer than so many seconds; those that ended."""
        return await expire(self.desk, self.reporter.place.space, ttl=timedelta(seconds=ttl))
