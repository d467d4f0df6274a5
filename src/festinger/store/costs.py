"""What did asking models cost?

Keeps the ledger: one row for each call, as `llm` hands it over, and its sums for a session, the last 24
hours or ever, by purpose and by model. A call without a known price is counted apart and never as free.
Limits are decided in `llm`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TypeVar

from festinger.ids import SessionId, SpaceId
from festinger.llm.ledger import Call, Tally
from festinger.llm.model import Purpose
from festinger.store.pool import Store
from festinger.store.queries import queries_of

Q = queries_of("festinger.store")

DAY = timedelta(hours=24)

K = TypeVar("K")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What some calls came to."""

    calls: int = 0
    failed: int = 0
    cost_usd: Decimal = Decimal(0)
    unpriced: int = 0
    """Calls whose price is unknown; they are missing in `cost_usd`."""
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            calls=self.calls + other.calls,
            failed=self.failed + other.failed,
            cost_usd=self.cost_usd + other.cost_usd,
            unpriced=self.unpriced + other.unpriced,
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            tokens_cached=self.tokens_cached + other.tokens_cached,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SpentOn:
    """What one model cost for one purpose; the model as `provider:model`."""

    purpose: Purpose
    model: str
    spent: Spent


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """The sums over one stretch."""

    lines: tuple[SpentOn, ...]

    @property
    def total(self) -> Spent:
        return sum((line.spent for line in self.lines), start=Spent())

    @property
    def by_purpose(self) -> dict[Purpose, Spent]:
        return _grouped(self.lines, lambda line: line.purpose)

    @property
    def by_model(self) -> dict[str, Spent]:
        return _grouped(self.lines, lambda line: line.model)


class StoredLedger:
    """The ledger that `llm` writes to and asks for its limits."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def record(self, call: Call) -> None:
        usage = call.usage
        await self._store.run(
            Q["record_call"],
            space=call.caller.space,
            id=call.id,
            at=call.at,
            agent=call.caller.agent,
            session=call.caller.session,
            purpose=call.purpose,
            provider=call.provider,
            model=call.model,
            tokens_in=usage.tokens_in if usage else None,
            tokens_out=usage.tokens_out if usage else None,
            tokens_cached=usage.tokens_cached if usage else None,
            cost_usd=call.cost_usd,
            latency_ms=call.latency_ms,
            ok=call.ok,
            prompt_hash=call.prompt_hash,
            job=call.caller.job,
        )

    async def tally(self, since: datetime, purpose: Purpose | None = None) -> Tally:
        return Tally(**await self._store.one(Q["tally_calls"], since=since, purpose=purpose))


async def session_costs(store: Store, *, space: SpaceId, session: SessionId) -> Costs:
    return await _costs(store, space=space, session=session)


async def day_costs(store: Store, *, space: SpaceId, now: datetime) -> Costs:
    """Of the last 24 hours."""
    return await _costs(store, space=space, since=now - DAY)


async def lifetime_costs(store: Store, *, space: SpaceId) -> Costs:
    return await _costs(store, space=space)


async def _costs(
    store: Store, *, space: SpaceId, session: SessionId | None = None, since: datetime | None = None
) -> Costs:
    rows = await store.all(Q["sum_costs"], space=space, session=session, since=since)
    return Costs(
        lines=tuple(
            SpentOn(
                purpose=Purpose(row.pop("purpose")),
                model=f"{row.pop('provider')}:{row.pop('model')}",
                spent=Spent(**row),
            )
            for row in rows
        )
    )


def _grouped(lines: Iterable[SpentOn], key: Callable[[SpentOn], K]) -> dict[K, Spent]:
    sums: dict[K, Spent] = {}
    for line in lines:
        sums[key(line)] = sums.get(key(line), Spent()) + line.spent
    return sums
