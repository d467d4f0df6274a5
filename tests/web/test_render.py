import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.web.pages.test_start import MONDAY

from festinger.web.render import kept_visible, moment


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("re\u200bpo", "re\\u200bpo"),
        ("a\x00b", "a\\u0000b"),
        ("plain", "plain"),
    ],
    ids=["turned", "no width", "null", "plain"],
)
def test_what_would_hide_is_shown_by_its_number(text: str, shown: str):
    assert kept_visible(text) == shown


@given(st.text())
def test_showing_twice_changes_nothing_more(text: str):
    assert kept_visible(kept_visible(text)) == kept_visible(text)


def test_a_time_is_read_to_the_second_from_a_value_or_from_text():
    assert moment(MONDAY) == moment("2026-01-05T12:00:00.9Z") == "2026-01-05 12:00:00 UTC"
    assert moment(None) == ""
