"""When one turn says again, with other numbers, what another said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.retrieval.test_rank_hit import candidate

from festinger.retrieval.bm25 import TermMatches
from festinger.retrieval.candidate import RecallCandidate
from festinger.retrieval.rank import differs_only_in_numbers

WORTH = {"budget": 3.0, "grocery": 3.0, "month": 1.0}


def said(text: str, **counts: float) -> RecallCandidate:
    beside = frozenset(word for word, count in counts.items() if count < 1)
    return candidate(1, type="turn", content=text, held=TermMatches(counts=counts, length=9, nearby=beside))


FIRST = said("Our monthly grocery budget is $500.", budget=1.0, grocery=1.0, month=1.0)


@pytest.mark.parametrize(
    ("text", "counts", "is_so"),
    [
        ("The grocery budget went up to $550.", {"budget": 1.0, "grocery": 1.0}, True),
        ("The grocery budget is $500.", {"budget": 1.0, "grocery": 1.0}, False),
        ("The grocery budget is too high.", {"budget": 1.0, "grocery": 1.0}, False),
        ("A month has 30 days.", {"month": 1.0}, False),
        ("It is $550 now.", {"budget": 0.4, "grocery": 0.8}, False),
        ("It is $550 now.", {}, False),
    ],
    ids=["another amount", "the same amount", "no amount", "few words", "words that stand beside it", "no word"],
)
def test_other_numbers_for_the_same_words_are_a_second_telling(text: str, counts: dict[str, float], is_so: bool):
    assert differs_only_in_numbers(FIRST, said(text, **counts), worth=WORTH.__getitem__) is is_so


def test_an_hour_is_a_number_as_a_whole():
    at_three = said("The call is at 3:30.", budget=1.0)

    assert differs_only_in_numbers(at_three, said("The call is at 4:30.", budget=1.0), worth=WORTH.__getitem__)
    assert not differs_only_in_numbers(at_three, said("At 3:30, that is.", budget=1.0), worth=WORTH.__getitem__)


@given(
    st.sets(st.sampled_from(sorted(WORTH))),
    st.sets(st.sampled_from(sorted(WORTH))),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_neither_of_two_is_the_one_that_restates(one: set[str], other: set[str], mine: int, yours: int):
    first = said(f"It is {mine}.", **dict.fromkeys(one, 1.0))
    second = said(f"It is {yours}.", **dict.fromkeys(other, 1.0))

    both = differs_only_in_numbers(first, second, worth=WORTH.__getitem__)

    assert both is differs_only_in_numbers(second, first, worth=WORTH.__getitem__)
    assert not (both and mine == yours)
