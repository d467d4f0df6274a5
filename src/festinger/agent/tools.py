"""Lets the model call tools while it answers: those of the memory that it is given, and its own for goals and reminders.

A model that answers at once is asked once. What a tool returns is data: it is cut to size, and it is never a wish of
the person, so goals and reminders only change in words that the person used in this conversation.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from festinger.agent.goals import GoalState, add_goal, list_open, settle_goal, shares_half_the_words
from festinger.agent.reminders import Reminder, add_reminder
from festinger.errors import FestingerError, NotFound, ProviderRefused, Refused
from festinger.ids import Origin, Scope
from festinger.llm.model import MessageRole, Model, ModelToolCall, PromptMessage, ReplyChunk, ToolOffer
from festinger.memory.deps import MemoryDeps
from festinger.text.budget import estimate_tokens

MOST_ROUNDS = 8
MOST_ALIKE = 3
"""Times in a row that a call may have the same result."""
LOOP_TAIL, LOOP_TIMES, LOOP_CHARS = 40, 5, 250
"""A reply is stopped where its last words are the same piece five times in a row, and at least so many characters."""
TOOL_SECONDS = 60.0
RESULT_TOKENS, RESULT_SHARE = 4000, 1 / 8
"""A result takes at most so many tokens, and this share of the window."""
FAILED = "Failed: "
SAME_AGAIN = f"Refused: this call had the same result {MOST_ALIKE} times in a row."
GOAL_STATES = {"add": GoalState.OPEN, "achieve": GoalState.ACHIEVED, "drop": GoalState.DROPPED}

OnText = Callable[[str], None]
RunAgentTool = Callable[[Mapping[str, Any]], Awaitable[str]]


class ToolEffect(StrEnum):
    """What a call changes."""

    NOTHING = "nothing"
    INNER = "inner"
    """What the agent remembers, which can be undone."""
    OUTSIDE = "outside"
    """Something outside that can be undone."""
    IRREVERSIBLE = "irreversible"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTool(ToolOffer):
    run: RunAgentTool
    effect: ToolEffect = ToolEffect.IRREVERSIBLE


PermitCall = Callable[[AgentTool, ModelToolCall, str], Awaitable[str]]
"""Says why a call is refused, given what the model said before it; empty if it may be made."""


async def answer_with_tools(
    model: Model,
    messages: Sequence[PromptMessage],
    tools: Sequence[AgentTool],
    on_text: OnText,
    *,
    permit: PermitCall,
    window: int,
) -> list[PromptMessage]:
    """Let the model answer, with calls of tools before; return what was said, the answer last. Raises `ProviderRefused`."""
    said: list[PromptMessage] = []
    done: list[tuple[str, Mapping[str, Any], str]] = []
    for _ in range(MOST_ROUNDS):
        text, calls = await _read_reply(model.chat([*messages, *said], tools), on_text)
        said.append(PromptMessage(role=MessageRole.ASSISTANT, text=text.strip(), calls=calls))
        if not calls:
            return said
        on_text("\n\n" if text else "")
        for call in calls:
            last = done[-MOST_ALIKE:]
            if len(last) == MOST_ALIKE and all(each == (call.name, call.arguments, last[0][2]) for each in last):
                result = SAME_AGAIN
            else:
                tool = next((each for each in tools if each.name == call.name), None)
                result = await permit(tool, call, text) if tool is not None else _format_unknown_tool(tools, call)
                if tool is not None and not result:
                    result = await _run(tool, call, tokens=min(RESULT_TOKENS, int(window * RESULT_SHARE)))
                done.append((call.name, call.arguments, result))
            said.append(PromptMessage(role=MessageRole.TOOL, text=result, calls=(call,)))
    raise ProviderRefused(f"`{model.name}` calls tools without end.", hint="`agent.tools` turns them off.")


async def _read_reply(chunks: AsyncIterator[ReplyChunk], on_text: OnText) -> tuple[str, tuple[ModelToolCall, ...]]:
    """Read a reply as it is written, until its end or until it only repeats itself, as small models do."""
    text = ""
    calls: tuple[ModelToolCall, ...] = ()
    async for chunk in chunks:
        text, calls = text + chunk.text, calls + chunk.calls
        on_text(chunk.text)
        if period := find_repeated_ending(text):
            on_text(" …")
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()
            # What is kept says it once, or the model would go on with it in the next reply.
            return text[: text.find(text[-period:]) + period], calls
    return text, calls


def find_repeated_ending(text: str) -> int:
    """The length of what a text says over and over at its end; 0 if it does not."""
    before = text.rfind(text[-LOOP_TAIL:], 0, -1) if len(text) >= LOOP_CHARS else -1
    if before < 0:
        return 0
    period = len(text) - LOOP_TAIL - before
    piece, times = text[-period:], max(LOOP_TIMES, -(-LOOP_CHARS // period))
    return period if text.endswith(piece * times) and any(map(str.isalpha, piece)) else 0


def _format_unknown_tool(tools: Sequence[AgentTool], call: ModelToolCall) -> str:
    return f"There is no tool `{call.name[:40]}`; there are {', '.join(each.name for each in tools)}."


async def _run(tool: AgentTool, call: ModelToolCall, *, tokens: int) -> str:
    """What a tool returns, at most so many tokens of it; or why it did not."""
    try:
        async with asyncio.timeout(TOOL_SECONDS):
            result = await tool.run(call.arguments)
    except TimeoutError:
        return f"{FAILED}`{tool.name}` took longer than {TOOL_SECONDS:g} seconds."
    except FestingerError as error:
        return f"{FAILED}{error.name}: {error.message} {error.hint or ''}".strip()
    size = estimate_tokens(result)
    return result if size <= tokens else f"{result[: len(result) * tokens // size]}… (cut)"


def build_goal_reminder_tools(
    deps: MemoryDeps, scope: Scope, said: Sequence[str], *, noted: Sequence[Reminder] = ()
) -> list[AgentTool]:
    """The tools for goals and reminders, which do what the person `said`; reminders may be `noted` already."""

    def check_asked(text: str) -> None:
        if not any(shares_half_the_words(text, each) for each in said):
            raise Refused("The person did not ask for this.", hint="`propose_to_person` proposes it to them.")

    async def goal(given: Mapping[str, Any]) -> str:
        text, state = str(given.get("text", "")), GOAL_STATES.get(given.get("do", ""))
        if state is GoalState.OPEN:
            check_asked(text)
            return f"open: {(await add_goal(deps, scope, text, by=scope.session)).memory.content}"
        named = next((each for each in await list_open(deps, scope) if shares_half_the_words(each.content, text)), None)
        if named is None or state is None:
            raise NotFound("No open goal is called so.", hint="`do` is `add`, `achieve` or `drop`.")
        check_asked(named.content)
        await settle_goal(deps, scope, named.id, state, evidence=said[-1], by=scope.session)
        return f"{state}: {named.content}"

    async def remind(given: Mapping[str, Any]) -> str:
        text = str(given.get("text", ""))
        check_asked(text)
        if noted:
            return f"noted already: {noted[0]}"
        return f"set for {await add_reminder(deps, scope, text, when=str(given.get('when', '')), origin=Origin.MODEL)}"

    words = "in the person's words"
    return [
        _build_inner_tool(
            "goal", "Add, achieve or drop a goal when the person asks for it.", goal, do="add|achieve|drop", text=words
        ),
        _build_inner_tool(
            "remind", "Remind the person later, when they ask for it.", remind, when="tomorrow 9:00", text=words
        ),
    ]


def _build_inner_tool(name: str, description: str, run: RunAgentTool, **arguments: str) -> AgentTool:
    properties = {each: {"type": "string", "description": meaning} for each, meaning in arguments.items()}
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return AgentTool(name=name, description=description, schema=schema, run=run, effect=ToolEffect.INNER)
