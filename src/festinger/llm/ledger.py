"""What is written down about one call to a model?

`ModelCall` is the row of the cost ledger: one for every call that was sent, also if it failed. `CallLedger` is the
port to where the rows lie; the store implements it, because this room lies below it.

What did a call cost?

Prices come from the table that ships with genai-prices; nothing is looked up outside. They are found by the
address that was asked, so a model of the same name on another server is not billed as the famous one. What
has no known price costs `None`, never 0.

May one more call be made now?

Two limits of the deployment: calls an hour for each purpose, and dollars a day for all of them. Over a limit
the answer is `Overloaded` with the reason; the work that wanted the model waits and is not decided
otherwise. Counting is the ledger's matter, waiting the caller's.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Protocol
from uuid import UUID

from festinger.errors import Overloaded
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, AgentId, SessionId, SpaceId
from festinger.llm.endpoint import Endpoint
from festinger.llm.model import ModelPurpose, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCaller:
    """On whose behalf a model is asked."""

    space: SpaceId = MAIN_SPACE
    agent: AgentId = DEFAULT_AGENT
    session: SessionId | None = None
    job: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    id: UUID
    at: datetime
    caller: ModelCaller
    purpose: ModelPurpose
    provider: str
    model: str
    usage: Usage | None
    cost_usd: Decimal | None
    latency_ms: int
    ok: bool
    """Whether it gave an answer that could be used."""
    prompt_hash: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTotals:
    """What calls came to."""

    calls: int = 0
    failed: int = 0
    cost_usd: Decimal = Decimal(0)
    unpriced: int = 0
    """Calls whose cost is unknown; they are missing in `cost_usd`."""


class CallLedger(Protocol):
    async def record(self, call: ModelCall) -> None: ...

    async def tally(self, since: datetime, purpose: ModelPurpose | None = None) -> CallTotals:
        """Over all spaces, because the limits are the deployment's."""


def price_call(asked: Endpoint, usage: Usage | None, *, at: datetime) -> Decimal | None:
    """The cost in US dollars at that moment's prices; none if unknown."""
    if usage is None or not asked.address:
        return None
    # Imported at the first call: the table takes a third of a second to load, and most commands make no call.
    import genai_prices

    counted = genai_prices.Usage(
        input_tokens=usage.tokens_in, output_tokens=usage.tokens_out, cache_read_tokens=usage.tokens_cached
    )
    try:
        found = genai_prices.calc_price(
            counted, asked.model, provider_api_url=asked.address, genai_request_timestamp=at
        )
    except (LookupError, ValueError):
        # Unknown provider or model; or counts that contradict each other, such as more cached than read.
        return None
    return found.total_price


def sum_costs(costs: Iterable[Decimal | None]) -> Decimal | None:
    """The sum, if every part of it is known."""
    known = list(costs)
    if any(cost is None for cost in known):
        return None
    return sum((cost for cost in known if cost is not None), start=Decimal(0))


HOUR = timedelta(hours=1)
DAY = timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageLimits:
    calls_per_hour: int = 1000
    daily_usd: Decimal | None = None


def check_call_limit(purpose: ModelPurpose, limits: UsageLimits, *, hour: CallTotals, under_way: int) -> None:
    """Refuse a call beyond the hour's; those under way are not in the ledger yet and count too."""
    if hour.calls + under_way < limits.calls_per_hour:
        return
    raise Overloaded(
        f"The limit of {limits.calls_per_hour} model calls an hour for `{purpose}` is reached.",
        hint="The work waits; raise `llm.max_calls_per_hour` to go on sooner.",
        limit="llm.max_calls_per_hour",
        purpose=purpose.value,
    )


def check_spending_limit(limits: UsageLimits, *, day: CallTotals) -> None:
    """Refuse a call once the day's money is spent. Calls without a known price cannot be counted."""
    if limits.daily_usd is None or day.cost_usd < limits.daily_usd:
        return
    raise Overloaded(
        f"Model calls cost {day.cost_usd:.2f} USD in the last 24 hours; the limit is {limits.daily_usd:.2f} USD.",
        hint="The work waits; raise `llm.daily_limit_usd` to go on sooner.",
        limit="llm.daily_limit_usd",
        unpriced_calls=day.unpriced,
    )
