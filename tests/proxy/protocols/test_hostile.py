"""Hostile text takes no more time than its length asks for."""

import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from tests.proxy.protocols.wire import LABEL, LIMIT, MARK, RULES

from festinger.proxy.context.block import Block, Line, Standing, harmless
from festinger.proxy.context.edit import edited
from festinger.proxy.protocols.content import said_by_user
from festinger.proxy.protocols.messages import Kind, Request, cleaned
from festinger.proxy.protocols.parse import read, sections
from festinger.proxy.sessions.match import matches
from festinger.text.blocks import without_blocks

BLOCK = Block(label=LABEL, lines=(Line(text="a: [b] c"),))
UNITS = (
    "<recollection>", "</recollection>", f"<recollection>\n{LABEL}\n", "<recol", "[EXTRAS]", "[EXTRAS] ", "\n[EXTRAS]",
    "### User:\n", "\n\n### User:\n", "<document", "<document>", "</document>", "<file ", "```", "\n```", "\n> ", "~~~\n",
    '"', "\\", '\\"', '{"', '"content":', ',"text":"', "[INST", "<|", "<|im_", "### ", "\n", " ", "\u200b", "ü", "*a",
)  # fmt: skip


def _edit_chat(text: str) -> object:
    return _edit({"messages": [{"role": "user", "content": text}]}, Kind.CHAT)


def _edit_twice_said(text: str) -> object:
    said = {"role": "user", "content": [{"type": "text", "text": text}]}
    return _edit({"messages": [said, said]}, Kind.MESSAGES)


def _edit_flattened(text: str) -> object:
    return _edit(
        {"prompt": f"### User:\n{text}\n\n### User:\n{text}\n\n", "x": {"prompt": text}}, Kind.GENERATE
    )


def _edit(tree: dict[str, Any], kind: Kind) -> object:
    request = read(orjson.dumps(tree), kind, rules=RULES, limit=LIMIT)
    assert isinstance(request, Request)
    turn = request.turns[-1]
    return edited(request, [Standing(turn=turn, anchor=b"", block=BLOCK)], mark=MARK).body


READERS: dict[str, Callable[[str], object]] = {
    "blocks": lambda text: without_blocks(text, MARK),
    "cleaned": lambda text: cleaned(text, RULES),
    "sections": lambda text: sections("### User:\n" + text),
    "origins": said_by_user,
    "harmless": harmless,
    "side": lambda text: matches(text, "a*b*c*d*e*zz"),
    "chat": _edit_chat,
    "said twice": _edit_twice_said,
    "flattened": _edit_flattened,
}


def fastest(reader: Callable[[str], object], text: str) -> float:
    spent = []
    for _ in range(3):
        since = time.process_time()
        reader(text)
        spent.append(time.process_time() - since)
    return min(spent)


@pytest.mark.parametrize("name", READERS)
def test_hostile_text_takes_time_by_its_length_alone(name: str):
    for unit in UNITS:
        short, long = ((unit * (size // len(unit) + 1))[:size] for size in (10_000, 100_000))
        # Ten times the text takes ten times as long, or a hundred times where something is not linear.
        assert fastest(READERS[name], long) < 30 * fastest(READERS[name], short) + 0.02, unit
