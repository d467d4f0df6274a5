"""Parses requests of OpenAI's Responses API."""

from typing import Any

import orjson

from festinger.proxy.loops.keys import ChatRole, ToolCall
from festinger.proxy.protocols.content import ROLES, build_turn, is_thinking, read_cached_turn, read_content, to_text
from festinger.proxy.protocols.messages import CleanedText, CleaningRules, Path, RequestTurn, clean_text


def parse_turns(tree: dict[str, Any], rules: CleaningRules) -> tuple[RequestTurn, ...] | None:
    given, instructions = tree.get("input", []), tree.get("instructions")
    if not isinstance(instructions, str | None):
        return None
    found = []
    if instructions:
        found.append(build_turn(ChatRole.SYSTEM, clean_text(instructions, rules), path=("instructions",)))
    if isinstance(given, str):
        return (*found, build_turn(ChatRole.USER, clean_text(given, rules), path=("input",))) if given else tuple(found)
    if given is None:
        return tuple(found)
    if not isinstance(given, list):
        return None
    for index, item in enumerate(given):
        if not isinstance(item, dict):
            return None
        turn = read_cached_turn(item, index, rules, listed="input", read=_parse_turn)
        if turn is not None:
            found.append(turn)
    return tuple(found)


def _parse_turn(item: dict[str, Any], index: int, rules: CleaningRules) -> RequestTurn | None:
    """Convert an item to a turn; `None` for items such as thinking."""
    path: Path = ("input", index)
    kind = item.get("type", "message")
    if kind == "message":
        role = ROLES.get(to_text(item.get("role")))
        content = read_content(item.get("content"), rules)
        if role is None or content is None:
            return None
        return build_turn(role, content[0], path=path, others=content[1])
    if kind == "function_call":
        call = ToolCall(
            name=to_text(item.get("name")), arguments=to_text(item.get("arguments")), id=to_text(item.get("call_id"))
        )
        return build_turn(ChatRole.ASSISTANT, CleanedText(text=""), path=path, calls=(call,))
    if kind == "function_call_output":
        read = read_content(item.get("output"), rules)
        stable = CleanedText(text=to_text(item.get("output"))) if read is None else read[0]
        return build_turn(ChatRole.TOOL, stable, path=path, answers=to_text(item.get("call_id")))
    if is_thinking(item):
        return None
    return build_turn(ChatRole.ASSISTANT, CleanedText(text=""), path=path, others=orjson.dumps(item))
