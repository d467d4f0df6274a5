"""Which words of a text are worth counting?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.text.vocabulary import common_words, is_common, may_be_vocabulary, vocabulary_tokens


def counted(text: str) -> list[str]:
    return [token.text for token in vocabulary_tokens(text, known=lambda _: False)]


@pytest.mark.requirement("W-06")
@pytest.mark.parametrize(
    "token",
    [
        "42",
        "3.14",
        "1_000",
        "2026-01-05",
        "05.01.2026",
        "2026-01-05t10",
        "123e4567-e89b-12d3-a456-426614174000",
        "deadbeef1",
        "0xdeadbeef1",
        "dgvzdgluzyb0agugbg9uzyb0",
        "a1b2-c3d4_e5f6-g7h8-i9j0k",
        "anna@example.org",
        "https",
        "ssh",
        "x" * 65,
    ],
)
def test_numbers_ids_and_addresses_are_never_vocabulary(token: str):
    assert not may_be_vocabulary(token)


@pytest.mark.requirement("W-06")
@pytest.mark.parametrize(
    "token",
    [
        "gnommoweb",
        "dgvzdgluzyb0agugbg9uzyb",
        "agent0_stack",
        "deadbeef",
        "facade12x",
        "v1.2.3",
        "gpt-4",
        "2nd",
        "new_york_city_police_department",
        "antidisestablishmentarianism",
        "us-east-1-prod-2-cluster-3",
        "x" * 64,
    ],
)
def test_names_may_be_vocabulary(token: str):
    assert may_be_vocabulary(token)


@pytest.mark.requirement("W-06")
def test_a_secret_is_gone_before_words_are_counted():
    assert counted("gnommoweb has the password: Gnarlwock-Zibble and runs fastapi") == ["gnommoweb", "fastapi"]


@pytest.mark.parametrize("word", ["please", "update", "instead", "repo"])
def test_common_english_is_common(word: str):
    assert is_common(word)


@pytest.mark.parametrize("word", ["docker", "dobby", "fastapi", "gnommoweb", "new_york"])
def test_names_are_not_common(word: str):
    assert not is_common(word)


def test_the_bar_between_common_and_not_can_be_moved():
    assert is_common("docker", 2.9)
    assert not is_common("repo", 3.2)
    assert 28_000 < len(common_words()) < 31_000


def test_the_list_is_read_once():
    assert common_words() is common_words()


@pytest.mark.requirement("W-05", "W-06")
def test_what_counts_is_content_that_is_neither_common_nor_an_id():
    assert counted("Please update gnommoweb at 10:30, it is a repo of Glitch University (id deadbeef1)") == [
        "gnommoweb",
        "glitch_university",
    ]


@pytest.mark.requirement("W-06")
@given(st.text())
def test_what_counts_may_be_vocabulary(text: str):
    assert all(may_be_vocabulary(token) and not is_common(token) for token in counted(text))
