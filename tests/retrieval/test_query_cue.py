"""What a cue asks for, beside its words."""

from datetime import UTC, datetime

import pytest

from festinger.retrieval.query import is_time_word, parse_cue

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("what is my budget for gifts", True),
        ("what is my budget for gifts this year", True),
        ("what was my budget for gifts last year", False),
        ("what was my budget on 2026-01-03", False),
        ("what was my budget originally", False),
        ("what I used to spend", False),
    ],
)
def test_the_newest_is_meant_unless_a_time_that_is_over_or_the_past_is_asked_for(text: str, is_so: bool):
    assert parse_cue(text, now=NOW).wants_newest is is_so


def test_quoted_words_stand_together_and_unwanted_ones_leave_the_cue():
    cue = parse_cue('the "blue lantern" -river in May', now=NOW)

    assert cue.phrases == ("blue lantern",)
    assert cue.without == ("river",)
    assert "river" not in cue.text


def test_names_are_known_in_any_letters_and_as_owners():
    assert {"alice", "bob"} <= parse_cue("Alice and bob's boat", now=NOW).names


def test_whoever_asks_what_was_suggested_asks_for_the_models_words():
    assert parse_cue("what did you suggest about the boat", now=NOW).asks_model
    assert not parse_cue("what did Alice say about the boat", now=NOW).asks_model


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("when did Melanie's son visit New York", {"melanie", "new", "york"}),
        ("Where is the boat? Then we ask. Who sails it", set()),
        ("what did I say on Friday in May", set()),
        ("The Boats Of The Harbour", set()),
        ("WHERE IS THE BOAT", set()),
        ("who painted mia's boat", set()),
    ],
)
def test_a_name_has_a_capital_letter_where_no_sentence_begins(text: str, names: set[str]):
    assert parse_cue(text, now=NOW).proper == names


@pytest.mark.parametrize(
    ("text", "summary", "order"),
    [
        ("Can you give me a summary of our work on the bridge?", True, False),
        ("List the order in which I brought up the rivers.", False, True),
        ("Who ordered the bridge?", False, False),
    ],
)
def test_a_cue_for_many_things_is_known(text: str, summary: bool, order: bool):
    cue = parse_cue(text, now=NOW)

    assert (cue.asks_summary, cue.asks_order) == (summary, order)
    assert cue.asks_summary_or_order is (summary or order)


@pytest.mark.parametrize(
    ("term", "expected"), [("16", True), ("novemb", True), ("fri", True), ("castl", False), ("a", False)]
)
def test_words_of_a_date_are_known(term: str, expected: bool):
    assert is_time_word(term) is expected
