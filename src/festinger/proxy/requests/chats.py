"""What stands in the message list of Ollama's chat and of OpenAI's chat completions?"""

from typing import Any

from festinger.proxy.loops.message import Call, Role
from festinger.proxy.requests.cleaning import Cleaning
from festinger.proxy.requests.spoken import ROLES, as_text, read_content, remembered, spoken
from festinger.proxy.requests.turn import Turn


def turns(tree: dict[str, Any], rules: Cleaning) -> tuple[Turn, ...] | None:
    """The turns of a request; nothing if it is not shaped like one."""
    listed = tree.get("messages", [])
    if listed is None:
        return ()
    if not isinstance(listed, list):
        return None
    found = [
        remembered(message, index, rules, listed="chat", read=_turn) if isinstance(message, dict) else None
        for index, message in enumerate(listed)
    ]
    read = tuple(turn for turn in found if turn is not None)
    return read if len(read) == len(found) else None


def _turn(message: dict[str, Any], index: int, rules: Cleaning) -> Turn | None:
    role = ROLES.get(role) if isinstance(role := message.get("role"), str) else None
    content = read_content(message.get("content"), rules)
    if role is None or content is None:
        return None
    stable, others = content
    pictures = message.get("images")
    return spoken(
        role,
        stable,
        path=("messages", index),
        calls=_calls(message.get("tool_calls")) if role is Role.ASSISTANT else (),
        answers=as_text(message.get("tool_call_id")),
        others=others + as_text(pictures).encode() if pictures else others,
    )


def _calls(listed: Any) -> tuple[Call, ...]:
    if not isinstance(listed, list):
        return ()
    found = ((call, call.get("function")) for call in listed if isinstance(call, dict))
    return tuple(
        Call(
            name=as_text(function.get("name")),
            arguments=as_text(function.get("arguments")),
            id=as_text(call.get("id")),
        )
        for call, function in found
        if isinstance(function, dict)
    )
