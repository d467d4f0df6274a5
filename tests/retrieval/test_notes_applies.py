"""Which notes are shown beside a message, once they were read."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from festinger.retrieval.notes import (
    CurrentMemory,
    add_cosine_to_logit,
    asks_about_self,
    clip_message,
    limit_notes_by_length,
    select_note_indexes,
)

LONG_AGO = datetime(2026, 1, 5, tzinfo=UTC)


def test_the_best_note_is_shown_and_further_ones_only_when_they_are_sure_too():
    assert select_note_indexes([-3.0, 2.5, 1.0, -0.5], "which port?", most=5) == [1, 2]
    assert select_note_indexes([4.0, 1.0], "which port?", most=5) == [0]


def test_nothing_is_shown_where_nothing_helps():
    assert select_note_indexes([], "which port?", most=5) == []
    assert select_note_indexes([-2.0, -3.0], "explain entropy", most=5) == []


def test_who_speaks_of_themselves_is_shown_a_weaker_note():
    assert select_note_indexes([-2.0, -3.0], "what does my partner do?", most=5) == [0]


def test_no_more_than_so_many_are_shown():
    assert select_note_indexes([1.0, 1.1, 1.2], "what about us?", most=2) == [2, 1]


def test_nearness_adds_to_what_the_reader_says():
    assert add_cosine_to_logit(1.0, 0.5) > add_cosine_to_logit(1.0, None) > add_cosine_to_logit(1.0, 0.0)


def test_of_a_long_message_its_end_is_read():
    assert clip_message("x" * 1000 + " the end").endswith("x the end")
    assert clip_message("the end") == "the end"


def test_of_long_notes_fewer_are_read():
    def first_of(length: int) -> list[CurrentMemory]:
        notes = [
            CurrentMemory(
                id=UUID(int=n), text="x" * length, compressed=None, version=1, noted_at=LONG_AGO, disputed=False
            )
            for n in range(30)
        ]
        limited = limit_notes_by_length(notes)
        assert limited == notes[: len(limited)]
        return notes[: len(limited)]

    assert len(first_of(60)) == 30
    assert len(first_of(250)) == 12
    assert len(first_of(5_000)) == 10  # no more of a note is read than its beginning


@pytest.mark.parametrize(
    ("message", "is_asked"),
    [
        ("What do you know about me?", True),
        ("do you still remember us", True),
        ("Who am I?", True),
        ("What do you know about my garden?", False),
        ("do you know how to help me?", False),
    ],
)
def test_who_asks_what_is_known_about_them_gets_everything_that_was_found(message: str, is_asked: bool):
    assert asks_about_self(message) is is_asked
    assert len(select_note_indexes([0.5, -3.0, -3.0, -2.5], message, most=5)) == (4 if is_asked else 1)
