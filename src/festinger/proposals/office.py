"""What does deciding need, beside the desk?

What a yes does in each room, a model that thinks a proposal over, what is known around one, and a source of secrets
for one-time codes. All of it is handed in at wiring.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from festinger.ids import SpaceId
from festinger.llm.model import Model
from festinger.proposals.desk import Desk
from festinger.proposals.effects import Effects
from festinger.proposals.proposal import Proposal
from festinger.store.pool import Transaction

Thinker = Callable[[SpaceId], Awaitable[Model | None]]
"""The model that thinks a proposal over, if a space has one."""

Related = Callable[[Transaction, SpaceId, Proposal], Awaitable[Mapping[str, Any]]]
"""What other rooms know around a proposal: memories and conflicts that it is about."""

Entropy = Callable[[int], bytes]


async def no_thinker(_space: SpaceId) -> Model | None:
    """For a house without a model."""
    return None


async def nothing_related(
    _transaction: Transaction, _space: SpaceId, _proposal: Proposal
) -> Mapping[str, Any]:
    """For a wiring without memories."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Office:
    desk: Desk
    effects: Effects = field(hash=False)
    entropy: Entropy
    thinker: Thinker = no_thinker
    related: Related = nothing_related
