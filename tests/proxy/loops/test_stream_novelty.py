"""How long a text has said nothing new."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.proxy.loops.stream import KEPT_SEQUENCES, NoveltyTracker, remove_repeated_end

SENTENCE = "I will try that once more. "


def stale(text: str) -> int:
    novelty = NoveltyTracker()
    novelty.grow(f"{text} ")
    return novelty.stale


@pytest.mark.requirement("P-66")
def test_what_was_said_before_is_stale_in_any_order_and_a_new_word_ends_it():
    assert stale(SENTENCE) == 0
    assert stale(SENTENCE * 50) > 1_000
    assert stale(SENTENCE * 50 + "Now I know better. ") == 0


@pytest.mark.requirement("P-66")
def test_another_number_is_new_and_numbers_alone_are_never_stale():
    assert stale("".join(f"Step {n}: verify the result of it. " for n in range(50))) < 40
    assert stale("0 1 0 1 " * 500) == 0


def test_words_are_read_whole_wherever_the_text_is_split():
    novelty = NoveltyTracker()
    for character in SENTENCE * 20 + " ":
        novelty.grow(character)

    assert novelty.stale == stale(SENTENCE * 20)


def test_only_the_latest_sequences_are_kept():
    novelty = NoveltyTracker()
    for n in range(5 * KEPT_SEQUENCES):
        novelty.grow(f"w{n} ")

    assert len(novelty._seen) + len(novelty._older) <= 2 * KEPT_SEQUENCES + 2


@pytest.mark.requirement("P-74")
def test_a_cut_text_keeps_what_it_said_and_says_it_once():
    text = "Let me see. " + SENTENCE * 100

    assert remove_repeated_end(text) == ("Let me see. " + SENTENCE * 3)[: -len(" more. ")]
    assert remove_repeated_end("All is well.\n\n" + "\n" * 300) == "All is well."
    assert remove_repeated_end("All is well!" + "!" * 300) == "All is well!"


@given(st.text("ab1 .\n", max_size=300), st.integers(1, 50))
def test_a_shortened_text_is_a_beginning_of_the_text_and_stays_as_it_is(text: str, count: int):
    short = remove_repeated_end(text * count)

    assert (text * count).startswith(short)
    assert len(remove_repeated_end(short)) <= len(short)
