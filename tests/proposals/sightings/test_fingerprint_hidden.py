"""What nobody can see is shown by its number, and does not count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.proposals.sightings.fingerprint import escape_hidden_chars, is_hidden_char, strip_hidden_chars


@pytest.mark.requirement("H-07")
def test_a_hidden_character_is_shown_by_its_number():
    assert escape_hidden_chars("ab\u202ecd\u200b") == "ab⟦U+202E⟧cd⟦U+200B⟧"
    assert escape_hidden_chars("two\nlines") == "two\nlines"


@given(text=st.text(max_size=60))
def test_nothing_hidden_is_left(text: str):
    assert not any(is_hidden_char(char) for char in strip_hidden_chars(text))
    assert not any(is_hidden_char(char) for char in escape_hidden_chars(text).replace("\n", ""))
