"""What was asked for."""

import pytest

from festinger.proxy.loops.stream import asks_to_repeat


@pytest.mark.requirement("P-67")
@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("Write it 40 times.", True),
        ("Give me 12 copies of that sentence", True),
        ("repeat the word duck exactly 300 times", True),
        ("Please repeat: duck. Do it for 25 rows", True),
        ("A table with 50 rows, please", True),
        ("I was there in 2024 and liked it.", False),
        ("", False),
    ],
)
def test_a_wish_for_repetition_is_read(message: str, wanted: bool):
    assert asks_to_repeat(message) is wanted
