from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import MONDAY

from festinger.llm.endpoint import ProviderName, build_endpoint
from festinger.llm.ledger import price_call, sum_costs
from festinger.llm.model import Usage

SOME = Usage(tokens_in=1000, tokens_out=500, tokens_cached=100)


@pytest.mark.requirement("X-87")
@pytest.mark.parametrize(
    ("provider", "model"),
    [
        (ProviderName.OPENAI, "gpt-4o-mini"),
        (ProviderName.CLAUDE, "claude-haiku-4-5"),
        (ProviderName.GEMINI, "gemini-2.5-flash"),
    ],
)
def test_a_known_model_at_its_own_address_has_a_price(provider: ProviderName, model: str) -> None:
    cost = price_call(build_endpoint(provider, model), SOME, at=MONDAY)

    assert cost is not None
    assert Decimal(0) < cost < Decimal("0.1")


@pytest.mark.requirement("X-87")
def test_the_price_follows_the_table() -> None:
    # 900 fresh tokens at 0.15, 100 cached at 0.075 and 500 written at 0.60 dollars a million.
    cost = price_call(build_endpoint(ProviderName.OPENAI, "gpt-4o-mini"), SOME, at=MONDAY)

    assert cost == Decimal("0.0004425")


@pytest.mark.requirement("X-87")
def test_what_has_no_known_price_has_none_and_not_zero() -> None:
    unknown = build_endpoint(ProviderName.OPENAI, "some-new-model-that-nobody-priced")
    local = build_endpoint(ProviderName.OLLAMA, "llama3.2")

    assert price_call(unknown, SOME, at=MONDAY) is None
    assert price_call(local, SOME, at=MONDAY) is None
    assert price_call(build_endpoint(ProviderName.SCRIPTED, ""), SOME, at=MONDAY) is None


@pytest.mark.requirement("X-87")
def test_a_famous_name_on_another_server_is_not_billed_as_the_famous_model() -> None:
    local = build_endpoint(ProviderName.OPENAI, "gpt-4o-mini", address="http://127.0.0.1:8080/v1")

    assert price_call(local, SOME, at=MONDAY) is None


@pytest.mark.requirement("X-87")
def test_a_call_that_did_not_tell_its_usage_has_no_price() -> None:
    assert price_call(build_endpoint(ProviderName.OPENAI, "gpt-4o-mini"), None, at=MONDAY) is None


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**7))
def test_any_counts_give_a_cost_or_none_and_never_an_error(read: int, written: int, cached: int) -> None:
    usage = Usage(tokens_in=read, tokens_out=written, tokens_cached=cached)

    cost = price_call(build_endpoint(ProviderName.OPENAI, "gpt-4o-mini"), usage, at=MONDAY)

    assert cost is None or cost >= 0


@given(st.lists(st.one_of(st.none(), st.decimals(0, 100, places=6))))
def test_a_sum_with_an_unknown_part_is_unknown(costs: list[Decimal | None]) -> None:
    total = sum_costs(costs)

    if None in costs:
        assert total is None
    else:
        assert total == sum(cost for cost in costs if cost is not None)
