import random

from hypothesis import given
from hypothesis import strategies as st

from festinger.proxy.loops.density import Scales, adds_little, often_said, ratio

CHANCE = random.Random(9)
FRESH = " ".join("".join(CHANCE.choices("abcdefghijklmnop", k=5)) for _ in range(80))


def weighed(text: str) -> bytes:
    scales = Scales()
    scales.grow(text)
    return scales.data


def test_indentation_and_rows_of_tables_are_not_weighed():
    assert weighed("    if a:\n\t\tb\n  | x | y |\n|--|\nc") == b"if a:\nb\nc"


@given(st.text("a |\n\t", max_size=60), st.integers(1, 7))
def test_what_is_weighed_does_not_depend_on_the_pieces(text: str, size: int):
    scales = Scales()
    for start in range(0, len(text), size):
        scales.grow(text[start : start + size])

    assert scales.data == weighed(text)


def test_a_text_that_repeats_weighs_little_and_a_short_one_nothing_yet():
    assert ratio(b"the same again, " * 60) < 0.1 < 0.35 < ratio(FRESH.encode())
    assert ratio(b"x" * 255) == 1.0


def test_what_any_text_costs_at_first_is_not_held_against_a_short_loop():
    assert ratio(FRESH[:120].encode() * 3) < 0.15


def test_an_end_that_says_something_new_is_no_loop():
    looping = b"the same again, " * 60

    assert adds_little(looping)
    assert not adds_little(looping + FRESH.encode()[:300])


def test_word_sequences_are_seen_again_in_a_loop_only():
    assert often_said("one two three four five six seven eight nine ten " * 30) > 0.9
    assert often_said(FRESH * 2) == 0.0
    assert often_said("one two " * 10) == 0.0
