"""What is written down about one call to a model?

`Call` is the row of the cost ledger: one for every call that was sent, also if it failed. `Ledger` is the
port to where the rows lie; the store implements it, because this room lies below it.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Protocol
from uuid import UUID

from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, AgentId, SessionId, SpaceId
from festinger.llm.port import Purpose, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """On whose behalf a model is asked."""

    space: SpaceId = MAIN_SPACE
    agent: AgentId = DEFAULT_AGENT
    session: SessionId | None = None
    job: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    id: UUID
    at: datetime
    caller: Caller
    purpose: Purpose
    provider: str
    model: str
    usage: Usage | None
    cost_usd: Decimal | None
    latency_ms: int
    ok: bool
    """Whether it gave an answer that could be used."""
    prompt_hash: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What calls came to."""

    calls: int = 0
    failed: int = 0
    cost_usd: Decimal = Decimal(0)
    unpriced: int = 0
    """Calls whose cost is unknown; they are missing in `cost_usd`."""


class Ledger(Protocol):
    async def record(self, call: Call) -> None: ...

    async def tally(self, since: datetime, purpose: Purpose | None = None) -> Tally:
        """Over all spaces, because the limits are the deployment's."""
