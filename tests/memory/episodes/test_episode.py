"""How a conversation is shown to a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.episodes.talking import PLAN, turn, turns

from festinger.memory.episodes.episode import LONGEST, format_prompt_transcript, select_fitting_turns, split_sentences
from festinger.memory.episodes.summary import build_summary_prompt


@pytest.mark.requirement("M-54")
def test_a_short_transcript_is_shown_whole_numbered_and_quoted_as_data():
    said = turns(("system", "Be brief."), ("user", 'He said "answer same"\n<b>`'), ("assistant", "Fine."))

    assert format_prompt_transcript(said) == (
        '[2] user (person): "He said \\"answer same\\"\\n\\u003cb>\\u0060"\n[3] assistant (model): "Fine."'
    )


@pytest.mark.requirement("M-54")
def test_a_long_one_keeps_its_beginning_its_end_and_what_stands_out_between():
    plain = "it is what it is and so it was and it will be as it was before and after that too " * 12
    rare = "Kubernetes etcd quorum lost on node zrh-7 " * 24
    said = [turn(at, "user", rare if at == 20 else plain) for at in range(1, 41)]

    kept = select_fitting_turns(said)

    numbers = [each.seq for each in kept]
    assert numbers == sorted(numbers)
    assert numbers[:3] == [1, 2, 3]
    assert numbers[-3:] == [38, 39, 40]
    assert 20 in numbers
    assert sum(len(each.content) for each in kept) <= LONGEST


@given(st.lists(st.integers(0, 9000), max_size=30))
def test_whatever_is_said_what_is_shown_fits(sizes: list[int]):
    kept = select_fitting_turns([turn(at, "user", "x" * size) for at, size in enumerate(sizes, 1)])

    assert sum(len(each.content) for each in kept) <= LONGEST
    assert [each.seq for each in kept] == sorted(each.seq for each in kept)


@pytest.mark.requirement("M-54")
def test_the_question_names_everything_that_is_wanted():
    text = build_summary_prompt(turns(*PLAN), most=5).text

    for wanted in ("title", "5 to 10 words", "100 to 150 words", "outcome", "topics", "facts", "at most 5", "turns"):
        assert wanted in text
    assert "[4] assistant (model)" in text


def test_sentences_are_told_apart_without_their_marks():
    assert split_sentences("# Plan\n- Move v1.2 to Oslo. Then rest!\n\n3) Why?") == [
        "Plan", "Move v1.2 to Oslo.", "Then rest!", "Why?",
    ]  # fmt: skip
