"""Defines the dependencies of proposals and of reviewing them.

Ports to other packages are passed in at wiring. `ReviewDeps` adds what deciding needs: the effects of
approvals, a model that reconsiders proposals, and related knowledge.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from festinger.clock import Clock
from festinger.embedding.embedder import Embedder
from festinger.events.outbox import Outbox
from festinger.ids import NewId, SpaceId
from festinger.judge.model import Judgement, StatementPair
from festinger.llm.model import Model
from festinger.proposals.model import Proposal
from festinger.proposals.verdicts.effects import Effects
from festinger.settings.proposals import ProposalsSettings
from festinger.store.pool import Store, Transaction

Ask = Callable[..., Awaitable[object]]
"""`ask(transaction, job, space=…, **ids)`: enqueue a durable job within the transaction."""

Key = tuple[str, str]
"""Producer and category of a proposal."""

Values = Callable[[Transaction, SpaceId], Awaitable[Mapping[Key, float]]]
"""The value of each producer and category of a space, from -1 to 1."""

MutedUntil = Callable[[Transaction, SpaceId, Key], Awaitable[datetime | None]]
"""Until when new proposals of a producer and category are held; None if they are not."""


class ProposalJudge(Protocol):
    async def with_model_all(self, space: SpaceId, pairs: Sequence[StatementPair]) -> list[Judgement]:
        """Judge pairs with the whole cascade, including an LLM; do not call within a transaction."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalDeps:
    store: Store
    outbox: Outbox
    clock: Clock
    new_id: NewId
    terms: Callable[[SpaceId], ProposalsSettings]
    ask: Ask
    values: Values
    muted_until: MutedUntil
    judges: ProposalJudge
    embedder: Callable[[], Embedder | None]


Thinker = Callable[[SpaceId], Awaitable[Model | None]]
"""The model that reconsiders proposals, if a space has one."""

Related = Callable[[Transaction, SpaceId, Proposal], Awaitable[Mapping[str, Any]]]
"""What other packages know about a proposal: memories and conflicts that it concerns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDeps:
    deps: ProposalDeps
    effects: Effects = field(hash=False)
    thinker: Thinker
    related: Related
