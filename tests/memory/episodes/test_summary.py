"""What an episode was about, in its own words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.episodes.talking import PLAN, turn, turns

from festinger.memory.episodes.summary import (
    build_extract,
    extract_summary,
    extract_title,
    find_skip_reason,
    is_short_conversation,
)

LONG = turns(
    *PLAN,
    ("user", "Good. Who watches the invoices while we do it?"),
    (
        "assistant",
        "Marta from accounting watches the invoices on Thursday evening, and she calls the on-call engineer if a"
        " total differs by more than a cent. The old MySQL server stays online for a week, read only, so that we"
        " can compare whatever looks wrong.",
    ),
)

WORDS = st.sampled_from(
    [
        "billing",
        "postgres",
        "the",
        "a",
        "we",
        "invoices",
        "moved",
        "kubernetes",
        "of",
        "to",
        "cluster",
        "zebra.",
        "quartz!",
        "is?",
        "and",
        "oslo\nthen",
    ]
)


@pytest.mark.requirement("M-55")
def test_a_long_talk_is_told_in_a_hundred_to_a_hundred_and_fifty_of_its_own_words():
    told = extract_summary(LONG)

    assert 100 <= len(told.split()) <= 150
    said = " ".join(" ".join(turn.content.split()) for turn in LONG)
    assert all(word in said for word in told.split())
    assert "We decided to use Postgres for billing." in told


@pytest.mark.requirement("M-55")
def test_the_same_talk_is_always_told_in_the_same_words():
    assert build_extract(LONG) == build_extract(list(LONG))


@pytest.mark.requirement("M-55")
def test_sentences_stand_in_the_order_in_which_they_were_said():
    told = extract_summary(LONG)

    said = " ".join(" ".join(turn.content.split()) for turn in LONG)
    places = [said.index(sentence.strip()) for sentence in told.split(". ") if len(sentence.split()) > 5]
    assert places == sorted(places)


@pytest.mark.requirement("M-55")
def test_without_statements_the_title_is_the_first_request_cut_to_ten_words():
    greeted = turns(("user", "Hi there!"), *PLAN)

    assert extract_title(LONG) == "We must move the billing service to another database before …"
    assert extract_title(greeted) == extract_title(LONG)
    assert extract_title(turns(("user", "Hi there!"))) == "Hi there!"


def test_a_sentence_that_is_said_over_and_over_is_told_once():
    again = "The nightly import of the warehouse failed with a timeout."
    talk = turns(("user", f"{again} " * 20 + " ".join(sentence for _, sentence in PLAN)))

    assert extract_summary(talk).count("nightly import") == 1


@pytest.mark.requirement("M-54")
def test_a_short_talk_is_its_own_summary():
    short = turns(("user", "The printer on the second floor is called Erika, after the typewriter."))

    assert is_short_conversation(short)
    assert extract_summary(short) == f"user: {short[0].content}"


@pytest.mark.requirement("M-54")
def test_what_is_hardly_a_talk_is_skipped_with_a_reason():
    assert find_skip_reason([]) == "empty"
    assert find_skip_reason([turn(1, "system", "You are a helpful assistant of the billing team." * 3)]) == "empty"
    assert find_skip_reason(turns(("user", "x" * 49))) == "too short"
    assert find_skip_reason(turns(("user", "x" * 50))) is None


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), st.lists(WORDS, max_size=80)), max_size=8))
def test_whatever_was_said_the_summary_has_its_length_and_the_title_is_there(said: list[tuple[str, list[str]]]):
    talk = turns(*((role, " ".join(words)) for role, words in said))
    if find_skip_reason(talk) is not None:
        return

    told = build_extract(talk)

    assert told.title.strip()
    if not is_short_conversation(talk):
        assert 100 <= len(told.summary.split()) <= 150


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=400)), max_size=5))
def test_no_text_is_too_strange_to_be_told(said: list[tuple[str, str]]):
    talk = turns(*said)
    if find_skip_reason(talk) is not None:
        return

    told = build_extract(talk)

    assert told.summary.strip()
    assert len(told.summary) <= 4000
    assert len(told.title) <= 200
