"""By which marks a statement is known again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.memory.learn.statement import MARK_BYTES, content_overlap, fold_hash, gist_hash, gist_words


@pytest.mark.requirement("M-22")
@pytest.mark.parametrize(
    "other",
    [
        "the  SERVER is “fast” — really",
        'The server is "fast" - really.',
        'The server\nis "fast" – really!?',
        'The se\u200brver is "fast" - really',
    ],
    ids=["case and spaces", "end", "line", "hidden"],
)
def test_the_same_words_have_one_fold(other: str):
    assert fold_hash('The server is "fast" - really') == fold_hash(other)
    assert len(fold_hash(other)) == MARK_BYTES


@pytest.mark.requirement("M-22")
@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The backup is on the disk", "backup on a disk", True),
        ("The backup runs at night", "Backup runs night", True),
        ("Anna manages Ben", "Ben manages Anna", False),
        ("retry uploads", "do not retry uploads", False),
        ("it can't fail", "it can not fail", True),
        ("it can't fail", "it can fail", False),
        ("all tests pass", "some tests pass", False),
        ("it may fail", "it must fail", False),
        ("needs 16 GB", "needs 32 GB", False),
        ("rose by 5%", "rose by 5", False),
        ("you owe me", "I owe you", False),
    ],
)
def test_the_gist_keeps_what_turns_a_statement(one: str, other: str, same: bool):
    assert (gist_hash(one) == gist_hash(other)) is same


@given(st.text(max_size=80))
def test_every_text_has_a_gist_and_marks(text: str):
    assert gist_words(text)
    assert len(gist_hash(text)) == len(fold_hash(text)) == MARK_BYTES


def test_overlap_is_the_share_of_the_shorter_text():
    assert content_overlap("the red car is fast", "a red car") == 1.0
    assert content_overlap("red car", "blue boat") == 0.0
    assert content_overlap("red car", "") == 0.0
