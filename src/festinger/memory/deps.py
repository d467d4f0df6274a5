"""Defines the dependencies of the memory package: ports, null objects and effective settings.

Ports to higher layers are passed in at wiring and default to null objects. Judges store what they say; this
package decides what follows. Rules can be asked at any time, the reader and earlier judgements only
outside transactions, an LLM only where there is time.
`analyze_if_underestimated` exists because Postgres takes a never-analyzed table for nearly empty and joins each row
with every other. Autovacuum takes up to a minute; by then finding the neighbors of one of 600 statements took
73 ms instead of 1. So bulk learning triggers ANALYZE itself, at intervals that grow fourfold, and only if it
would help.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

import structlog

from festinger.clock import Clock, Stopwatch
from festinger.embedding.embedder import Embedder
from festinger.errors import FestingerError, ProviderRefused
from festinger.events.outbox import Outbox
from festinger.ids import MemoryId, NewId, Origin, Scope, SpaceId
from festinger.judge.cascade import Cascade
from festinger.judge.model import PERSON, Judgement, JudgementRecord, PairJudgement, StatementPair, WaitingPair
from festinger.judge.records import list_statement_judgements, save_person_decision
from festinger.llm.model import Model
from festinger.memory.confidence import START
from festinger.memory.extract.classifier import ClauseEncoder
from festinger.memory.learn.decision import ContradictionPolicy, LearnLimits
from festinger.memory.learn.statement import Statement
from festinger.settings.memory_sections import EpisodesSettings, MemorySettings
from festinger.store.pool import Store, Transaction
from festinger.store.queries import load_queries
from festinger.text.secrets import RedactionResult, redact
from festinger.world.model import WorldDeps

log = structlog.get_logger(room="memory")


class MemoryJudge(Protocol):
    def by_rules(self, pair: StatementPair) -> Judgement:
        """Judge by rules: immediate, and nothing is stored."""
        ...

    async def at_once(self, space: SpaceId, pairs: Sequence[StatementPair]) -> list[Judgement]:
        """Judge by earlier answers of people, rules and the reader. Call outside transactions."""
        ...

    async def with_model_all(self, space: SpaceId, pairs: Sequence[StatementPair]) -> list[Judgement]:
        """Judge with the whole cascade, including an LLM. Call outside transactions."""
        ...

    async def keep(self, transaction: Transaction, space: SpaceId, opinions: Sequence[PairJudgement]) -> list[UUID]:
        """Store judgements; return their ids in the same order."""
        ...

    async def waiting(self, transaction: Transaction, space: SpaceId, ref: UUID) -> list[WaitingPair]:
        """List the pairs of a memory that wait for a judge."""
        ...

    async def drop(self, transaction: Transaction, space: SpaceId, ref: UUID) -> None:
        """Drop the waiting pairs of a memory that is gone."""
        ...

    async def store_person_decision(
        self, transaction: Transaction, space: SpaceId, pair: StatementPair, judgement: Judgement
    ) -> UUID:
        """Store a person's decision on a pair, overriding all earlier judgements."""
        ...

    async def said_of(self, space: SpaceId, ref: UUID) -> list[JudgementRecord]:
        """List the judgements about a memory, newest first. Call outside transactions."""
        ...


Q = load_queries("festinger.memory")

FIRST, TIMES = 50, 4
"""Statements before the first check, and the factor between later checks."""
FAR_OFF = 2
"""How many times the server's estimate must be exceeded."""


@dataclass(slots=True, kw_only=True)
class LookupCounter:
    """How many statements this process has looked up neighbors for."""

    looked_up: int = 0
    due: int = FIRST


def is_size_underestimated(looked_up: int, *, believed: float) -> bool:
    """Whether the server's estimate is far too low; a negative estimate means it has none."""
    return looked_up > FAR_OFF * max(believed, 0)


async def analyze_if_underestimated(store: Store, sizing: LookupCounter, *, more: int = 1) -> None:
    """Count upcoming lookups and run ANALYZE if the server underestimates. Call outside transactions."""
    before, sizing.looked_up = sizing.looked_up, sizing.looked_up + more
    if before < sizing.due:
        return
    while sizing.due <= before:
        sizing.due *= TIMES
    if is_size_underestimated(before, believed=await store.value(Q["believed_size"])):
        await store.run(Q["size_up"])


Surfaced = Callable[[Scope, int], Awaitable[Collection[MemoryId]]]
"""Returns the memories surfaced in the last so many turns of a session."""

IsForgotten = Callable[[Transaction, SpaceId, Sequence[Statement]], Awaitable[Sequence[bool]]]
"""Tells which statements repeat erased words and must stay out, unless a person says them anew."""

Ask = Callable[..., Awaitable[object]]
"""`ask(transaction, job, space=…, **ids)`: enqueue durable work within the transaction."""

GiveBack = Callable[[Transaction, SpaceId, Mapping[str, Any]], Awaitable[None]]
"""Reinstates, per package, what other packages withdrew with a repair that is being undone."""

OutcomesOf = Callable[[SpaceId, MemoryId], Awaitable[tuple[Any, ...]]]

ReplayOutcomes = Callable[[Transaction, SpaceId, MemoryId], Awaitable[None]]
"""Recomputes the belief in a locked memory from its logs if it has outcomes."""

