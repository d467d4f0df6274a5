"""Ranks recorded conversations by their evidence of a loop: wasted effort should rank above honest work.

Traces are read turn by turn, as their requests would have come. The mere length of a trace is scored as a
baseline: what does no better than length says little.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from benchmarks.loop_baselines import repeat_count
from benchmarks.loop_streams import alarm
from benchmarks.suite import PRODUCT
from benchmarks.tally import MetricTally, TallyItem, auroc
from festinger.proxy.loops.history import Item as Step
from festinger.proxy.loops.history import StepCache, find_repetition, parse_steps
from festinger.proxy.loops.keys import ChatMessage, ChatRole, ToolCall
from festinger.settings.tree import LoopSettings

REPEAT_COUNT, LENGTH = "repeat_count", "length"

SENSITIVE = LoopSettings(thresholds=(2, 3, 4, 5))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What an agent did, and whether people found that it wasted effort."""

    id: str
    history: Sequence[ChatMessage]
    is_loop: bool = False


def trace_of(steps: Iterable[Mapping[str, Any]]) -> list[ChatMessage]:
    """A recorded trace of model and tool steps as a history: a model's words with the calls that follow."""
    history = [ChatMessage(role=ChatRole.USER, text="The task.", by_person=True)]
    words = ""
    for is_tool, group in groupby(steps, lambda step: step["kind"] == "tool"):
        if is_tool:
            history += _turn(words, list(group))
            words = ""
            continue
        *answers, words = [step.get("output") or "" for step in group]
        history += [ChatMessage(role=ChatRole.ASSISTANT, text=text) for text in answers]
    return [*history, ChatMessage(role=ChatRole.ASSISTANT, text=words)] if words else history


def _turn(words: str, tools: Sequence[Mapping[str, Any]]) -> list[ChatMessage]:
    calls = tuple(
        ToolCall(name=tool.get("tool") or "", arguments=tool.get("input") or "", id=str(at))
        for at, tool in enumerate(tools)
    )
    results = [
        ChatMessage(role=ChatRole.TOOL, text=tool.get("output") or "", answers=str(at)) for at, tool in enumerate(tools)
    ]
    return [ChatMessage(role=ChatRole.ASSISTANT, text=words, calls=calls), *results]


def chat_of(steps: Iterable[Mapping[str, Any]]) -> list[ChatMessage]:
    """A recorded chat with tool calls as a history; its users are people."""
    return [
        ChatMessage(
            role=ChatRole(step["role"]),
            text=step.get("content") or "",
            calls=tuple(
                ToolCall(name=call["name"], arguments=call["arguments"]) for call in step.get("tool_calls") or ()
            ),
            by_person=step["role"] == "user",
        )
        for step in steps
    ]


def highest_level(history: Sequence[ChatMessage], settings: LoopSettings) -> int:
    """The highest level that any request of this conversation would have reached."""
    keys, levels = StepCache(), [0]
    for end in range(1, len(history) + 1):
        repeat = find_repetition(parse_steps(history[:end], keys), settings)
        levels.append(repeat.level if repeat else 0)
    return max(levels)


def highest_evidence(history: Sequence[ChatMessage]) -> float:
    """The most rounds that any request of this conversation shows."""
    keys, found = StepCache(), [0.0]
    for end in range(1, len(history) + 1):
        repeat = find_repetition(parse_steps(history[:end], keys), SENSITIVE)
        found.append(repeat.evidence if repeat else 0.0)
    return max(found)


def of_the_product(traces: Sequence[Trace]) -> MetricTally:
    return _ranked(PRODUCT, traces, lambda trace: highest_evidence(trace.history))


def of_repeat_count(traces: Sequence[Trace]) -> MetricTally:
    return _ranked(REPEAT_COUNT, traces, lambda trace: repeat_count(_steps(trace)))


def of_length(traces: Sequence[Trace]) -> MetricTally:
    return _ranked(LENGTH, traces, lambda trace: len(_steps(trace)))


def _ranked(system: str, traces: Sequence[Trace], score: Callable[[Trace], float]) -> MetricTally:
    items = [TallyItem(id=trace.id, part=float(score(trace)), whole=float(trace.is_loop)) for trace in traces]
    return MetricTally(metric="trail.auroc", system=system, items=items, statistic=auroc)


def _steps(trace: Trace) -> list[Step]:
    return parse_steps(trace.history, StepCache())


def flagged(chats: Sequence[Trace], settings: LoopSettings) -> MetricTally:
    """The conversations above level 0, to be reviewed by eye."""
    items = [alarm(chat.id, highest_level(chat.history, settings) > 0, {}) for chat in chats]
    return MetricTally(metric="tau.runs_flagged", system=PRODUCT, items=items)
