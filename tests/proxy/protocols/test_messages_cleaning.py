"""What of a message stays when it comes again."""

import pytest
from tests.proxy.protocols.wire import LABEL, MARK, RULES

from festinger.proxy.context.block import Block, Line
from festinger.proxy.protocols.messages import Cleaned, cleaned, cleaning

BLOCK = Block(label=LABEL, lines=(Line(text="a: [b] c"),)).text


@pytest.mark.parametrize(
    ("text", "stable", "transient"),
    [
        ("do it\n\n[EXTRAS]\nnow: 12:00\n[EXTRAS]\nmore", "do it", False),
        ("do it\n[EXTRAS]  \r\nnow", "do it", False),
        ("[EXTRAS]\nnow: 12:00", "", True),
        ("do it [EXTRAS] now", "do it [EXTRAS] now", False),
        ("do it\n [EXTRAS]\nnow", "do it\n [EXTRAS]\nnow", False),
        ("do it\n[EXTRAS] are\nnow", "do it\n[EXTRAS] are\nnow", False),
        ("do it \n", "do it \n", False),
    ],
)
def test_a_volatile_tail_begins_with_its_own_line(text: str, stable: str, transient: bool):
    assert cleaned(text, RULES) == Cleaned(text=stable, transient=transient)


def test_blocks_and_tails_come_off_together():
    assert cleaned(f"{BLOCK}\n\ndo it\n\n[EXTRAS]\nx", RULES) == Cleaned(text="do it", carries=True)
    assert cleaned(f"do it\n\n[EXTRAS]\n{BLOCK}", RULES) == Cleaned(text="do it", carries=True)


def test_without_markers_there_is_no_tail():
    assert cleaned("a\n[EXTRAS]\nb", cleaning(MARK, [])).text == "a\n[EXTRAS]\nb"
    assert cleaned("a\n\nb", cleaning(MARK, [""])).text == "a\n\nb"
    assert cleaned("a\n.*\nb", cleaning(MARK, [".*"])).text == "a"
