"""What changed since it was shown is said again; what was forgotten goes at once."""

from tests.proxy.requests.wire import LABEL

from festinger.proxy.injection.block import Block, Line, NoteRef
from festinger.proxy.injection.corrections import Present, corrections, unseen, without_forgotten

OLD = NoteRef(kind="edge", id="e1", version=1)
STAYS = NoteRef(kind="memory", id="m1", version=4)
NOW = Line(text="gnommoweb: [geography] hilbert", notes=(NoteRef(kind="edge", id="e1", version=2),))


def test_a_note_that_changed_is_told_in_its_present_state():
    present = {("edge", "e1"): Present(version=2, line=NOW), ("memory", "m1"): Present(version=4, line=NOW)}

    assert corrections([OLD, STAYS], present) == (NOW,)
    assert corrections([OLD, STAYS], {}) == ()
    assert corrections([OLD], {("edge", "e1"): Present(version=2, forgotten=True, line=NOW)}) == ()


def test_what_was_forgotten_leaves_every_block_and_says_that_the_prefix_moves():
    blocks = {
        b"1": Block(label=LABEL, lines=(Line(text="a", notes=(OLD,)), Line(text="b", notes=(STAYS,)))),
        b"2": Block(label=LABEL, lines=(Line(text="a", notes=(OLD,)),)),
    }

    left, changed = without_forgotten(blocks, {("edge", "e1"): Present(version=1, forgotten=True)})

    assert changed
    assert {anchor: [line.text for line in block.lines] for anchor, block in left.items()} == {b"1": ["b"]}
    assert without_forgotten(blocks, {("edge", "e1"): Present(version=2, line=NOW)}) == (blocks, False)


def test_lines_that_stand_in_a_visible_block_in_the_same_state_are_left_out():
    seen, fresh = Line(text="a", notes=(OLD,)), Line(text="b", notes=(OLD, STAYS))

    assert unseen([seen, fresh, NOW, Line(text="? xyzzy")], [OLD]) == (fresh, NOW, Line(text="? xyzzy"))
