"""Carries a running night through its steps: its limits, its model, its counts and what it has changed so far.

Shows memories to a model as numbered quotes, and checks what it made of them.

A text is kept only if it cites at least two that were shown, and its numbers, names and negations occur in them.
"""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeVar

import structlog

from festinger.clock import iso
from festinger.consolidation.night import Night, NightDeps, PlannedChange, Q
from festinger.consolidation.resolution import CostTotal
from festinger.errors import FestingerError, StoreDown
from festinger.ids import DEFAULT_AGENT, NO_SESSION, AgentId, Scope, SpaceId
from festinger.judge.rules.parse import parse_statement
from festinger.judge.rules.words import stem
from festinger.llm.model import AnswerSchema, Model, PromptMessage
from festinger.memory.model import Memory, memory_from_row
from festinger.settings.memory_sections import ConsolidationSettings
from festinger.store.pool import Transaction
from festinger.text.vocabulary import common_words

log = structlog.get_logger(room="consolidation")

A = TypeVar("A", bound=AnswerSchema)

UNFINISHED = ("left_over", "failed")


class UnitPostponedError(Exception):
    """The model gave no usable answer, or a limit is reached: the unit comes again in the next night."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightUnit:
    """One piece of work. `plan` returns the changes if they are not `known`; it may ask the model and writes nothing."""

    key: str
    plan: Callable[[], Awaitable[Sequence[PlannedChange]]] | None = None
    known: Sequence[PlannedChange] = ()
    makes: bool = False
    """Whether it makes a new memory."""


@dataclass(slots=True, kw_only=True)
class NightContext:
    deps: NightDeps
    space: SpaceId
    night: Night
    model: Model | None
    active: int = 0
    derived: int = 0
    preview: list[dict[str, Any]] = field(default_factory=list)
    shadow: Collection[str] = ()
    """The ceilings that only log."""
    terms: ConsolidationSettings = field(init=False)
    until: float = field(init=False)
    """When nothing new is begun anymore, by the stopwatch."""
    survey: Mapping[str, Any] = field(init=False)
    counts: Counter[str] = field(init=False)
    calls: int = field(init=False)
    cost: CostTotal = field(init=False)
    left_over: list[Mapping[str, Any]] = field(init=False)

    def __post_init__(self) -> None:
        """Go on from what a killed night kept; what it could not do is tried, and counted, again."""
        night, self.terms = self.night, self.deps.terms(self.space)
        self.until = self.deps.memory.stopwatch() + self.terms.max_seconds
        self.survey, self.calls, self.left_over = night.survey, night.model_calls, list(night.left_over)
        self.counts = Counter({name: n for name, n in night.counts.items() if name not in UNFINISHED})
        self.cost = CostTotal(total=night.cost_usd if night.model_calls else Decimal(0))

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
        return sum(self.counts[name] for name in UNFINISHED)

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
            raise UnitPostponedError
        await self.deps.yield_turn()
        self.calls += 1
        try:
            answer = await self.model.answer([prompt], shape)
        except StoreDown:
            raise
        except FestingerError as error:
            self.counts["model_failed"] += 1
            log.warning("model gave no answer", night=str(self.night.id), why=error.message)
            raise UnitPostponedError from error
        self.calls += answer.calls - 1
        self.cost.add(answer.cost_usd)
        return answer.value

    async def rows(self, query: str, **parameters: Any) -> list[dict[str, Any]]:
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
        await self.keep(transaction)

    async def keep(self, transaction: Transaction) -> None:
        """Store what the night came to so far."""
        kept = {"counts": +self.counts, "survey": self.survey, "left_over": self.left_over}
        of = {"space": self.space, "id": self.night.id, "model_calls": self.calls, "cost_usd": self.cost.total}
        await transaction.run(Q["keep_night"], **of, **{name: json.dumps(value) for name, value in kept.items()})


FEWEST_CITED = 2
NAME_ZIPF = 3.5
"""Zipf frequency below which a capitalized word is taken for a name."""


def format_sources(memories: Sequence[Memory]) -> str:
    """Format memories as numbered quotes with origin and day."""
    return "\n".join(
        f"[{number}] ({memory.origin.value}, {iso(memory.event_time or memory.created_at)[:10]}) {memory.content}"
        for number, memory in enumerate(memories, 1)
    )


def select_cited(cites: Sequence[int], shown: Sequence[Memory]) -> list[Memory]:
    """Return the cited memories; numbers that were not shown are ignored."""
    return [shown[number - 1] for number in dict.fromkeys(cites) if 1 <= number <= len(shown)]


def find_unsupported(text: str, sources: Sequence[str]) -> str | None:
    """Return what of a text no source supports; None if its numbers, days, names and negation occur in them."""
    read, known = parse_statement(text), [parse_statement(each) for each in sources]
    words = {word for each in known for word in (*each.names, *each.words)}
    stems = {word for each in known for word in each.stemmed}
    if set(read.amounts.numbers) - {number for each in known for number in each.amounts.numbers}:
        return "a number"
    if read.amounts.days - {day for each in known for day in each.amounts.days}:
        return "a day"
    # The first word of a sentence has its capital from its place; a rare one is taken for a name.
    named = (read.names - words) | (read.capitalized - words - common_words(NAME_ZIPF))
    if {stem(name) for name in named} - stems:
        return "a name"
    return None if read.negated in {each.negated for each in known} else "a negation"


def should_reject_text(context: NightContext, text: str, cited: Sequence[Memory]) -> bool:
    """Whether a derived text must be dropped; counts why."""
    contents = [each.content for each in cited]
    is_copy = text.strip().casefold() in {each.strip().casefold() for each in contents}
    reason = ""
    if len(cited) < FEWEST_CITED:
        reason = "uncited"
    elif not text or is_copy or find_unsupported(text, contents) is not None:
        reason = "unsupported"
    context.counts[reason or "supported"] += 1
    return bool(reason)
