"""Hostile text takes no more time than its length asks for."""

import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from tests.proxy.protocols.wire import LABEL, LIMIT, MARK, RULES

from festinger.proxy.context.edit import PlacedBlock, insert_blocks
from festinger.proxy.protocols.content import split_user_text
from festinger.proxy.protocols.messages import ChatRequest, RequestKind, clean_text
from festinger.proxy.protocols.parse import parse_request, split_sections
from festinger.proxy.sessions.match import starts_with_pattern
from festinger.services.block import ContextBlock, ContextLine, sanitize_line
from festinger.text.blocks import strip_blocks

BLOCK = ContextBlock(label=LABEL, lines=(ContextLine(text="a: [b] c"),))
UNITS = (
    "<recollection>", "</recollection>", f"<recollection>\n{LABEL}\n", "<recol", "[EXTRAS]", "[EXTRAS] ", "\n[EXTRAS]",
    "### User:\n", "\n\n### User:\n", "<document", "<document>", "</document>", "<file ", "```", "\n```", "\n> ", "~~~\n",
    '"', "\\", '\\"', '{"', '"content":', ',"text":"', "[INST", "<|", "<|im_", "### ", "\n", " ", "\u200b", "ü", "*a",
)  # fmt: skip


def _edit_chat(text: str) -> object:
    return _edit({"messages": [{"role": "user", "content": text}]}, RequestKind.CHAT)


def _edit_twice_said(text: str) -> object:
    said = {"role": "user", "content": [{"type": "text", "text": text}]}
    return _edit({"messages": [said, said]}, RequestKind.MESSAGES)


def _edit_flattened(text: str) -> object:
    return _edit({"prompt": f"### User:\n{text}\n\n### User:\n{text}\n\n", "x": {"prompt": text}}, RequestKind.GENERATE)


def _edit(tree: dict[str, Any], kind: RequestKind) -> object:
    request = parse_request(orjson.dumps(tree), kind, rules=RULES, limit=LIMIT)
    assert isinstance(request, ChatRequest)
    turn = request.turns[-1]
    return insert_blocks(request, [PlacedBlock(turn=turn, anchor=b"", block=BLOCK)], mark=MARK)[0]


READERS: dict[str, Callable[[str], object]] = {
    "blocks": lambda text: strip_blocks(text, MARK),
    "cleaned": lambda text: clean_text(text, RULES),
    "sections": lambda text: split_sections("### User:\n" + text),
    "origins": split_user_text,
    "harmless": sanitize_line,
    "side": lambda text: starts_with_pattern(text, "a*b*c*d*e*zz"),
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
