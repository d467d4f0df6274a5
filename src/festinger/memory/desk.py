"""What does every deed of this room need, whatever it does?

Ports to what stands above this room are handed in at wiring, and do nothing where nobody was: what was brought to
mind in a session (`outcomes`), what people asked to forget, and work that is done later.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from festinger.clock import Clock, Stopwatch
from festinger.embedding.embedder import Embedder
from festinger.events.outbox import Outbox
from festinger.ids import MemoryId, NewId, Origin, SpaceId
from festinger.llm.model import Model
from festinger.memory.confidence import START
from festinger.memory.decision import Limits, OnContradiction
from festinger.memory.extract.classifier import ClauseEncoder
from festinger.memory.given import Said
from festinger.memory.memory import Place
from festinger.memory.panel import Panel
from festinger.memory.sizing import Sizing
from festinger.settings.beliefs import EpisodesSettings, MemorySettings
from festinger.store.pool import Store, Transaction
from festinger.text.secrets import Redacted, redact
from festinger.world.desk import Desk as WorldDesk

Surfaced = Callable[[Place, int], Awaitable[Collection[MemoryId]]]
"""What was brought to mind in a session in its last so many turns."""

IsForgotten = Callable[[Transaction, SpaceId, Sequence[Said]], Awaitable[Sequence[bool]]]
"""Of which of these somebody asked to forget the words, so that they must not come back by themselves. A person who
says them anew may: that lifts the ban."""

Ask = Callable[..., Awaitable[object]]
"""`ask(transaction, job, space=…, **ids)`: durable work, asked for within the transaction."""

GiveBack = Callable[[Transaction, SpaceId, Mapping[str, Any]], Awaitable[None]]
"""Gives back what other rooms took back with a repair that is undone: by the name of each, what it kept for that."""

OutcomesOf = Callable[[SpaceId, MemoryId], Awaitable[tuple[Any, ...]]]

OnRead = Callable[[Place, Sequence[UUID]], None]
"""Notes, after the answer, that memories were read by their ids."""

Stored = Callable[[SpaceId], None]
"""Notes that something is being stored in a space; must not wait."""

Step = Callable[[str], None]

Writer = Callable[[SpaceId], Awaitable[Model | None]]
"""The model that writes for a space, if there is one."""


async def nothing_surfaced(_place: Place, _turns: int) -> Collection[MemoryId]:
    return ()


async def nothing_forgotten(_transaction: Transaction, _space: SpaceId, said: Sequence[Said]) -> list[bool]:
    return [False] * len(said)


async def ask_nobody(_transaction: Transaction, _job: str, **_ids: Any) -> None:
    """For a wiring without background work."""


async def nothing_given_back(_transaction: Transaction, _space: SpaceId, _kept: Mapping[str, Any]) -> None:
    """For a wiring in which no other room takes anything back."""


async def no_outcomes(_space: SpaceId, _memory: MemoryId) -> tuple[Any, ...]:
    return ()


def nobody_notes(_place: Place, _memories: Sequence[UUID]) -> None:
    """For a wiring without outcomes."""


def nobody_cares(_space: SpaceId) -> None:
    """For a wiring without recalling."""


async def no_writer(_space: SpaceId) -> Model | None:
    """For a house without a model that writes."""
    return None


def no_encoder() -> ClauseEncoder | None:
    """For a wiring without the bundled encoder."""
    return None


def as_written(text: str) -> str:
    return text


def pass_by(_step: str) -> None:
    """Learning goes through its steps; a test may stand at one of them."""


DEFAULTS = MemorySettings()
EPISODES = EpisodesSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The settings that are in force for a space now."""

    memory: MemorySettings = DEFAULTS
    accept: float = 0.8
    initial_confidence: float = START
    episodes: EpisodesSettings = EPISODES

    @property
    def limits(self) -> Limits:
        return Limits(
            accept=self.accept,
            supersede_confidence=self.memory.supersede_confidence,
            supersede_trust_margin=self.memory.supersede_trust_margin,
            on_contradiction=OnContradiction(self.memory.on_contradiction),
        )

    def redact(self, text: str) -> Redacted:
        """The text without what this space does not keep."""
        return redact(text, personal=self.memory.redact_personal)

    @property
    def trusts(self) -> dict[Origin, float]:
        return {Origin(name): number for name, number in self.memory.trusts.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    store: Store
    outbox: Outbox
    clock: Clock
    stopwatch: Stopwatch
    new_id: NewId
    terms: Callable[[SpaceId], Terms]
    embedder: Callable[[], Embedder | None]
    panel: Panel
    world: WorldDesk
    surfaced: Surfaced = nothing_surfaced
    is_forgotten: IsForgotten = nothing_forgotten
    outcomes_of: OutcomesOf = no_outcomes
    give_back: GiveBack = nothing_given_back
    on_read: OnRead = nobody_notes
    ask: Ask = ask_nobody
    without_blocks: Callable[[str], str] = as_written
    """Takes out of a text what we ourselves put there."""
    stored: Stored = nobody_cares
    step: Step = pass_by
    writer: Writer = no_writer
    encoder: Callable[[], ClauseEncoder | None] = no_encoder
    """Reads clauses of messages; none where the bundled weights are not loaded."""
    read_whole: dict[tuple[SpaceId, str], tuple[bool, float]] = field(default_factory=dict)
    """Whether all vectors that a space has of a model are read to find some, and when somebody last looked."""
    sizing: Sizing = field(default_factory=Sizing)

    def new_memory_id(self) -> MemoryId:
        return MemoryId(self.new_id())

    def new_uuid(self) -> UUID:
        return self.new_id()
