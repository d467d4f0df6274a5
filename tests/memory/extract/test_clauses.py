"""A request ends a statement; what only looks like one does not."""

import pytest

from festinger.memory.extract.clauses import split_clauses, strip_clause_lead_ins


@pytest.mark.parametrize(
    ("message", "first"),
    [
        ("I bake on Sundays so tell me how to keep dough cold", "I bake on Sundays"),
        ("We are six at the table, give us a menu", "We are six at the table"),
        ("Our van has two seats and help me plan the move", "Our van has two seats"),
    ],
)
def test_a_request_is_cut_from_the_statement_before_it(message: str, first: str):
    assert split_clauses(message)[0].text == first


@pytest.mark.parametrize(
    "message",
    [
        "My boss gave me the keys and told me to lock up",
        "The landlord, kind as he is, lets us keep a dog",
        "That road is too steep, for me at least",
    ],
)
def test_what_others_did_and_whom_it_concerns_is_no_request(message: str):
    assert [clause.text for clause in split_clauses(message)] == [message]


@pytest.mark.parametrize(
    "message",
    [
        "Because of the roadworks I leave at 6:40 now",
        "We lost a sponsor and now have four",
        "I sold the van because of its gearbox",
    ],
)
def test_a_sentence_is_not_cut_where_a_part_would_lack_its_subject(message: str):
    assert [clause.text for clause in split_clauses(message)] == [message]


def test_a_reason_keeps_its_because_of():
    assert (
        strip_clause_lead_ins("Because of the roadworks I leave at 6:40") == "Because of the roadworks I leave at 6:40"
    )
