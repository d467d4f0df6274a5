"""Who gets how much of the credit."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.errors import BadInput
from festinger.outcomes.model import credit_shares, credit_shares_by_words


@pytest.mark.requirement("O-36")
def test_four_that_were_acted_on_share_alike() -> None:
    assert credit_shares(["a", "b", "c", "d"]) == {"a": 0.25, "b": 0.25, "c": 0.25, "d": 0.25}


@pytest.mark.requirement("O-36")
def test_the_credit_of_the_caller_is_normalised_and_never_negative() -> None:
    assert credit_shares(["a", "b"], {"a": 3, "b": 1, "elsewhere": 9}) == {"a": 0.75, "b": 0.25}
    assert credit_shares(["a", "b"], {"a": 2}) == {"a": 1.0, "b": 0.0}
    assert credit_shares(["a"], {"a": 0}) == {"a": 0.0}
    with pytest.raises(BadInput):
        credit_shares(["a"], {"a": -0.1})
    with pytest.raises(BadInput):
        credit_shares(["a"], {"a": math.nan})


@pytest.mark.requirement("O-36")
def test_a_word_that_two_notes_share_gives_each_a_half() -> None:
    found = credit_shares_by_words({"a": {"lisgate": 1.0, "harbour": 1.0}, "b": {"harbour": 1.0}})

    assert found == pytest.approx({"a": 0.75, "b": 0.25})


@pytest.mark.requirement("O-36")
@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1e6), min_size=1, max_size=8))
def test_shares_never_sum_to_more_than_one(credit: dict[str, float]) -> None:
    assert sum(credit_shares(list(credit), credit).values()) <= 1.0 + 1e-9
    assert sum(credit_shares(list(credit)).values()) <= 1.0 + 1e-9
