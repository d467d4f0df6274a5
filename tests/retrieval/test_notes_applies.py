"""Which notes are shown beside a message, once they were read."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from festinger.retrieval.notes import (
    PROBES,
    CurrentMemory,
    NoteScorer,
    add_cosine_to_logit,
    asks_about_self,
    limit_notes_by_length,
    pair_text,
    select_indexes_to_read,
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
    assert pair_text("note", "x" * 1000 + " the end").endswith(" the end")


def test_few_notes_are_read_closely_and_none_that_is_far_from_being_shown():
    assert select_indexes_to_read([-9.0, -1.0, -2.9, -3.1], "explain entropy") == [1, 2]
    assert select_indexes_to_read([-9.0, -1.0, -2.9, -3.1], "explain my entropy") == [1, 2, 3]
    assert select_indexes_to_read([0.1 * n for n in range(8)], "explain entropy") == [7, 6, 5, 4, 3]
    assert select_indexes_to_read([], "explain entropy") == []


def test_notes_far_below_the_best_one_are_not_read_closely():
    assert select_indexes_to_read([4.0, 1.1, 0.9], "explain entropy") == [0, 1]


class FixedLogits:
    """Says of a text what it was told to say."""

    def __init__(self, said: dict[str, float]) -> None:
        self.said = said
        self.given: list[str] = []

    async def logits(self, texts: Sequence[str], message: str = "") -> list[float]:
        self.given += texts
        return [self.said[text] for text in texts]


def note(text: str) -> CurrentMemory:
    return CurrentMemory(id=uuid4(), text=text, compressed=None, version=1, noted_at=LONG_AGO, disputed=False)


async def test_what_the_screen_takes_for_helpful_is_read_closely():
    screen = FixedLogits({"near": 2.0, "nearer": 3.0, "far": -9.0})
    reader = FixedLogits({"near [SEP] why?": 3.0, "nearer [SEP] why?": -7.0})

    near, nearer, far = await NoteScorer(screen, reader).score("why?", [note("near"), note("nearer"), note("far")])

    assert near > 0 > nearer > far
    assert reader.given == ["nearer [SEP] why?", "near [SEP] why?"]


async def test_a_note_is_screened_once_beside_a_message():
    screen = FixedLogits({"near": 2.0, "far": -9.0})
    scorer = NoteScorer(screen, FixedLogits({"near [SEP] why?": 3.0, "near [SEP] how?": 3.0}))

    await scorer.screen("why?", [note("near")])
    assert await scorer.screen("why?", [note("far"), note("near")]) == [-9.0, 2.0]
    assert screen.given == ["near", "far"]

    await scorer.screen("how?", [note("near")])
    assert screen.given == ["near", "far", "near"]


async def test_a_note_that_does_not_help_with_a_first_message_about_nothing_is_not_tried_with_others():
    always = {f"answer in Dutch [SEP] {probe}": 0.5 for probe in PROBES}
    once = {f"vegan [SEP] {probe}": 0.5 for probe in PROBES} | {f"vegan [SEP] {PROBES[0]}": -3.0}
    reader = FixedLogits(always | once)
    notes = [note("answer in Dutch"), note("vegan")]

    assert await NoteScorer(FixedLogits({}), reader).find_always_applicable(notes) == notes[:1]
    assert reader.given == [f"answer in Dutch [SEP] {PROBES[0]}", f"vegan [SEP] {PROBES[0]}", *[*always][1:]]


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
