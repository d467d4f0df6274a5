"""Carries a running night through its steps: its limits, its model, its counts and what it has changed so far."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

import structlog

from festinger.consolidation.ceilings import SafetyEvent
from festinger.consolidation.night import Night, NightDeps, PlannedChange, Q
from festinger.consolidation.resolution import CostTotal
from festinger.errors import FestingerError, StoreDown
from festinger.ids import DEFAULT_AGENT, NO_SESSION, AgentId, Scope, SpaceId
from festinger.llm.model import AnswerSchema, Model, PromptMessage
from festinger.memory.model import Memory, memory_from_row
from festinger.settings.consolidation import ConsolidationSettings
from festinger.store.pool import Transaction

log = structlog.get_logger(room="consolidation")

A = TypeVar("A", bound=AnswerSchema)


class UnitWaitsError(Exception):
    """The model gave no usable answer, or a limit is reached: the unit comes again in the next night."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightUnit:
    """One piece of work. `plan` returns the changes; it may ask the model and writes nothing."""

    key: str
    plan: Callable[[], Awaitable[Sequence[PlannedChange]]]
    makes: bool = False
    """Whether it makes a new memory."""


async def return_plan(plan: Sequence[PlannedChange]) -> Sequence[PlannedChange]:
    """The plan of a unit that is known beforehand."""
    return plan


@dataclass(slots=True, kw_only=True)
class NightContext:
    deps: NightDeps
    space: SpaceId
    night: Night
    model: Model | None
    terms: ConsolidationSettings
    until: float
    """When nothing new is begun anymore, by the stopwatch."""
    active: int = 0
    derived: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    cost: CostTotal = field(default_factory=CostTotal)
    calls: int = 0
    preview: list[dict[str, Any]] = field(default_factory=list)
    left_over: list[dict[str, Any]] = field(default_factory=list)
    survey: dict[str, Any] = field(default_factory=dict)
    moved: dict[UUID, float] = field(default_factory=dict)
    """How far this night moved each center."""
    changes: int = 0
    shadow: Collection[str] = ()
    """The ceilings that only log."""
    events: list[tuple[UUID, SafetyEvent]] = field(default_factory=list)

    @property
    def by(self) -> str:
        """The name under which the night changes memories."""
        return f"night:{self.night.id}"

    @property
    def agent(self) -> AgentId | None:
        """The owner of the memories; None if they are shared."""
        return AgentId(self.night.agent) if self.night.agent else None

    @property
    def unfinished(self) -> int:
        return self.counts["left_over"] + self.counts["failed"]

    @property
    def scope(self) -> Scope:
        return Scope(space=self.space, agent=self.agent or DEFAULT_AGENT, session=NO_SESSION)

    def has_room(self, unit: NightUnit) -> bool:
        """Whether the limits allow to begin a unit."""
        if self.deps.memory.stopwatch() >= self.until:
            return False
        is_share_left = self.derived + 1 <= self.terms.derived_share * (self.active + 1)
        return not unit.makes or (self.counts["made"] < self.terms.max_new and is_share_left)

    def grow(self, by: int) -> None:
        """Count derived memories that were made, or with a negative number put away."""
        self.active, self.derived = self.active + by, self.derived + by

    async def ask(self, prompt: PromptMessage, shape: type[A]) -> A:
        """Ask the model, within the limits."""
        if self.model is None or self.calls >= self.terms.max_calls:
            raise UnitWaitsError
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

    async def rows(self, query: str, **parameters: Any) -> list[dict[str, Any]]:
        """Query what the night's owner holds."""
        return await self.deps.store.all(Q[query], space=self.space, agent=self.agent, **parameters)

    async def load(self, query: str, **parameters: Any) -> list[Memory]:
        return [memory_from_row(row) for row in await self.rows(query, **parameters)]

    async def write_unit(
        self, transaction: Transaction, step: str, key: str, plan: Sequence[Any] | None = None
    ) -> None:
        """Store what a unit will do, so that a killed night does the same; without a plan, that it is done."""
        unit = {"space": self.space, "key": key, "night": self.night.id, "step": step, "at": self.deps.memory.clock()}
        text = None if plan is None else json.dumps(plan)
        await transaction.run(Q["write_unit"], **unit, plan=text, is_done=plan is None)
