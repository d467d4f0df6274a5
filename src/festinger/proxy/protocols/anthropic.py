"""What stands in a request for Anthropic's messages?

Results of tools come in the role of the user beside a person's words; each result is a message of its own here.
"""

from collections.abc import Iterable
from typing import Any

import orjson

from festinger.ids import Origin
from festinger.proxy.loops.keys import Call, Message, Role
from festinger.proxy.protocols.content import (
    ROLES,
    as_text,
    is_by_person,
    is_one_of,
    is_thinking,
    joined,
    read_content,
    remembered,
    said,
    spoken,
)
from festinger.proxy.protocols.messages import Cleaned, Cleaning, Saying, Turn, cleaned, content_hash


def turns(tree: dict[str, Any], rules: Cleaning) -> tuple[Turn, ...] | None:
    listed = tree.get("messages", [])
    system = read_content(tree.get("system"), rules)
    if not isinstance(listed, list) or system is None:
        return None
    found = [spoken(Role.SYSTEM, system[0], path=("system",))] if tree.get("system") else []
    for index, message in enumerate(listed):
        if not isinstance(message, dict):
            return None
        turn = remembered(message, index, rules, listed="messages", read=_turn)
        if turn is None:
            return None
        found.append(turn)
    return tuple(found)


def _turn(message: dict[str, Any], index: int, rules: Cleaning) -> Turn | None:
    if not isinstance(named := message.get("role"), str):
        return None
    role, content = ROLES.get(named), message.get("content")
    if role not in (Role.USER, Role.ASSISTANT):
        return None
    if isinstance(content, str):
        return spoken(role, cleaned(content, rules), path=("messages", index))
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        return None
    return _of_blocks(role, content, index, rules)


def _of_blocks(role: Role, blocks: list[dict[str, Any]], index: int, rules: Cleaning) -> Turn:
    results = [_result(block, rules) for block in blocks if block.get("type") == "tool_result"]
    texts = [
        cleaned(as_text(block.get("text")), rules) for block in blocks if block.get("type", "text") == "text"
    ]
    stable, others = joined(texts), _others(blocks)
    spoken_parts = tuple(part for text in texts for part in said(role, text.text))
    own = Message(
        role=role,
        text=stable.text,
        calls=_calls(blocks) if role is Role.ASSISTANT else (),
        by_person=role is Role.USER and is_by_person(spoken_parts),
    )
    has_own = bool(own.text or own.calls or others) or not results
    messages = (*results, own) if has_own else tuple(results)
    return Turn(
        role=role,
        path=("messages", index),
        messages=messages,
        content=content_hash(messages, others),
        sayings=(
            *(Saying(origin=Origin.TOOL, text=result.text) for result in results),
            *_documents(blocks),
            *spoken_parts,
        ),
        others=others,
        carries=stable.carries,
        transient=stable.transient and not results,
    )


def _result(block: dict[str, Any], rules: Cleaning) -> Message:
    read = read_content(block.get("content"), rules)
    stable = Cleaned(text=as_text(block.get("content"))) if read is None else read[0]
    return Message(
        role=Role.TOOL,
        text=stable.text,
        answers=as_text(block.get("tool_use_id")),
        is_error=block.get("is_error") is True,
    )


def _documents(blocks: Iterable[dict[str, Any]]) -> Iterable[Saying]:
    for block in blocks:
        source = block.get("source")
        if block.get("type") == "document" and isinstance(source, dict) and source.get("type") == "text":
            yield Saying(origin=Origin.DOCUMENT, text=as_text(source.get("data")))


_READ = frozenset({"text", "tool_result", "tool_use"})


def _others(blocks: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(
        orjson.dumps(block) for block in blocks if not is_one_of(block, _READ) and not is_thinking(block)
    )


def _calls(blocks: Iterable[dict[str, Any]]) -> tuple[Call, ...]:
    return tuple(
        Call(
            name=as_text(block.get("name")),
            arguments=as_text(block.get("input")),
            id=as_text(block.get("id")),
        )
        for block in blocks
        if block.get("type") == "tool_use"
    )
