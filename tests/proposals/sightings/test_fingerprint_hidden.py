"""What nobody can see is shown by its number, and does not count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.proposals.sightings.fingerprint import is_hidden, with_hidden_shown, without_hidden


@pytest.mark.requirement("H-07")
def test_a_hidden_character_is_shown_by_its_number():
    assert with_hidden_shown("ab\u202ecd\u200b") == "ab⟦U+202E⟧cd⟦U+200B⟧"
    assert with_hidden_shown("two\nlines") == "two\nlines"


@given(text=st.text(max_size=60))
def test_nothing_hidden_is_left(text: str):
    assert not any(is_hidden(char) for char in without_hidden(text))
    assert not any(is_hidden(char) for char in with_hidden_shown(text).replace("\n", ""))
