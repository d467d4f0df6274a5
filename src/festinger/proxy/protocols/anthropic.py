"""Parses requests of Anthropic's Messages API.

Tool results come in the user role beside a person's words; each result becomes a message of its own.
"""

from collections.abc import Iterable
from typing import Any

import orjson

from festinger.ids import Origin
from festinger.proxy.loops.keys import ChatMessage, ChatRole, ToolCall
from festinger.proxy.protocols.content import (
    ROLES,
    attribute_text,
    build_turn,
    is_by_person,
    is_one_of,
    is_thinking,
    join_cleaned,
    read_cached_turn,
    read_content,
    to_text,
)
from festinger.proxy.protocols.messages import (
    AttributedText,
    CleanedText,
    CleaningRules,
    RequestTurn,
    clean_text,
    content_hash,
)


def parse_turns(tree: dict[str, Any], rules: CleaningRules) -> tuple[RequestTurn, ...] | None:
    listed = tree.get("messages", [])
    system = read_content(tree.get("system"), rules)
    if not isinstance(listed, list) or system is None:
        return None
    found = [build_turn(ChatRole.SYSTEM, system[0], path=("system",))] if tree.get("system") else []
    for index, message in enumerate(listed):
        if not isinstance(message, dict):
            return None
        turn = read_cached_turn(message, index, rules, listed="messages", read=_parse_turn)
        if turn is None:
            return None
        found.append(turn)
    return tuple(found)


def _parse_turn(message: dict[str, Any], index: int, rules: CleaningRules) -> RequestTurn | None:
    if not isinstance(named := message.get("role"), str):
        return None
    role, content = ROLES.get(named), message.get("content")
    if role not in (ChatRole.USER, ChatRole.ASSISTANT):
        return None
    if isinstance(content, str):
        return build_turn(role, clean_text(content, rules), path=("messages", index))
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        return None
    return _parse_blocks(role, content, index, rules)


def _parse_blocks(role: ChatRole, blocks: list[dict[str, Any]], index: int, rules: CleaningRules) -> RequestTurn:
    results = [_parse_result(block, rules) for block in blocks if block.get("type") == "tool_result"]
    texts = [clean_text(to_text(block.get("text")), rules) for block in blocks if block.get("type", "text") == "text"]
    stable, others = join_cleaned(texts), _others(blocks)
    spoken_parts = tuple(part for text in texts for part in attribute_text(role, text.text))
    own = ChatMessage(
        role=role,
        text=stable.text,
        calls=_parse_calls(blocks) if role is ChatRole.ASSISTANT else (),
        by_person=role is ChatRole.USER and is_by_person(spoken_parts),
    )
    has_own = bool(own.text or own.calls or others) or not results
    messages = (*results, own) if has_own else tuple(results)
    return RequestTurn(
        role=role,
        path=("messages", index),
        messages=messages,
        content=content_hash(messages, others),
        sayings=(
            *(AttributedText(origin=Origin.TOOL, text=result.text) for result in results),
            *_document_texts(blocks),
            *spoken_parts,
        ),
        others=others,
        carries=stable.carries,
        transient=stable.transient and not results,
    )


def _parse_result(block: dict[str, Any], rules: CleaningRules) -> ChatMessage:
    read = read_content(block.get("content"), rules)
    stable = CleanedText(text=to_text(block.get("content"))) if read is None else read[0]
    return ChatMessage(
        role=ChatRole.TOOL,
        text=stable.text,
        answers=to_text(block.get("tool_use_id")),
        is_error=block.get("is_error") is True,
    )


def _document_texts(blocks: Iterable[dict[str, Any]]) -> Iterable[AttributedText]:
    for block in blocks:
        source = block.get("source")
        if block.get("type") == "document" and isinstance(source, dict) and source.get("type") == "text":
            yield AttributedText(origin=Origin.DOCUMENT, text=to_text(source.get("data")))


_READ = frozenset({"text", "tool_result", "tool_use"})


def _others(blocks: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(orjson.dumps(block) for block in blocks if not is_one_of(block, _READ) and not is_thinking(block))


def _parse_calls(blocks: Iterable[dict[str, Any]]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(name=to_text(block.get("name")), arguments=to_text(block.get("input")), id=to_text(block.get("id")))
        for block in blocks
        if block.get("type") == "tool_use"
    )
