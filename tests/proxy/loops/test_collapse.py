import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.proxy.loops.collapse import collapsed

INTRO = "Let me look at this. The build fails in the second step.\n"
SENTENCE = "I should check the configuration file once more. "


def test_an_exact_loop_is_said_once():
    assert collapsed(INTRO + SENTENCE * 20) == INTRO + SENTENCE


def test_a_loop_that_was_cut_inside_a_round_keeps_one_round():
    short = collapsed(INTRO + SENTENCE * 20 + SENTENCE[:17])

    assert short == INTRO + SENTENCE


def test_counting_on_is_said_once():
    counted = "".join(f"Step {n}: verify the result of it.\n" for n in range(5, 60))

    assert collapsed("In order: " + counted) == "In order: Step 5: verify the result of it.\n"


def test_long_numbers_do_not_shift_where_it_is_cut():
    counted = "".join(f"Step {n}: verify the result of {n}.\n" for n in range(123_450, 123_500))

    assert collapsed("In order: " + counted) == "In order: Step 123450: verify the result of 123450.\n"


def test_lines_of_one_shape_are_said_once():
    names = [chr(97 + n) * 3 for n in range(20)]
    shaped = "".join(f'print(solve("{name}"))\n' for name in names)

    assert collapsed(INTRO + shaped) == INTRO + 'print(solve("aaa"))\n'


def test_blanks_at_the_end_go():
    assert collapsed(INTRO + "\n" * 500) == INTRO.rstrip()


@pytest.mark.parametrize("text", ["", "short", INTRO, INTRO + SENTENCE * 2])
def test_what_does_not_end_in_a_loop_stays(text: str):
    assert collapsed(text) == text


@given(st.text("ab1\n ", max_size=30), st.text("xyz2\n ", min_size=1, max_size=40), st.integers(0, 60))
def test_the_beginning_stays_and_nothing_is_made_up(intro: str, block: str, count: int):
    text = intro + block * count
    short = collapsed(text)

    assert text.startswith(short)
    assert bool(short) or not text.strip()
