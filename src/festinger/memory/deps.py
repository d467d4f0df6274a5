"""What does every deed of this room need, whatever it does?

Ports to what stands above this room are handed in at wiring, and do nothing where nobody was: what was brought to
mind in a session (`outcomes`), what people asked to forget, and work that is done later.

Who is asked how two memories relate?

The port to the judges, as this room needs them: rules at any moment, the small model and what was judged before
outside of transactions, an LLM only where there is time. The judges keep what they say; what follows from it is
decided here.

How do the judges of the house sit on this room's panel?

Does the server know how large the tables are that learning looks into?

Of a table that it has not looked at yet the server thinks that it is nearly empty, and joins each of its rows with
every other. It looks by itself within a minute, in which a file of statements has long been learnt: by then finding
the neighbours of one among 600 took 73 ms instead of 1. So whoever learns much has it look sooner, four times as late
each time, and not at all where it knows better already.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

from festinger.clock import Clock, Stopwatch
from festinger.embedding.embedder import Embedder
from festinger.events.outbox import Outbox
from festinger.ids import MemoryId, NewId, Origin, SpaceId
from festinger.judge.cascade import Cascade
from festinger.judge.model import PERSON, Judgement, PairJudgement, Record, StatementPair, WaitingPair
from festinger.judge.records import list_statement_judgements, save_person_decision
from festinger.llm.model import Model
from festinger.memory.confidence import START
from festinger.memory.extract.classifier import ClauseEncoder
from festinger.memory.learn.decision import LearnLimits, OnContradiction
from festinger.memory.learn.statement import ParsedStatement
from festinger.memory.model import Scope
from festinger.settings.beliefs import EpisodesSettings, MemorySettings
from festinger.store.pool import Store, Transaction
from festinger.store.queries import queries_of
from festinger.text.secrets import RedactionResult, redact
from festinger.world.model import WorldDeps


class MemoryJudge(Protocol):
    def by_rules(self, pair: StatementPair) -> Judgement:
        """What rules say: at once, and nothing is kept."""
        ...

    async def at_once(self, space: SpaceId, pairs: Sequence[StatementPair]) -> list[Judgement]:
        """What people said before, rules and the small model say; not within a transaction."""
        ...

    async def with_model_all(self, space: SpaceId, pairs: Sequence[StatementPair]) -> list[Judgement]:
        """What the whole cascade says, an LLM included; not within a transaction."""
        ...

    async def keep(self, transaction: Transaction, space: SpaceId, opinions: Sequence[PairJudgement]) -> list[UUID]:
        """Keep what was said; the ids, in the same order."""
        ...

    async def waiting(self, transaction: Transaction, space: SpaceId, ref: UUID) -> list[WaitingPair]:
        """The pairs of a memory that wait for a judge."""
        ...

    async def drop(self, transaction: Transaction, space: SpaceId, ref: UUID) -> None:
        """Let nothing wait any more that is about a memory which is gone."""
        ...

    async def overrule(self, transaction: Transaction, space: SpaceId, pair: StatementPair, said: Judgement) -> UUID:
        """Keep what a person decided of a pair, over all that was said of it before."""
        ...

    async def said_of(self, space: SpaceId, ref: UUID) -> list[Record]:
        """What was said of a memory, the newest first; not within a transaction."""
        ...


Q = queries_of("festinger.memory")

FIRST, TIMES = 50, 4
"""After so many statements it is asked for the first time, and then after so many times as many."""
FAR_OFF = 2
"""How many times as much was looked up as the server thinks that there is."""


@dataclass(slots=True, kw_only=True)
class LookupCounter:
    """How many statements this process has held against what is remembered."""

    looked_up: int = 0
    due: int = FIRST


def is_underestimate(looked_up: int, *, believed: float) -> bool:
    """Whether the server thinks that there is much less than there must be; below zero it knows nothing."""
    return looked_up > FAR_OFF * max(believed, 0)


async def refresh_statistics(store: Store, sizing: LookupCounter, *, more: int = 1) -> None:
    """So many statements more are about to be looked up, among those before them. Not within a transaction."""
    before, sizing.looked_up = sizing.looked_up, sizing.looked_up + more
    if before < sizing.due:
        return
    while sizing.due <= before:
        sizing.due *= TIMES
    if is_underestimate(before, believed=await store.value(Q["believed_size"])):
        await store.run(Q["size_up"])


Surfaced = Callable[[Scope, int], Awaitable[Collection[MemoryId]]]
"""What was brought to mind in a session in its last so many turns."""

IsForgotten = Callable[[Transaction, SpaceId, Sequence[ParsedStatement]], Awaitable[Sequence[bool]]]
"""Of which of these somebody asked to forget the words, so that they must not come back by themselves. A person who
says them anew may: that lifts the ban."""

Ask = Callable[..., Awaitable[object]]
"""`ask(transaction, job, space=…, **ids)`: durable work, asked for within the transaction."""

GiveBack = Callable[[Transaction, SpaceId, Mapping[str, Any]], Awaitable[None]]
"""Gives back what other rooms took back with a repair that is undone: by the name of each, what it kept for that."""

OutcomesOf = Callable[[SpaceId, MemoryId], Awaitable[tuple[Any, ...]]]

OnRead = Callable[[Scope, Sequence[UUID]], None]
"""Notes, after the answer, that memories were read by their ids."""

Stored = Callable[[SpaceId], None]
"""Notes that something is being stored in a space; must not wait."""

Step = Callable[[str], None]

Writer = Callable[[SpaceId], Awaitable[Model | None]]
"""The model that writes for a space, if there is one."""


async def null_surfaced_ids(_place: Scope, _turns: int) -> Collection[MemoryId]:
    return ()


async def null_forgotten_check(
    _transaction: Transaction, _space: SpaceId, said: Sequence[ParsedStatement]
) -> list[bool]:
    return [False] * len(said)


async def null_enqueue(_transaction: Transaction, _job: str, **_ids: Any) -> None:
    """For a wiring without background work."""


async def null_reinstate(_transaction: Transaction, _space: SpaceId, _kept: Mapping[str, Any]) -> None:
    """For a wiring in which no other room takes anything back."""


async def null_outcomes(_space: SpaceId, _memory: MemoryId) -> tuple[Any, ...]:
    return ()


def null_read_listener(_place: Scope, _memories: Sequence[UUID]) -> None:
    """For a wiring without outcomes."""


def null_store_listener(_space: SpaceId) -> None:
    """For a wiring without recalling."""


async def null_writer_model(_space: SpaceId) -> Model | None:
    """For a house without a model that writes."""
    return None


def null_encoder() -> ClauseEncoder | None:
    """For a wiring without the bundled encoder."""
    return None


def return_unchanged(text: str) -> str:
    return text


def null_step_hook(_step: str) -> None:
    """Learning goes through its steps; a test may stand at one of them."""


DEFAULTS = MemorySettings()
EPISODES = EpisodesSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveMemorySettings:
    """The settings that are in force for a space now."""

    memory: MemorySettings = DEFAULTS
    accept: float = 0.8
    initial_confidence: float = START
    episodes: EpisodesSettings = EPISODES

    @property
    def limits(self) -> LearnLimits:
        return LearnLimits(
            accept=self.accept,
            supersede_confidence=self.memory.supersede_confidence,
            supersede_trust_margin=self.memory.supersede_trust_margin,
            on_contradiction=OnContradiction(self.memory.on_contradiction),
        )

    def redact(self, text: str) -> RedactionResult:
        """The text without what this space does not keep."""
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
    on_read: OnRead = null_read_listener
    ask: Ask = null_enqueue
    without_blocks: Callable[[str], str] = return_unchanged
    """Takes out of a text what we ourselves put there."""
    stored: Stored = null_store_listener
    step: Step = null_step_hook
    writer: Writer = null_writer_model
    encoder: Callable[[], ClauseEncoder | None] = null_encoder
    """Reads clauses of messages; none where the bundled weights are not loaded."""
    read_whole: dict[tuple[SpaceId, str], tuple[bool, float]] = field(default_factory=dict)
    """Whether all vectors that a space has of a model are read to find some, and when somebody last looked."""
    sizing: LookupCounter = field(default_factory=LookupCounter)

    def new_memory_id(self) -> MemoryId:
        return MemoryId(self.new_id())

    def new_uuid(self) -> UUID:
        return self.new_id()


class MemoryCascade(Cascade):
    """The cascade, which also keeps what people decide of memories."""

    async def overrule(self, transaction: Transaction, space: SpaceId, pair: StatementPair, said: Judgement) -> UUID:
        kept, _ = await save_person_decision(
            self.deps,
            transaction,
            space,
            pair,
            name=said.judge.removeprefix(PERSON),
            relation=said.relation,
            current=said.current,
            reasoning=said.reasoning,
        )
        return kept

    async def said_of(self, space: SpaceId, ref: UUID) -> list[Record]:
        return await list_statement_judgements(self.deps, space, ref)
