"""What of a message stays when it comes again."""

import pytest
from tests.proxy.protocols.wire import LABEL, MARK, RULES

from festinger.proxy.protocols.messages import CleanedText, build_cleaning_rules, clean_text
from festinger.services.block import ContextBlock, ContextLine

BLOCK = ContextBlock(label=LABEL, lines=(ContextLine(text="a: [b] c"),)).text


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
    assert clean_text(text, RULES) == CleanedText(text=stable, transient=transient)


def test_blocks_and_tails_come_off_together():
    assert clean_text(f"{BLOCK}\n\ndo it\n\n[EXTRAS]\nx", RULES) == CleanedText(text="do it", carries=True)
    assert clean_text(f"do it\n\n[EXTRAS]\n{BLOCK}", RULES) == CleanedText(text="do it", carries=True)


def test_without_markers_there_is_no_tail():
    assert clean_text("a\n[EXTRAS]\nb", build_cleaning_rules(MARK, [])).text == "a\n[EXTRAS]\nb"
    assert clean_text("a\n\nb", build_cleaning_rules(MARK, [""])).text == "a\n\nb"
    assert clean_text("a\n.*\nb", build_cleaning_rules(MARK, [".*"])).text == "a"
