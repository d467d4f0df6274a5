"""Corrections that refer back put the new value into the statement that they correct."""

import pytest

from festinger.memory.extract.corrections import find_corrections, may_correct

PORT = "The staging database listens on port 5433"
DOCTOR = "My doctor is Anna Mayer"


@pytest.mark.parametrize(
    ("said", "earlier", "corrected"),
    [
        ("actually it moved to 5434", PORT, "The staging database listens on port 5434"),
        ("no, Meyer, not Mayer", DOCTOR, "My doctor is Anna Meyer"),
        ("make that 11", "We need 9 chairs for the party", "We need 11 chairs for the party"),
        ("Sorry, Thursday.", "The demo is on Wednesday", "The demo is on Thursday"),
        ("*Meyer, with an e", DOCTOR, "My doctor is Anna Meyer"),
        ("Hmm wait, it's at 15:30.", "The call starts at 14:30", "The call starts at 15:30"),
        ("make that three cats, we got one more", "We have two cats and 4 fish", "We have three cats and 4 fish"),
        ("oh no, I looked at last year's sheet! It's 640 seats", "The hall has 610 seats", "The hall has 640 seats"),
        ("it's now 9090", "Metrics are on 9000", "Metrics are on 9090"),
        (
            "actually the exam is on 15 March, not 14",
            "The exam is on 14 March at 9:30",
            "The exam is on 15 March at 9:30",
        ),
        ("sorry, not 14 March but the 15th", "The exam is on 14 March", "The exam is on 15th March"),
    ],
)
def test_a_value_of_the_same_form_takes_the_place_of_the_old_one(said: str, earlier: str, corrected: str):
    [found] = find_corrections(said, [earlier])

    assert may_correct(said)
    assert (found.text, found.corrects) == (corrected, 0)


@pytest.mark.parametrize(
    ("said", "earlier"),
    [
        ("actually our standup is at 10", PORT),
        ("no thanks", PORT),
        ("it's 5 pm here", "The office is on floor 3"),
        ("actually, could you make it 3 lines?", PORT),
        ("It works now, thanks!", PORT),
        ("Wait, I have a question first. It's about the 3 nodes, why are they slow?", PORT),
        ("no, I meant the other file", PORT),
        ("actually on Friday, not 14", "The exam is on 14 March"),
    ],
    ids=[
        "own subject",
        "no value",
        "no change",
        "question",
        "no value either",
        "question too",
        "other file",
        "no number",
    ],
)
def test_what_speaks_of_something_else_corrects_nothing(said: str, earlier: str):
    assert find_corrections(said, [earlier]) == []


def test_the_newest_statement_with_such_a_value_is_corrected():
    [found] = find_corrections("make that 12", ["Lunch is at noon", "We are 10 people", "Room 7 is booked"])

    assert (found.text, found.corrects) == ("We are 12 people", 1)


def test_most_messages_are_not_looked_at_twice():
    assert not may_correct("Can you explain how a B-tree works?")
    assert not may_correct("Write a poem. Make it funny!")
    assert may_correct("No, it moved to 5434.")