OnRead = Callable[[Scope, Sequence[UUID]], None]
"""Notes, after the answer, that memories were read by id."""

Stored = Callable[[SpaceId], None]
"""Notes that something is being stored in a space; must not block."""

Step = Callable[[str], None]

Writer = Callable[[SpaceId], Awaitable[Model | None]]
"""Returns the writer model of a space, if any."""


async def null_surfaced_ids(_place: Scope, _turns: int) -> Collection[MemoryId]:
    return ()


async def null_forgotten_check(
    _transaction: Transaction, _space: SpaceId, statements: Sequence[Statement]
) -> list[bool]:
    return [False] * len(statements)


async def null_enqueue(_transaction: Transaction, _job: str, **_ids: Any) -> None:
    """For apps without background work."""


async def null_reinstate(_transaction: Transaction, _space: SpaceId, _kept: Mapping[str, Any]) -> None:
    """For apps in which no other package withdraws anything."""


async def null_outcomes(_space: SpaceId, _memory: MemoryId) -> tuple[Any, ...]:
    return ()


async def null_outcome_replay(_transaction: Transaction, _space: SpaceId, _memory: MemoryId) -> None:
    """For apps without outcomes."""


def null_read_listener(_place: Scope, _memories: Sequence[UUID]) -> None:
    """For apps without outcomes."""


def null_store_listener(_space: SpaceId) -> None:
    """For apps without recall."""


async def null_writer_model(_space: SpaceId) -> Model | None:
    """For apps without a writer model."""
    return None


def null_encoder() -> ClauseEncoder | None:
    """For apps without the bundled encoder."""
    return None


def return_unchanged(text: str) -> str:
    return text


def null_step_hook(_step: str) -> None:
    """Called at each step of learning; tests can hook in here."""


DEFAULTS = MemorySettings()
EPISODES = EpisodesSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveMemorySettings:
    """The effective settings of a space."""

    memory: MemorySettings = DEFAULTS
    accept: float = 0.8
    initial_confidence: float = START
    settle_days: int = 14
    episodes: EpisodesSettings = EPISODES

    @property
    def limits(self) -> LearnLimits:
        return LearnLimits(
            accept=self.accept,
            supersede_confidence=self.memory.supersede_confidence,
            supersede_trust_margin=self.memory.supersede_trust_margin,
            on_contradiction=ContradictionPolicy(self.memory.on_contradiction),
        )

    def redact(self, text: str) -> RedactionResult:
        """Redact the text as this space requires."""
        return redact(text, personal=self.memory.redact_personal)

    @property
    def trusts(self) -> dict[Origin, float]:
        return {Origin(name): number for name, number in self.memory.trusts.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDeps:
    store: Store
    outbox: Outbox
    clock: Clock
    stopwatch: Stopwatch
    new_id: NewId
    terms: Callable[[SpaceId], EffectiveMemorySettings]
    embedder: Callable[[], Embedder | None]
    panel: MemoryJudge
    world: WorldDeps
    surfaced: Surfaced = null_surfaced_ids
    is_forgotten: IsForgotten = null_forgotten_check
    outcomes_of: OutcomesOf = null_outcomes
    give_back: GiveBack = null_reinstate
    replay_outcomes: ReplayOutcomes = null_outcome_replay
    on_read: OnRead = null_read_listener
    ask: Ask = null_enqueue
    without_blocks: Callable[[str], str] = return_unchanged
    """Strips injected context blocks from a text."""
    stored: Stored = null_store_listener
    step: Step = null_step_hook
    writer: Writer = null_writer_model
    encoder: Callable[[], ClauseEncoder | None] = null_encoder
    """Reads clauses of messages; None if the bundled weights are not loaded."""
    read_whole: dict[tuple[SpaceId, str], tuple[tuple[bool, bool], float]] = field(default_factory=dict)
    """Whether a search reads all vectors of a space and model, whether that space is small beside the rest of the store, and
    when that was last checked."""
    sizing: LookupCounter = field(default_factory=LookupCounter)
    warned: set[tuple[str, str]] = field(default_factory=set)
    """Models that gave no usable answer, with the hint that was logged."""

    def new_memory_id(self) -> MemoryId:
        return MemoryId(self.new_id())

    def new_uuid(self) -> UUID:
        return self.new_id()


def log_writer_failure(deps: MemoryDeps, event: str, model: Model, error: FestingerError, **fields: str) -> None:
    """Log that work goes on without the writer model; a refusal that will recur is a warning only once."""
    known = (model.name, error.hint)
    write = log.debug if isinstance(error, ProviderRefused) and known in deps.warned else log.warning
    deps.warned.add(known)
    write(event, model=model.name, why=error.message, hint=error.hint, **fields)


class MemoryCascade(Cascade):
    """The cascade, which also stores people's decisions about memories."""

    async def store_person_decision(
        self, transaction: Transaction, space: SpaceId, pair: StatementPair, judgement: Judgement
    ) -> UUID:
        kept, _ = await save_person_decision(
            self.deps,
            transaction,
            space,
            pair,
            name=judgement.judge.removeprefix(PERSON),
            relation=judgement.relation,
            current=judgement.current,
            reasoning=judgement.reasoning,
        )
        return kept

    async def said_of(self, space: SpaceId, ref: UUID) -> list[JudgementRecord]:
        return await list_statement_judgements(self.deps, space, ref)
