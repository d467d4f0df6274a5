"""What stands in a request for OpenAI's responses?"""

from typing import Any

import orjson

from festinger.proxy.loops.keys import Call, Role
from festinger.proxy.protocols.content import ROLES, as_text, is_thinking, read_content, remembered, spoken
from festinger.proxy.protocols.messages import Cleaned, Cleaning, Path, Turn, cleaned


def turns(tree: dict[str, Any], rules: Cleaning) -> tuple[Turn, ...] | None:
    given, instructions = tree.get("input", []), tree.get("instructions")
    if not isinstance(instructions, str | None):
        return None
    found = []
    if instructions:
        found.append(spoken(Role.SYSTEM, cleaned(instructions, rules), path=("instructions",)))
    if isinstance(given, str):
        return (*found, spoken(Role.USER, cleaned(given, rules), path=("input",))) if given else tuple(found)
    if given is None:
        return tuple(found)
    if not isinstance(given, list):
        return None
    for index, item in enumerate(given):
        if not isinstance(item, dict):
            return None
        turn = remembered(item, index, rules, listed="input", read=_turn)
        if turn is not None:
            found.append(turn)
    return tuple(found)


def _turn(item: dict[str, Any], index: int, rules: Cleaning) -> Turn | None:
    """An item as a turn; nothing for what is neither said nor done, such as thinking."""
    path: Path = ("input", index)
    kind = item.get("type", "message")
    if kind == "message":
        role = ROLES.get(as_text(item.get("role")))
        content = read_content(item.get("content"), rules)
        if role is None or content is None:
            return None
        return spoken(role, content[0], path=path, others=content[1])
    if kind == "function_call":
        call = Call(
            name=as_text(item.get("name")),
            arguments=as_text(item.get("arguments")),
            id=as_text(item.get("call_id")),
        )
        return spoken(Role.ASSISTANT, Cleaned(text=""), path=path, calls=(call,))
    if kind == "function_call_output":
        read = read_content(item.get("output"), rules)
        stable = Cleaned(text=as_text(item.get("output"))) if read is None else read[0]
        return spoken(Role.TOOL, stable, path=path, answers=as_text(item.get("call_id")))
    if is_thinking(item):
        return None
    return spoken(Role.ASSISTANT, Cleaned(text=""), path=path, others=orjson.dumps(item))
