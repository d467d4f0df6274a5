"""Defines the dependencies of this package.

Ports to other packages are injected at wiring and default to null objects: marking memories as read or
surfaced, and work done after the answer.
"""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from festinger.clock import Clock, Stopwatch
from festinger.embedding.embedder import Embedder
from festinger.embedding.reranker import Reranker
from festinger.events.outbox import Outbox
from festinger.ids import AgentId, NewId, Scope, SpaceId
from festinger.memory.deps import MemoryDeps
from festinger.settings.memory_sections import OutcomesSettings, RetrievalSettings
from festinger.store.pool import Store, Transaction
from festinger.store.vectors import READ_WHOLE_BELOW

OnRead = Callable[[Transaction, Scope, Sequence[UUID]], Awaitable[object]]
"""Marks memories as read, within the transaction that records the recall."""

OnSurfaced = Callable[[Transaction, Scope, Sequence[UUID], UUID], Awaitable[object]]
"""Records that a recall surfaced memories, so that outcomes can be reported for them."""

Later = Callable[[Coroutine[Any, Any, Any]], None]
"""Runs work after the answer."""


async def null_on_read(_transaction: Transaction, _place: Scope, _memories: Sequence[UUID]) -> None:
    """Do nothing, for a wiring without outcomes."""


async def null_on_surfaced(_transaction: Transaction, _place: Scope, _memories: Sequence[UUID], _recall: UUID) -> None:
    """Do nothing, for a wiring without outcomes."""


def discard_work(work: Coroutine[Any, Any, Any]) -> None:
    """Close the work unrun, for a wiring without records."""
    work.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalConfig:
    """The settings in force for a space."""

    retrieval: RetrievalSettings = field(default_factory=RetrievalSettings)
    outcomes: OutcomesSettings = field(default_factory=OutcomesSettings)
    rerank_timeout_ms: int = 400
    reranks: bool = False
    """Whether a reranker is configured, loaded or not."""
    trusts: Callable[[str], float] = lambda _origin: 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusSize:
    """How much an agent can search in a space, as last counted."""

    memories: int
    vectors: int
    seen: int
    """Memories that the agent can see."""
    parts: int
    """Parts of turns that vector search finds."""
    turns: int = 0
    """All parts of turns, with vectors of any model or none."""
    bare: int = 0
    """Parts of turns without a vector."""
    stored: int = 0
    """About how many memories all spaces have together."""
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
    few: int = READ_WHOLE_BELOW
    """Number of visible vectors up to which all are read; more are searched by their index."""
    sizes: dict[tuple[SpaceId, AgentId, str], CorpusSize] = field(default_factory=dict)
