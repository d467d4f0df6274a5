"""Records, prices and limits model calls.

`ModelCall` is a row of the cost ledger, one for every call sent, even if it failed. `CallLedger` is the port
that the store implements. Prices come from the table of genai-prices, offline, and are looked up by address,
so a model of the same name on another server is not billed as the famous one; an unknown price is `None`,
never 0. The limits are per deployment: calls per hour for each purpose, dollars per day for all. Beyond them
a call raises `Overloaded` and the work waits.

Guards each provider with a circuit breaker, parallel slots and a timeout.

All purposes and spaces that ask the same server share its `ServerGuard`. Five failures within a minute open
the breaker for half a minute; then one call is let through as a probe, which closes or reopens it. Only the
provider's own failures count; a refusal is an answer. Times come from an injected stopwatch.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Protocol, TypeVar
from uuid import UUID

from festinger.clock import Stopwatch
from festinger.errors import FestingerError, Overloaded, ProviderDown
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
    """Whether the answer was usable."""
    prompt_hash: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTotals:
    calls: int = 0
    failed: int = 0
    cost_usd: Decimal = Decimal(0)
    unpriced: int = 0
    """Calls whose cost is unknown and missing from `cost_usd`."""


class CallLedger(Protocol):
    async def record(self, call: ModelCall) -> None: ...

    async def tally(self, since: datetime, purpose: ModelPurpose | None = None) -> CallTotals:
        """Total over all spaces, because the limits are per deployment."""


def price_call(asked: Endpoint, usage: Usage | None, *, at: datetime) -> Decimal | None:
    """Return the cost in US dollars at the prices of that moment; none if unknown."""
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
    """Return the sum, or none if any part is unknown."""
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
    """Raise beyond the hourly limit; calls in progress are not in the ledger yet and count too."""
    if hour.calls + under_way < limits.calls_per_hour:
        return
    raise Overloaded(
        f"The limit of {limits.calls_per_hour} model calls an hour for `{purpose}` is reached.",
        hint="The work waits; raise `llm.max_calls_per_hour` to go on sooner.",
        limit="llm.max_calls_per_hour",
        purpose=purpose.value,
    )


def check_spending_limit(limits: UsageLimits, *, day: CallTotals) -> None:
    """Raise once the daily budget is spent. Calls without a known price cannot be counted."""
    if limits.daily_usd is None or day.cost_usd < limits.daily_usd:
        return
    raise Overloaded(
        f"Model calls cost {day.cost_usd:.2f} USD in the last 24 hours; the limit is {limits.daily_usd:.2f} USD.",
        hint="The work waits; raise `llm.daily_limit_usd` to go on sooner.",
        limit="llm.daily_limit_usd",
        unpriced_calls=day.unpriced,
    )


FAILURES = 5
WINDOW_SECONDS = 60.0
OPEN_SECONDS = 30.0


R = TypeVar("R")


class ServerGuard:
    """Breaker and slots of one server."""

    def __init__(self, server: str, stopwatch: Stopwatch) -> None:
        self.server = server
        self._stopwatch = stopwatch
        self._slots: dict[int, asyncio.Semaphore] = {}
        self._failures: deque[float] = deque(maxlen=FAILURES)
        self._opened: float | None = None
        self._is_probing = False

    @asynccontextmanager
    async def slot(self, at_once: int) -> AsyncIterator[None]:
        """Hold a slot, when one is free. A changed limit starts with all its slots free."""
        async with self._slots.setdefault(at_once, asyncio.Semaphore(at_once)):
            yield

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Let a call through if the breaker does, and record how it went; a caller that left shows nothing."""
        is_probe = self._admit()
        try:
            yield
        except ProviderDown:
            self._record_failure(is_probe)
            raise
        except FestingerError:
            self._record_answer(is_probe)
            raise
        else:
            self._record_answer(is_probe)
        finally:
            self._is_probing = self._is_probing and not is_probe

    def _admit(self) -> bool:
        """Whether the call is a probe. Raises `ProviderDown` while the breaker is open."""
        if self._opened is None:
            return False
        wait = max(0.0, OPEN_SECONDS - (self._stopwatch() - self._opened))
        if self._is_probing or wait:
            raise ProviderDown(
                f"{self.server} failed too often and is not asked now.",
                hint=f"It is tried again in {wait:.0f} seconds.",
                retry_after=round(wait),
            )
        self._is_probing = True
        return True

    def _record_failure(self, is_probe: bool) -> None:
        now = self._stopwatch()
        if is_probe:
            self._opened = now
            return
        self._failures.append(now)
        if self._opened is None and len(self._failures) == FAILURES and now - self._failures[0] < WINDOW_SECONDS:
            self._opened = now

    def _record_answer(self, is_probe: bool) -> None:
        if is_probe:
            self._opened = None
            self._failures.clear()


class ServerGuards:
    """The guards of a process, and the number of calls in progress per purpose."""

    def __init__(self, stopwatch: Stopwatch) -> None:
        self._stopwatch = stopwatch
        self._by_server: dict[str, ServerGuard] = {}
        self.under_way: Counter[ModelPurpose] = Counter()

    def of(self, server: str) -> ServerGuard:
        return self._by_server.setdefault(server, ServerGuard(server, self._stopwatch))


async def await_within(seconds: float, waited: Awaitable[R], *, server: str) -> R:
    """Return the awaited result, or raise `ProviderDown` on timeout."""
    try:
        async with asyncio.timeout(seconds):
            return await waited
    except TimeoutError as error:
        raise ProviderDown(f"{server} took longer than {seconds:g} seconds.") from error
