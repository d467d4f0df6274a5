from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.errors import Overloaded
from festinger.llm.ledger import CallTotals, UsageLimits, check_call_limit, check_spending_limit
from festinger.llm.model import ModelPurpose


@pytest.mark.requirement("X-84")
@given(made=st.integers(0, 50), under_way=st.integers(0, 50), limit=st.integers(0, 50))
def test_a_call_is_let_through_exactly_while_the_hour_has_room(made: int, under_way: int, limit: int) -> None:
    limits = UsageLimits(calls_per_hour=limit)

    if made + under_way < limit:
        check_call_limit(ModelPurpose.WRITE, limits, hour=CallTotals(calls=made), under_way=under_way)
    else:
        with pytest.raises(Overloaded, match="`write`"):
            check_call_limit(ModelPurpose.WRITE, limits, hour=CallTotals(calls=made), under_way=under_way)


@pytest.mark.requirement("X-87")
@given(spent=st.decimals(0, 10, places=4), limit=st.decimals(0, 10, places=2))
def test_calls_stop_exactly_when_the_days_money_is_spent(spent: Decimal, limit: Decimal) -> None:
    limits = UsageLimits(daily_usd=limit)

    if spent < limit:
        check_spending_limit(limits, day=CallTotals(cost_usd=spent))
    else:
        with pytest.raises(Overloaded, match="24 hours"):
            check_spending_limit(limits, day=CallTotals(cost_usd=spent))


@pytest.mark.requirement("X-87")
def test_no_budget_is_kept_unless_one_is_set() -> None:
    assert UsageLimits().daily_usd is None
    check_spending_limit(UsageLimits(), day=CallTotals(cost_usd=Decimal(10**6)))


@pytest.mark.requirement("X-87")
def test_the_refusal_says_how_many_calls_could_not_be_counted() -> None:
    with pytest.raises(Overloaded) as raised:
        check_spending_limit(UsageLimits(daily_usd=Decimal(1)), day=CallTotals(cost_usd=Decimal(2), unpriced=3))
    assert raised.value.details["unpriced_calls"] == 3
