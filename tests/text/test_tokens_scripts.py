"""Which known words stand in a script that puts no spaces between them?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.text.tokens import WINDOW, tokenize


def texts(text: str, *known: str) -> list[str]:
    return [token.text for token in tokenize(text, known=frozenset(known).__contains__)]


@pytest.mark.requirement("W-07")
@pytest.mark.parametrize(
    ("text", "known", "found"),
    [
        ("東京大学は古い", ["東京", "東京大学", "古い"], ["東京大学", "古い"]),
        ("カタカナのリポ", ["リポ"], ["リポ"]),
        ("글리치대학교에서", ["글리치대학교"], ["글리치대학교"]),
        ("ฉันอยู่กรุงเทพ", ["กรุงเทพ"], ["กรุงเทพ"]),
        ("ខ្ញុំនៅភ្នំពេញ", ["ភ្នំពេញ"], ["ភ្នំពេញ"]),
        ("ຢູ່ວຽງຈັນ", ["ວຽງຈັນ"], ["ວຽງຈັນ"]),
    ],
)
def test_the_longest_known_word_is_found_and_the_unknown_is_none(text: str, known: list[str], found: list[str]):
    assert texts(text, *known) == found
    assert texts(text) == []


@pytest.mark.requirement("W-07")
def test_words_of_other_scripts_around_a_run_stand_by_themselves():
    assert texts("Docker東京-gnommoweb は repo です", "東京") == ["docker", "東京", "gnommoweb", "repo"]


@pytest.mark.requirement("W-07")
def test_nothing_longer_than_the_window_is_looked_up():
    asked: list[str] = []

    def known(piece: str) -> bool:
        asked.append(piece)
        return False

    tokenize("東" * 100, known)

    assert max(map(len, asked)) == WINDOW
    assert len(asked) <= 100 * WINDOW


@pytest.mark.requirement("W-07")
@given(st.text(alphabet="東京大学ab-. ", max_size=60))
def test_a_token_of_a_run_is_a_known_piece_of_the_text(text: str):
    known = {"東京", "東京大学", "学"}

    for token in tokenize(text, known.__contains__):
        assert token.text in known or token.text.isascii()
        assert text[token.start : token.end] == token.text
