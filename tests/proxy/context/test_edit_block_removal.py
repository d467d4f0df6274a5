"""Our own block comes off, and nothing else does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proxy.protocols.wire import LABEL, MARK

from festinger.services.block import ContextBlock, ContextLine
from festinger.text.blocks import CLOSE, GAP, OPEN, BlockMarker, strip_blocks

BLOCK = ContextBlock(label=LABEL, lines=(ContextLine(text="ramanujan: [type] server"),)).text
BARE = ContextBlock(label="", lines=(ContextLine(text="ramanujan: [type] server"),)).text
TEXTS = st.lists(
    st.one_of(st.text(max_size=8), st.sampled_from([OPEN, CLOSE, LABEL, "\n", GAP, "<recol", f"{OPEN}\n{LABEL}\n"])),
    max_size=8,
).map("".join)
PLAIN = st.text().filter(lambda text: OPEN not in text)


@given(PLAIN)
def test_what_was_put_in_comes_off_wherever_it_went_in(text: str):
    assert strip_blocks(f"{BLOCK}{GAP}{text}", MARK) == text
    assert strip_blocks(f"{text}{GAP}{BLOCK}", MARK) == text


@given(PLAIN, PLAIN)
def test_a_block_in_the_middle_leaves_what_stands_around_it(before: str, after: str):
    assert strip_blocks(f"{before}{BLOCK}{GAP}{after}", MARK) == before + after


@given(TEXTS)
def test_taking_off_twice_is_taking_off_once(text: str):
    once = strip_blocks(text, MARK)

    assert strip_blocks(once, MARK) == once


@pytest.mark.parametrize(
    "text",
    [
        f"{OPEN}\nmy own notes\n{CLOSE}",
        f"{OPEN}{LABEL}{CLOSE}",
        f"what does {OPEN} mean?",
        f"a {CLOSE} b",
        BARE,
        f"{LABEL} and nothing more",
    ],
)
def test_somebody_elses_use_of_the_tag_stays(text: str):
    assert strip_blocks(text, MARK) == text


def test_a_block_without_label_is_known_if_we_made_it():
    mark = BlockMarker(is_ours={BARE}.__contains__)

    assert strip_blocks(f"{BARE}{GAP}hi", mark) == "hi"
    assert strip_blocks(f"{BARE}{GAP}hi", BlockMarker()) == f"{BARE}{GAP}hi"


def test_a_block_that_breaks_off_at_the_end_comes_off_to_the_end():
    assert strip_blocks(f"As noted:\n\n{BLOCK[:-20]}", MARK) == "As noted:"
    assert strip_blocks(f"{BLOCK[:-20]} {OPEN} x", MARK) == ""


def test_halves_of_a_block_that_come_together_come_off_too():
    assert strip_blocks(f"a{BLOCK[:9]}{BLOCK}{BLOCK[9:]}b", MARK) == "ab"


@pytest.mark.parametrize("piece", [OPEN, CLOSE, f"{OPEN}\n{LABEL}\n", f"{OPEN}\n{LABEL}\n{CLOSE}", "<recollection"])
def test_hostile_texts_cost_time_in_line_with_their_length(piece: str):
    looks = 0

    def count(block: str) -> bool:
        nonlocal looks
        looks += 1
        return False

    text = piece * (100_000 // len(piece))

    assert len(strip_blocks(text, BlockMarker(label=LABEL, is_ours=count))) <= len(text)
    assert looks <= 64 * text.count(OPEN)
