"""Which neighbouring words are one name?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.text.tokens import tokenize
from festinger.text.words import FUNCTION_WORDS, load_words


def texts(text: str, *known: str) -> list[str]:
    return [token.text for token in tokenize(text, known=frozenset(known).__contains__)]


@pytest.mark.requirement("W-03")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("we like Glitch University", ["we", "like", "glitch_university"]),
        ("by Agent Zero", ["by", "agent_zero"]),
        ("in New York City", ["in", "new_york_city"]),
        ("the Glitch University", ["the", "glitch_university"]),
        ("in Glitch\tUniversity", ["in", "glitch_university"]),
        ("at One Two Three Four Five", ["at", "one_two_three_four_five"]),
        ("at One Two Three Four Five Six", ["at", "one", "two", "three", "four", "five", "six"]),
    ],
)
def test_neighbouring_capitals_are_one_name(text: str, found: list[str]):
    assert texts(text) == found


@pytest.mark.requirement("W-03")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see Glitch of University", ["see", "glitch", "of", "university"]),
        ("see Glitch 3 University", ["see", "glitch", "3", "university"]),
        ("see Glitch 3D University", ["see", "glitch", "3d", "university"]),
        ("see Glitch, University", ["see", "glitch", "university"]),
        ("see Glitch (University)", ["see", "glitch", "university"]),
        ("see Glitch's University", ["see", "glitch", "university"]),
        ("see Glitch\nUniversity", ["see", "glitch", "university"]),
        ("see Glitch. University", ["see", "glitch", "university"]),
        ("so I Think", ["so", "i", "think"]),
        ("see Dobby ISA Agent", ["see", "dobby", "isa", "agent"]),
        ("see Dobby ISPART Pool", ["see", "dobby", "ispart", "pool"]),
        ("see Dobby Isa Agent", ["see", "dobby_isa_agent"]),
        ("this IS A test", ["this", "is", "a", "test"]),
    ],
)
def test_a_name_ends_at_whatever_is_no_capital(text: str, found: list[str]):
    assert texts(text) == found


@pytest.mark.requirement("W-03")
@pytest.mark.parametrize(
    "text", ["# Glitch University", "intro\n\n## Glitch University ##\ntext", "Glitch University\n==="]
)
def test_a_heading_is_no_name_unless_it_is_known(text: str):
    assert "glitch_university" not in texts(text)
    assert "glitch_university" in texts(text, "glitch_university")


@pytest.mark.requirement("W-03")
def test_a_name_within_a_heading_is_one():
    assert texts("# About the Glitch University") == ["about", "the", "glitch_university"]


@pytest.mark.requirement("W-03")
def test_a_long_row_is_one_name_if_it_is_known():
    assert texts("at A B C D E F", "a_b_c_d_e_f") == ["at", "a_b_c_d_e_f"]


@pytest.mark.requirement("W-04")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The Glitch University is old", ["the", "glitch_university", "is", "old"]),
        ("Deploy Glitch University", ["deploy", "glitch_university"]),
        ("We know. Then Glitch University", ["we", "know", "then", "glitch_university"]),
        ("Agent Zero is old", ["agent_zero", "is", "old"]),
        ("New York City is old", ["new_york_city", "is", "old"]),
        ("Great Britain is old", ["great_britain", "is", "old"]),
        ("Repo is old", ["repo", "is", "old"]),
        ("The Repo is old", ["the", "repo", "is", "old"]),
    ],
)
def test_what_only_opens_a_sentence_is_left_out_of_the_name(text: str, found: list[str]):
    assert texts(text) == found


@pytest.mark.requirement("W-04")
def test_within_a_sentence_an_opener_is_part_of_the_name():
    assert texts("we play Open Check") == ["we", "play", "open_check"]


@pytest.mark.requirement("W-04")
def test_the_vocabulary_tells_what_belongs_to_a_name_at_the_start_of_a_sentence():
    assert texts("Dean Agent Zero spoke", "agent_zero") == ["dean", "agent_zero", "spoke"]
    assert texts("Dean Agent Zero spoke", "agent_zero", "dean_agent_zero") == ["dean_agent_zero", "spoke"]
    assert texts("we saw Dean Agent Zero", "agent_zero") == ["we", "saw", "dean_agent_zero"]


@pytest.mark.requirement("W-04")
def test_some_two_hundred_words_open_sentences():
    openers = load_words("openers")

    assert 200 <= len(openers) <= 300
    assert {"please", "deploy", "open", "check", "today"} <= openers
    assert "then" in openers | FUNCTION_WORDS


@pytest.mark.requirement("W-03")
@given(st.lists(st.sampled_from(["Aa", "Bb", "cc", "3d", ",", ".", "\n"]), max_size=20))
def test_joining_names_moves_and_loses_no_word(parts: list[str]):
    text = " ".join(parts)

    found = tokenize(text)

    assert "_".join(token.text for token in found).split("_") == (
        [part.lower() for part in parts if part.isalnum()] or [""]
    )
    assert all(len(token.text.split("_")) <= 5 for token in found)
