"""Small histories of agents, as the readers of the protocols hand them over."""

import json
from collections.abc import Iterable

from festinger.proxy.loops.history import Item, Keys, Repeat, steps_of, worst
from festinger.proxy.loops.keys import Call, Message, Role
from festinger.settings.tree import LoopSettings

SETTINGS = LoopSettings(thresholds=(3, 4, 5, 6))
SYSTEM = Message(role=Role.SYSTEM, text="You are an agent with tools.")


def person(text: str = "Please mend the build.") -> Message:
    return Message(role=Role.USER, text=text, by_person=True)


def framework(text: str) -> Message:
    return Message(role=Role.USER, text=text)


def said(text: str) -> Message:
    return Message(role=Role.ASSISTANT, text=text)


def did(tool: str, arguments: object, result: str, *, error: bool = False) -> list[Message]:
    """One call and its result."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return [
        Message(role=Role.ASSISTANT, calls=(Call(name=tool, arguments=written),)),
        Message(role=Role.TOOL, text=result, is_error=error),
    ]


def spoke(tool: str, arguments: object, result: str, *, thoughts: str) -> list[Message]:
    """One step of an agent that speaks JSON in text, as Agent Zero does."""
    reply = json.dumps({"thoughts": [thoughts], "tool_name": tool, "tool_args": arguments})
    return [said(reply), framework(json.dumps({"tool_name": tool, "tool_result": result}))]


def task(*rounds: Iterable[Message]) -> list[Message]:
    return [SYSTEM, person(), *(message for one in rounds for message in one)]


def items(history: list[Message]) -> list[Item]:
    return steps_of(history, Keys())


def verdict(history: list[Message], settings: LoopSettings = SETTINGS) -> Repeat | None:
    return worst(items(history), settings)


def level(history: list[Message], settings: LoopSettings = SETTINGS) -> int:
    found = verdict(history, settings)
    return found.level if found else 0
