"""What is borne for longer, and why."""

import random

import pytest

from festinger.proxy.loops.restraint import asked_for, is_encoded


@pytest.mark.requirement("P-67")
@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("Write it 40 times.", 40),
        ("Give me 12 copies of that sentence", 12),
        ("repeat the word duck exactly 300 times", 300),
        ("Please repeat: duck. Do it for 25 rows", 25),
        ("A table with 50 rows, please", 50),
        ("What is 12 times 9? No: 12 times!", 12),
        ("I was there in 2024 and liked it.", 0),
        ("", 0),
    ],
)
def test_a_wish_for_repetition_is_read_with_its_number(message: str, wanted: int):
    assert asked_for(message) == wanted


@pytest.mark.requirement("P-67")
def test_encoded_bytes_are_known_by_what_stands_before_their_runs():
    mixed = "".join(random.Random(2).choices("ABCdefGHI0123456789+/", k=100))

    assert is_encoded(mixed + "A" * 600, 600)
    assert not is_encoded("A" * 700, 600)
    assert not is_encoded("aB3" + "A" * 600, 600)
    assert not is_encoded("some words, then " + "A" * 600, 600)
    assert is_encoded("0f3a9bc71e" * 9 + "00" * 300, 600)
