"""What does every deed of this room need?

Ports to what stands elsewhere are handed in at wiring and do nothing where nobody was: how far asking has paid, who
judges, who embeds, and work that is done later.

What does deciding need, beside the desk?

What a yes does in each room, a model that thinks a proposal over, what is known around one, and a source of secrets
for one-time codes. All of it is handed in at wiring.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from festinger.clock import Clock
from festinger.embedding.embedder import Embedder
from festinger.events.outbox import Outbox
from festinger.ids import NewId, SpaceId
from festinger.judge.model import Judgement, StatementPair, unsure_judgement
from festinger.llm.model import Model
from festinger.proposals.model import Proposal
from festinger.proposals.verdicts.effects import Effects
from festinger.settings.proposals import ProposalsSettings
from festinger.store.pool import Store, Transaction

Ask = Callable[..., Awaitable[object]]
"""`ask(transaction, job, space=…, **ids)`: durable work, asked for within the transaction."""

Key = tuple[str, str]
"""Who proposes what: producer and category."""

Values = Callable[[Transaction, SpaceId], Awaitable[Mapping[Key, float]]]
"""What asking has paid for each producer and category of a space, from -1 to 1."""

MutedUntil = Callable[[Transaction, SpaceId, Key], Awaitable[datetime | None]]
"""Until when new proposals of a producer and category are kept back; none if they are not."""


class ProposalJudge(Protocol):
    async def with_model_all(self, space: SpaceId, pairs: Sequence[StatementPair]) -> list[Judgement]:
        """What the whole cascade says of pairs, an LLM included; not within a transaction."""
        ...


class NullProposalJudge:
    """For a wiring without judges: nobody is sure of anything."""

    async def with_model_all(self, space: SpaceId, pairs: Sequence[StatementPair]) -> list[Judgement]:
        return [unsure_judgement("nobody", "there is no judge") for _ in pairs]


NO_JUDGES = NullProposalJudge()


async def null_ask(_transaction: Transaction, _job: str, **_ids: Any) -> None:
    """For a wiring without background work."""


async def null_values(_transaction: Transaction, _space: SpaceId) -> Mapping[Key, float]:
    return {}


async def null_muted_until(_transaction: Transaction, _space: SpaceId, _key: Key) -> datetime | None:
    return None


def null_embedder() -> Embedder | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalDeps:
    store: Store
    outbox: Outbox
    clock: Clock
    new_id: NewId
    terms: Callable[[SpaceId], ProposalsSettings]
    ask: Ask = null_ask
    values: Values = null_values
    muted_until: MutedUntil = null_muted_until
    judges: ProposalJudge = NO_JUDGES
    embedder: Callable[[], Embedder | None] = null_embedder


Thinker = Callable[[SpaceId], Awaitable[Model | None]]
"""The model that thinks a proposal over, if a space has one."""

Related = Callable[[Transaction, SpaceId, Proposal], Awaitable[Mapping[str, Any]]]
"""What other rooms know around a proposal: memories and conflicts that it is about."""

Entropy = Callable[[int], bytes]


async def null_thinker(_space: SpaceId) -> Model | None:
    """For a house without a model."""
    return None


async def null_related(_transaction: Transaction, _space: SpaceId, _proposal: Proposal) -> Mapping[str, Any]:
    """For a wiring without memories."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDeps:
    deps: ProposalDeps
    effects: Effects = field(hash=False)
    entropy: Entropy
    thinker: Thinker = null_thinker
    related: Related = null_related
