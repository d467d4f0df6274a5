"""What is said once a phrase is taken off that only leads up to it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.text.hygiene import strip_lead_in


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("By the way, Anna lives in Oslo.", "Anna lives in Oslo."),
        ("Oh by the way: just so you know, it is closed", "it is closed"),
        ("AS I SAID BEFORE, no", "no"),
        ("By the way", "By the way"),
        ("By the way,", "By the way,"),
        ("By the river, Anna has a house.", "By the river, Anna has a house."),
    ],
)
def test_only_what_leads_up_is_taken_off(text: str, bare: str):
    assert strip_lead_in(text) == bare


@given(st.text(max_size=60))
def test_taking_it_off_twice_is_taking_it_off_once(text: str):
    once = strip_lead_in(text)

    assert strip_lead_in(once) == once
    assert text.endswith(once)
