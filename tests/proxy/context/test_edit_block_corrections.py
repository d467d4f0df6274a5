"""What changed since it was shown is said again; what was forgotten goes at once."""

import pytest
from tests.proxy.protocols.wire import LABEL

from festinger.proxy.context.edit import LineUpdate, correction_lines, remove_forgotten_notes, select_new_lines
from festinger.services.block import ContextBlock, ContextLine, NoteRef

OLD = NoteRef(kind="edge", id="gnommoweb [geography] ramanujan", version=1)
STAYS = NoteRef(kind="memory", id="m1", version=4)
NOW = ContextLine(
    text="gnommoweb: [geography] hilbert", notes=(NoteRef(kind="edge", id="gnommoweb [geography] hilbert", version=2),)
)


def test_what_changed_is_told_in_its_present_state():
    gone = LineUpdate(forgotten=(STAYS,))

    assert correction_lines({"gnommoweb": LineUpdate(line=NOW), "m1": gone}) == (NOW,)
    assert correction_lines({}) == ()


@pytest.mark.requirement("P-36")
def test_what_was_forgotten_leaves_every_block():
    blocks = {
        b"1": ContextBlock(
            label=LABEL, lines=(ContextLine(text="a", notes=(OLD,)), ContextLine(text="b", notes=(STAYS,)))
        ),
        b"2": ContextBlock(label=LABEL, lines=(ContextLine(text="a", notes=(OLD,)),)),
    }

    left = remove_forgotten_notes(blocks, {"gnommoweb": LineUpdate(forgotten=(OLD,))})

    assert {anchor: [line.text for line in block.lines] for anchor, block in left.items()} == {b"1": ["b"]}
    assert remove_forgotten_notes(blocks, {"gnommoweb": LineUpdate(line=NOW)}) is blocks


def test_lines_that_stand_in_a_visible_block_in_the_same_words_are_left_out():
    seen = ContextLine(text="gnommoweb: [geography] ramanujan", notes=(OLD,))
    confirmed = ContextLine(text=seen.text, notes=(NoteRef(kind="edge", id=OLD.id, version=9),))
    unknown = ContextLine(text="? xyzzy")

    assert select_new_lines([confirmed, unknown], {seen.about: seen}) == (unknown,)
    assert select_new_lines([NOW], {seen.about: seen}) == (NOW,)
    assert select_new_lines([NOW, NOW], {}) == (NOW,)
