"""What changed since it was shown is said again; what was forgotten goes at once."""

import pytest
from tests.proxy.protocols.wire import LABEL

from festinger.proxy.context.block import (
    Block,
    Line,
    NoteRef,
    Present,
    corrections,
    unseen,
    without_forgotten,
)

OLD = NoteRef(kind="edge", id="gnommoweb [geography] ramanujan", version=1)
STAYS = NoteRef(kind="memory", id="m1", version=4)
NOW = Line(
    text="gnommoweb: [geography] hilbert",
    notes=(NoteRef(kind="edge", id="gnommoweb [geography] hilbert", version=2),),
)


def test_what_changed_is_told_in_its_present_state():
    gone = Present(forgotten=(STAYS,))

    assert corrections({"gnommoweb": Present(line=NOW), "m1": gone}) == (NOW,)
    assert corrections({}) == ()


@pytest.mark.requirement("P-36")
def test_what_was_forgotten_leaves_every_block():
    blocks = {
        b"1": Block(label=LABEL, lines=(Line(text="a", notes=(OLD,)), Line(text="b", notes=(STAYS,)))),
        b"2": Block(label=LABEL, lines=(Line(text="a", notes=(OLD,)),)),
    }

    left = without_forgotten(blocks, {"gnommoweb": Present(forgotten=(OLD,))})

    assert {anchor: [line.text for line in block.lines] for anchor, block in left.items()} == {b"1": ["b"]}
    assert without_forgotten(blocks, {"gnommoweb": Present(line=NOW)}) is blocks


def test_lines_that_stand_in_a_visible_block_in_the_same_words_are_left_out():
    seen = Line(text="gnommoweb: [geography] ramanujan", notes=(OLD,))
    confirmed = Line(text=seen.text, notes=(NoteRef(kind="edge", id=OLD.id, version=9),))
    unknown = Line(text="? xyzzy")

    assert unseen([confirmed, unknown], {seen.about: seen}) == (unknown,)
    assert unseen([NOW], {seen.about: seen}) == (NOW,)
    assert unseen([NOW, NOW], {}) == (NOW,)
