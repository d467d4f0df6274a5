import random
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from tests.conftest import MONDAY

from festinger.ids import MAIN_SPACE, AgentId, SessionId, id_maker
from festinger.llm.ledger import CallTotals, ModelCall, ModelCaller
from festinger.llm.model import ModelPurpose, Usage
from festinger.store.pool import Store
from festinger.store.queries import Query
from festinger.store.repositories.models import (
    SpendingTotals,
    StoredCallLedger,
    last_day_costs,
    lifetime_costs,
    session_costs,
)

NEW_ID = id_maker(lambda: MONDAY, random.Random(1))
USAGE = Usage(tokens_in=100, tokens_out=20, tokens_cached=10)


def call(
    *,
    at: datetime = MONDAY,
    session: str | None = "s1",
    purpose: ModelPurpose = ModelPurpose.JUDGE,
    model: str = "gpt",
    usage: Usage | None = USAGE,
    cost: str | None = "0.01",
    ok: bool = True,
) -> ModelCall:
    return ModelCall(
        id=NEW_ID(),
        at=at,
        caller=ModelCaller(agent=AgentId("ada"), session=SessionId(session) if session else None, job=7),
        purpose=purpose,
        provider="openai",
        model=model,
        usage=usage,
        cost_usd=None if cost is None else Decimal(cost),
        latency_ms=42,
        ok=ok,
        prompt_hash="0123456789ab",
    )


async def recorded(store: Store, *calls: ModelCall) -> StoredCallLedger:
    ledger = StoredCallLedger(store)
    for one in calls:
        await ledger.record(one)
    return ledger


@pytest.mark.requirement("X-87")
async def test_a_call_becomes_one_whole_row(store: Store) -> None:
    made = call()
    await recorded(store, made)

    row = await store.one(Query(room="test", name="x", purpose="x", sql="select * from cost"))

    assert row == {
        "space_id": "main",
        "id": made.id,
        "at": MONDAY,
        "agent_id": "ada",
        "session_id": "s1",
        "purpose": "judge",
        "provider": "openai",
        "model": "gpt",
        "tokens_in": 100,
        "tokens_out": 20,
        "tokens_cached": 10,
        "cost_usd": Decimal("0.01"),
        "latency_ms": 42,
        "ok": True,
        "prompt_hash": "0123456789ab",
        "job_id": 7,
    }


async def test_a_row_that_arrives_twice_is_kept_once(store: Store) -> None:
    made = call()

    await recorded(store, made, made)

    assert (await lifetime_costs(store, space=MAIN_SPACE)).total.calls == 1


@pytest.mark.requirement("X-87")
async def test_sums_of_a_session_a_day_and_ever(store: Store) -> None:
    await recorded(
        store,
        call(session="s1", cost="1"),
        call(session="s2", cost="2"),
        call(session="s1", cost="4", at=MONDAY - timedelta(days=2)),
        call(session=None, cost="8"),
    )

    session = await session_costs(store, space=MAIN_SPACE, session=SessionId("s1"))
    day = await last_day_costs(store, space=MAIN_SPACE, now=MONDAY)
    ever = await lifetime_costs(store, space=MAIN_SPACE)

    assert (session.total.calls, session.total.cost_usd) == (2, Decimal(5))
    assert (day.total.calls, day.total.cost_usd) == (3, Decimal(11))
    assert (ever.total.calls, ever.total.cost_usd) == (4, Decimal(15))


@pytest.mark.requirement("X-87")
async def test_sums_by_purpose_and_by_model(store: Store) -> None:
    await recorded(
        store,
        call(purpose=ModelPurpose.JUDGE, model="a", cost="1"),
        call(purpose=ModelPurpose.WRITE, model="a", cost="2"),
        call(purpose=ModelPurpose.WRITE, model="b", cost="4"),
    )

    costs = await lifetime_costs(store, space=MAIN_SPACE)

    assert {purpose: spent.cost_usd for purpose, spent in costs.by_purpose.items()} == {
        ModelPurpose.JUDGE: Decimal(1),
        ModelPurpose.WRITE: Decimal(6),
    }
    assert {model: spent.cost_usd for model, spent in costs.by_model.items()} == {
        "openai:a": Decimal(3),
        "openai:b": Decimal(4),
    }
    assert costs.total.tokens_in == 300


@pytest.mark.requirement("X-87")
async def test_calls_without_a_known_price_are_counted_apart_and_not_as_free(store: Store) -> None:
    ledger = await recorded(
        store,
        call(cost="1"),
        call(cost=None),
        call(cost=None, usage=None),
        call(cost=None, usage=None, ok=False),
        call(cost=None, ok=False),
    )

    total = (await lifetime_costs(store, space=MAIN_SPACE)).total

    assert (total.calls, total.failed, total.unpriced, total.cost_usd) == (5, 2, 3, Decimal(1))
    assert (await ledger.tally(MONDAY - timedelta(hours=1))).unpriced == 3


@pytest.mark.requirement("X-84", "X-87")
async def test_the_limits_count_what_is_within_their_stretch_and_purpose(store: Store) -> None:
    ledger = await recorded(
        store,
        call(purpose=ModelPurpose.JUDGE),
        call(purpose=ModelPurpose.WRITE, ok=False),
        call(purpose=ModelPurpose.JUDGE, at=MONDAY - timedelta(hours=1)),
    )
    hour_ago = MONDAY - timedelta(hours=1)

    assert await ledger.tally(hour_ago, ModelPurpose.JUDGE) == CallTotals(calls=1, cost_usd=Decimal("0.01"))
    assert (await ledger.tally(hour_ago)).calls == 2
    assert (await ledger.tally(hour_ago - timedelta(seconds=1))).calls == 3
    assert await ledger.tally(MONDAY) == CallTotals()


async def test_nothing_spent_is_a_sum_of_nothing(store: Store) -> None:
    assert (await lifetime_costs(store, space=MAIN_SPACE)).total == SpendingTotals()
