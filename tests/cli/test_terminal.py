import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import MONDAY

from festinger.cli.terminal import escape_line, escape_text, format_time, to_terminal_safe_json

ANYTHING = st.text(st.characters())


def speaks(text: str) -> set[str]:
    """What a terminal would obey."""
    return {sign for sign in text if unicodedata.category(sign) in ("Cc", "Cs")} | (
        set(text) & set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u200e\u200f\u2028\u2029")
    )


@given(ANYTHING)
def test_no_text_speaks_to_the_terminal(text: str):
    assert speaks(escape_text(text)) <= {"\n", "\t"}
    assert speaks(escape_line(text)) == set()


@given(st.text(st.characters(categories=("L", "N", "P", "S"))))
def test_a_harmless_text_stays_as_it_is(text: str):
    assert escape_text(text) == escape_line(text) == text


@given(ANYTHING.filter(lambda text: text.isprintable() or text.encode("utf-8", "ignore").decode() == text))
def test_json_says_the_same_and_does_not_speak_either(text: str):
    said = to_terminal_safe_json({"text": text})

    assert json.loads(said) == {"text": text}
    assert speaks(said) == set()


def test_an_escape_sequence_is_shown_by_its_number():
    assert escape_line("\x1b[31mred\x1b[0m\r\n") == "\\x1b[31mred\\x1b[0m\\r\\n"


def test_a_moment_is_shown_to_the_second():
    assert format_time(MONDAY.replace(microsecond=5)) == "2026-01-05T12:00:00Z"
    assert format_time(None) == ""
