"""Small histories of agents, as the readers of the protocols hand them over."""

import json
from collections.abc import Iterable

from festinger.proxy.loops.history import Item, LoopRepetition, StepCache, find_repetition, parse_steps
from festinger.proxy.loops.keys import ChatMessage, ChatRole, ToolCall
from festinger.proxy.loops.stream import RepetitionAllowance, RepetitionDetector, StreamFinding
from festinger.settings.tree import LoopSettings, StreamLoopSettings

SETTINGS = LoopSettings(thresholds=(3, 4, 5, 6))
SYSTEM = ChatMessage(role=ChatRole.SYSTEM, text="You are an agent with tools.")


def person(text: str = "Please mend the build.") -> ChatMessage:
    return ChatMessage(role=ChatRole.USER, text=text, by_person=True)


def framework(text: str) -> ChatMessage:
    return ChatMessage(role=ChatRole.USER, text=text)


def said(text: str) -> ChatMessage:
    return ChatMessage(role=ChatRole.ASSISTANT, text=text)


def did(tool: str, arguments: object, result: str, *, error: bool = False) -> list[ChatMessage]:
    """One call and its result."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return [
        ChatMessage(role=ChatRole.ASSISTANT, calls=(ToolCall(name=tool, arguments=written),)),
        ChatMessage(role=ChatRole.TOOL, text=result, is_error=error),
    ]


def spoke(tool: str, arguments: object, result: str, *, thoughts: str) -> list[ChatMessage]:
    """One step of an agent that speaks JSON in text, as Agent Zero does."""
    reply = json.dumps({"thoughts": [thoughts], "tool_name": tool, "tool_args": arguments})
    return [said(reply), framework(json.dumps({"tool_name": tool, "tool_result": result}))]


def task(*rounds: Iterable[ChatMessage]) -> list[ChatMessage]:
    return [SYSTEM, person(), *(message for one in rounds for message in one)]


def items(history: list[ChatMessage]) -> list[Item]:
    return parse_steps(history, StepCache())


def verdict(history: list[ChatMessage], settings: LoopSettings = SETTINGS) -> LoopRepetition | None:
    return find_repetition(items(history), settings)


def level(history: list[ChatMessage], settings: LoopSettings = SETTINGS) -> int:
    found = verdict(history, settings)
    return found.level if found else 0


def detect_in_text(
    text: str, settings: StreamLoopSettings, allowance: RepetitionAllowance | None = None
) -> tuple[StreamFinding, ...]:
    """Run a detector over a whole text."""
    detector = RepetitionDetector(settings, allowance or RepetitionAllowance())
    detector.feed(text)
    detector.finish()
    return detector.findings
