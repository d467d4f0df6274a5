import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.web.pages.test_overview import MONDAY

from festinger.web.render import escape_hidden, format_time


@pytest.mark.parametrize(
    ("text", "shown"),
    [("\u202egnp.exe", "\\u202egnp.exe"), ("re\u200bpo", "re\\u200bpo"), ("a\x00b", "a\\u0000b"), ("plain", "plain")],
    ids=["turned", "no width", "null", "plain"],
)
def test_what_would_hide_is_shown_by_its_number(text: str, shown: str):
    assert escape_hidden(text) == shown


@given(st.text())
def test_showing_twice_changes_nothing_more(text: str):
    assert escape_hidden(escape_hidden(text)) == escape_hidden(text)


def test_a_time_is_read_to_the_minute_from_a_value_or_from_text():
    assert format_time(MONDAY) == format_time("2026-01-05T12:00:00.9Z") == "2026-01-05 12:00 UTC"
    assert format_time(None) == ""
