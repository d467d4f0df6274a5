"""Carries a running night through its steps: its limits, its model, its counts and what it has changed so far."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

import structlog

from festinger.consolidation.ceilings import Ceiling, SafetyEvent, WeightAction, limit_change
from festinger.consolidation.night import Night, NightDeps, PlannedChange, Q
from festinger.consolidation.resolution import CostTotal
from festinger.errors import FestingerError, StoreDown
from festinger.ids import Scope, SpaceId
from festinger.llm.model import AnswerSchema, Model, PromptMessage
from festinger.memory.confidence import Weight
from festinger.settings.consolidation import ConsolidationSettings
from festinger.store.pool import Transaction

log = structlog.get_logger(room="consolidation")

A = TypeVar("A", bound=AnswerSchema)


class UnitWaitsError(Exception):
    """The model gave no usable answer: the unit comes again in the next night."""


class LimitReachedError(Exception):
    """The night has reached one of its limits and begins nothing new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightUnit:
    """One piece of work. `plan` returns the changes; it may ask the model and writes nothing."""

    key: str
    plan: Callable[[], Awaitable[Sequence[PlannedChange]]]
    makes: bool = False
    """Whether it makes a new memory."""


@dataclass(slots=True, kw_only=True)
class NightContext:
    deps: NightDeps
    space: SpaceId
    night: Night
    scope: Scope
    model: Model | None
    terms: ConsolidationSettings
    until: float
    """When nothing new is begun anymore, by the stopwatch."""
    active: int = 0
    derived: int = 0
    enforced: Mapping[Ceiling, bool] = field(default_factory=dict)
    goals: dict[UUID, float] = field(default_factory=dict)
    """Centers of the goal-like memories."""
    counts: Counter[str] = field(default_factory=Counter)
    cost: CostTotal = field(default_factory=CostTotal)
    calls: int = 0
    preview: list[dict[str, Any]] = field(default_factory=list)
    left_over: list[dict[str, Any]] = field(default_factory=list)
    survey: dict[str, Any] = field(default_factory=dict)
    moved: dict[UUID, tuple[float, float]] = field(default_factory=dict)
    """How far this night moved each center, and where it is now."""
    changes: int = 0
    events: list[tuple[UUID, SafetyEvent]] = field(default_factory=list)

    @property
    def by(self) -> str:
        """The name under which the night changes memories."""
        return f"night:{self.night.id}"

    @property
    def agent(self) -> str | None:
        """The owner of the memories; None if they are shared."""
        return self.night.agent_id or None

    def check_limits(self, unit: NightUnit) -> None:
        """Raise if a unit must wait for the next night."""
        if self.deps.memory.stopwatch() >= self.until:
            raise LimitReachedError
        if unit.makes and (self.counts["made"] >= self.terms.max_new or not self._has_room()):
            raise LimitReachedError

    def _has_room(self) -> bool:
        return self.derived + 1 <= self.terms.derived_share * (self.active + 1)

    async def ask(self, prompt: PromptMessage, shape: type[A]) -> A:
        """Ask the model, within the limits."""
        if self.model is None or self.calls >= self.terms.max_calls:
            raise LimitReachedError
        await self.deps.yield_turn()
        self.calls += 1
        try:
            answer = await self.model.answer([prompt], shape)
        except StoreDown:
            raise
        except FestingerError as error:
            self.counts["model_failed"] += 1
            log.warning("model gave no answer", night=str(self.night.id), why=error.message)
            raise UnitWaitsError from error
        self.calls += answer.calls - 1
        self.cost.add(answer.cost_usd)
        return answer.value

    async def save_plan(self, step: str, key: str, plan: Sequence[Any]) -> None:
        """Store what a unit will do, so that a killed night does the same."""
        at, night = self.deps.memory.clock(), self.night.id
        plan_text = json.dumps(plan)
        await self.deps.store.run(
            Q["save_unit"], space=self.space, key=key, night=night, step=step, plan=plan_text, at=at
        )

    async def finish_unit(self, transaction: Transaction, step: str, key: str) -> None:
        """Mark a unit as done."""
        at, night = self.deps.memory.clock(), self.night.id
        await transaction.run(Q["finish_unit"], space=self.space, key=key, night=night, step=step, at=at)

    def limit(self, memory: UUID, before: Weight, after: Weight, **more: Any) -> Weight:
        """Return the weight that the ceilings allow, and note what they stopped."""
        action = WeightAction(
            before=before,
            after=after,
            moved=self.moved.get(memory, (0.0, 0.0))[0],
            changes=self.changes,
            goals=tuple(center for id_, center in self.goals.items() if id_ != memory),
            **more,
        )
        allowed, events = limit_change(action, self.enforced)
        self.events += [(memory, event) for event in events]
        self.counts["stopped"] += any(event.enforced for event in events)
        return allowed

    def note_move(self, memory: UUID, before: Weight, after: Weight) -> None:
        moved = self.moved.get(memory, (0.0, 0.0))[0]
        self.moved[memory] = moved + after.center - before.center, after.center
        self.changes += 1
