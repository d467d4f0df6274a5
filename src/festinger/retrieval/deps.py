"""What does every deed of this room need, whatever it does?

Ports to what stands beside this room are handed in at wiring, and do nothing where nobody was: noting what was read,
and work that is done after the answer.
"""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from festinger.clock import Clock, Stopwatch
from festinger.embedding.embedder import Embedder
from festinger.embedding.reranker import Reranker
from festinger.events.outbox import Outbox
from festinger.ids import AgentId, NewId, SpaceId
from festinger.memory.deps import MemoryDeps
from festinger.memory.model import Scope
from festinger.retrieval.agent_weights import Feeling
from festinger.retrieval.result import Beside, null_extras
from festinger.settings.outcomes import OutcomesSettings
from festinger.settings.retrieval import RetrievalSettings
from festinger.store.pool import Store, Transaction
from festinger.store.vectors import READ_WHOLE_BELOW

OnRead = Callable[[Transaction, Scope, Sequence[UUID]], Awaitable[object]]
"""Notes that memories were read, within the transaction that writes the recall down."""

OnSurfaced = Callable[[Transaction, Scope, Sequence[UUID], UUID], Awaitable[object]]
"""Notes that a recall put memories before somebody, so that an outcome can be told of them."""

FeelingOf = Callable[[Scope], Feeling | None]
"""What the gut of an agent feels now."""

Later = Callable[[Coroutine[Any, Any, Any]], None]
"""Runs something after the answer."""


async def null_on_read(_transaction: Transaction, _place: Scope, _memories: Sequence[UUID]) -> None:
    """For a wiring without outcomes."""


async def null_on_surfaced(_transaction: Transaction, _place: Scope, _memories: Sequence[UUID], _recall: UUID) -> None:
    """For a wiring without outcomes."""


def null_feeling(_place: Scope) -> Feeling | None:
    """For a mind without a gut."""
    return None


def discard_work(work: Coroutine[Any, Any, Any]) -> None:
    """For a wiring that keeps no records."""
    work.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalConfig:
    """The settings that are in force for a space now."""

    retrieval: RetrievalSettings = field(default_factory=RetrievalSettings)
    outcomes: OutcomesSettings = field(default_factory=OutcomesSettings)
    rerank_timeout_ms: int = 400
    reranks: bool = False
    """Whether a reranker was chosen, whether or not it could be loaded."""
    trusts: Callable[[str], float] = lambda _origin: 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusSize:
    """How much there is to search for an agent in a space, when somebody last looked."""

    memories: int
    vectors: int
    seen: int
    """Of the memories those that the agent sees."""
    parts: int
    """Parts of turns that vectors find."""
    turns: int = 0
    """All parts of turns, with vectors of whatever model or none."""
    bare: int = 0
    """Parts of turns without a vector."""
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalDeps:
    store: Store
    outbox: Outbox
    clock: Clock
    stopwatch: Stopwatch
    new_id: NewId
    terms: Callable[[SpaceId], RetrievalConfig]
    embedder: Callable[[], Embedder | None]
    memory: MemoryDeps
    reranker: Callable[[], Reranker | None] = lambda: None
    later: Later = discard_work
    on_read: OnRead = null_on_read
    on_surfaced: OnSurfaced = null_on_surfaced
    feeling: FeelingOf = null_feeling
    beside: Beside = null_extras
    few: int = READ_WHOLE_BELOW
    """Vectors up to which all that may be seen are read; more are searched by their index."""
    sizes: dict[tuple[SpaceId, AgentId, str], CorpusSize] = field(default_factory=dict)
