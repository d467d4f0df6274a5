from hypothesis import given
from hypothesis import strategies as st

from festinger.proxy.loops.period import NONE, Repetition, Tail, repetition


def test_the_end_is_a_block_said_over_and_over():
    assert repetition("begin " + "abcdefg " * 30, 4, 200) == Repetition(8, 240 + 1)
    assert repetition("begin " + "abcdefg " * 20, 4, 200) == NONE


def test_a_block_that_holds_its_own_end_twice_is_found_too():
    twice = "and so I read the config file again. "
    block = f"{twice}There is nothing new in it at all, {twice}"

    assert repetition(block * 6, 4, 200).count == 6


@given(st.text("abc", min_size=1, max_size=40), st.integers(4, 30), st.text("xyz", max_size=30))
def test_what_is_found_really_repeats(block: str, count: int, intro: str):
    text = intro + block * count
    found = repetition(text, 4, 100)

    if found.chars:
        end = text[-found.chars :]
        assert end[found.period :] == end[: -found.period]


def test_a_growing_text_is_counted_as_the_whole_is():
    tail = Tail(least_count=4, least_chars=200)
    for _ in range(40):
        tail.grow("I will try again. ")

    assert tail.repetition == Repetition(18, 40 * 18)
    tail.grow("No, I will not. ")
    assert tail.repetition == NONE
