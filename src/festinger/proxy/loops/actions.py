"""Countermeasures against a loop, by level: notice, sampling, pruning and breaker.

Each level adds the next step of the configured ladder; with the guard off, loops are only reported. An open
breaker waits for a person or a reset, and lets one probe request through after a while. Sampling values are
raised, never lowered, and kept where a schema is enforced. Notices quote the agent as short, escaped data at
the very end of the request and are never stored. Pruning keeps the first and latest rounds and what people
and the system said; it removes whole rounds only (a call with its results), so that roles alternate. It is
deterministic, and a continuing loop only grows at its end, so the prefix changes once.
"""

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from math import ceil

import orjson

from festinger.proxy.loops.history import SHOWN, AnswerStep, Item, LoopRepetition, ToolStep, TurnRule
from festinger.proxy.loops.keys import ChatMessage, ChatRole
from festinger.proxy.routes import ApiProtocol
from festinger.settings.tree import LadderStep, LoopSettings


def ladder_steps(level: int, settings: LoopSettings) -> tuple[LadderStep, ...]:
    """The steps to take at this level, in ladder order."""
    return settings.ladder[:level] if settings.enabled else ()


def step_depth(step: LadderStep, level: int, settings: LoopSettings) -> int:
    """How many levels a step has been in force: 1 where it begins, 0 if it is not taken."""
    steps = ladder_steps(level, settings)
    return level - steps.index(step) if step in steps else 0


OPENING_WORDS = 12


def format_notice(repeat: LoopRepetition) -> str:
    """The notice that is put after the last message."""
    steps = [item for item in repeat.block if isinstance(item, ToolStep)]
    said = _describe_steps(steps, repeat) if steps else _describe_answers(repeat.block, repeat)
    return f"[Loop guard]\n{said}"


def _describe_steps(steps: Sequence[ToolStep], repeat: LoopRepetition) -> str:
    listed = "\n".join(f"- {quote_text(step.tool)} with {quote_text(step.arguments)}" for step in steps)
    outcome = "failed each time" if repeat.rule is TurnRule.SAME_ERROR else "brought nothing new"
    what, ruled = ("This action", "This exact action is") if len(steps) == 1 else ("These actions", "This sequence is")
    return (
        f"{what} ran {repeat.count} times in a row and {outcome}:\n{listed}\n"
        f"The last result began, quoted as data: {quote_text(steps[-1].said)}\n"
        f"{ruled} ruled out now. Take a different step, or give your final answer with what you know."
    )


def _describe_answers(block: Sequence[Item], repeat: LoopRepetition) -> str:
    opening = next((item.opening for item in block if isinstance(item, AnswerStep)), "")
    words = " ".join(opening.split()[:OPENING_WORDS])
    return (
        f"The same answer was given {repeat.count} times in a row. It begins, quoted as data: {quote_text(words)}\n"
        "Repeating it is ruled out now. Take a different step, or say plainly what is missing."
    )


def quote_text(text: str) -> str:
    """Quote foreign text on one line, without control characters or markup."""
    return html.escape(json.dumps(text[:SHOWN], ensure_ascii=False), quote=False)


class LoopBreakerDecision(StrEnum):
    FREE = "free"
    PROBE = "probe"
    """Let through to see whether the loop is over."""
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopBreaker:
    opened: float | None = None
    probing: bool = False
    cause: LoopRepetition | None = None
    person: bytes = b""
    """The last real user message when it opened; another one closes it."""


CLOSED = LoopBreaker()


def update_breaker(
    breaker: LoopBreaker, repeat: LoopRepetition | None, *, person: bytes, now: float, settings: LoopSettings
) -> tuple[LoopBreakerDecision, LoopBreaker]:
    """Decide whether a counted request passes; return the decision and the new breaker."""
    if breaker.opened is not None and person != breaker.person:
        breaker = CLOSED
    trips = repeat is not None and "breaker" in ladder_steps(repeat.level, settings)
    if breaker.opened is None or breaker.probing:
        if not trips:
            return LoopBreakerDecision.FREE, CLOSED
        return LoopBreakerDecision.STOPPED, LoopBreaker(opened=now, cause=repeat, person=person)
    if now - breaker.opened >= settings.breaker_seconds:
        return LoopBreakerDecision.PROBE, replace(breaker, probing=True)
    return LoopBreakerDecision.STOPPED, breaker


def retry_after_seconds(breaker: LoopBreaker, *, now: float, settings: LoopSettings) -> float:
    """Seconds until one request is let through; for `Retry-After`."""
    return 0.0 if breaker.opened is None else max(0.0, settings.breaker_seconds - (now - breaker.opened))


def format_stop_message(repeat: LoopRepetition, settings: LoopSettings) -> str:
    """The reply in place of the model: what repeated, and how to continue."""
    tools = [quote_text(item.tool) for item in repeat.block if isinstance(item, ToolStep)]
    what = f"the call of {', '.join(dict.fromkeys(tools))}" if tools else "the same answer"
    return (
        f"Stopped: {what} was repeated {repeat.count} times without anything new. To continue, send a message in this "
        "conversation, best with another approach, or reset the session at /admin/loops. Otherwise one request is let "
        f"through every {settings.breaker_seconds} seconds."
    )


def format_json_stop_message(repeat: LoopRepetition, settings: LoopSettings) -> str:
    """The same for an agent that writes its calls as JSON text: a final response, so that it stops."""
    said = format_stop_message(repeat, settings)
    return orjson.dumps(
        {"thoughts": ["A loop was stopped."], "tool_name": "response", "tool_args": {"text": said}}
    ).decode()


STEP = 0.2
MOST = 1.2
MOST_ABOVE_BASE = 0.5
ANTHROPIC_MOST = 1.0

USUAL_TEMPERATURE = {ApiProtocol.NATIVE: 0.8, ApiProtocol.ANTHROPIC: 0.8, ApiProtocol.OPENAI: 1.0}
REPEAT_PENALTY = 1.15
REPEAT_LAST_N = 256
OPENAI_PENALTY = 0.3
OPENAI_MOST_PENALTY = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParameters:
    """Sampling parameters of the request, or else of the Modelfile. Native options count as parameters."""

    parameters: Mapping[str, float]
    """By the protocol's own names, as the client sent them."""
    of_model: float | None = None
    """The Modelfile's temperature."""
    structured: bool = False


def boost_sampling(
    sampling: SamplingParameters, protocol: ApiProtocol, *, level: int, settings: LoopSettings
) -> dict[str, float]:
    """Parameters to change and their new values; empty if nothing changes."""
    depth = step_depth("temperature", level, settings)
    asked = sampling.parameters.get("temperature")
    if not depth or sampling.structured or (settings.keep_zero_temperature and asked == 0):
        return {}
    changed: dict[str, float] = {"temperature": _temperature(sampling, protocol, depth)}
    if "seed" in sampling.parameters:
        changed["seed"] = int(sampling.parameters["seed"]) + depth
    wanted = _penalties(protocol, depth)
    return changed | {name: max(value, sampling.parameters.get(name, value)) for name, value in wanted.items()}


def _temperature(sampling: SamplingParameters, protocol: ApiProtocol, depth: int) -> float:
    base = sampling.parameters.get("temperature", sampling.of_model)
    if base is None:
        base = USUAL_TEMPERATURE[protocol]
    most = ANTHROPIC_MOST if protocol is ApiProtocol.ANTHROPIC else min(MOST, base + MOST_ABOVE_BASE)
    return max(base, round(min(base + STEP * depth, most), 4))


def _penalties(protocol: ApiProtocol, depth: int) -> dict[str, float]:
    if protocol is ApiProtocol.NATIVE:
        return {"repeat_penalty": REPEAT_PENALTY, "repeat_last_n": REPEAT_LAST_N}
    if protocol is ApiProtocol.OPENAI:
        penalty = OPENAI_PENALTY if depth == 1 else OPENAI_MOST_PENALTY
        return {"frequency_penalty": penalty, "presence_penalty": penalty}
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PruningPlan:
    """Messages to remove from a history, by index."""

    left_out: tuple[int, ...]
    after: int
    """The message to which the line is appended."""
    line: str


def prune_threshold(repeat: LoopRepetition, settings: LoopSettings) -> int:
    """The number of rounds at which a loop of this weight is first pruned."""
    level = settings.ladder.index("prune") if "prune" in settings.ladder else len(settings.thresholds) - 1
    return ceil(settings.thresholds[level] * repeat.count / repeat.evidence)


def plan_pruning(
    history: Sequence[ChatMessage],
    items: Sequence[Item],
    repeat: LoopRepetition,
    *,
    keep: int,
    until: int | None = None,
) -> PruningPlan | None:
    """Plan how to shorten this history, whose own steps are `items`; `None` if nothing can be removed.

    `until` is the number of repeats at which the loop was first pruned: later rounds stay.
    """
    rounds = _find_rounds(items, repeat)
    hidden = max(0, repeat.count - len(rounds))
    counted = len(rounds) if until is None else min(len(rounds), until - hidden)
    gone = rounds[1 : max(1, counted - (keep - 1))]
    # Remove up to the start of the next round, so that a framework's words about a step go with it.
    ends = [following[0].first for following in rounds[2 : 2 + len(gone)]]
    indexes = [at for one, end in zip(gone, ends, strict=True) for at in range(one[0].first, end)]
    if not indexes or not all(_is_removable(history[at]) for at in indexes):
        return None
    if not _is_disjoint(rounds) or not _is_periodic(rounds):
        return None
    line = f"[{len(gone)} repeated rounds of {len(repeat.block)} steps were left out here.]"
    return PruningPlan(left_out=tuple(indexes), after=indexes[0] - 1, line=line)


def _find_rounds(items: Sequence[Item], repeat: LoopRepetition) -> list[Sequence[Item]]:
    """The repeated rounds in this history, oldest first, from where the loop began."""
    size = len(repeat.block)
    count = min(repeat.count, len(items) // size)
    start = len(items) - count * size
    while start and start + size <= len(items) and _is_same(items[start - 1], items[start - 1 + size]):
        start -= 1
    return [items[at : at + size] for at in range(start, start + count * size, size)]


def _is_same(one: Item, other: Item) -> bool:
    if isinstance(one, AnswerStep) or isinstance(other, AnswerStep):
        return isinstance(one, AnswerStep) and isinstance(other, AnswerStep) and one.key.exact == other.key.exact
    return one.whole == other.whole


def _is_disjoint(rounds: Sequence[Sequence[Item]]) -> bool:
    """Whether no two rounds share a message, as parallel calls of one turn would."""
    spans = list(_spans(rounds))
    return all(before < after for (_, before), (after, _) in pairwise(spans))


def _is_periodic(rounds: Sequence[Sequence[Item]]) -> bool:
    """Whether rounds of several steps have them in the same order."""
    return len(rounds[0]) == 1 or all(
        _is_same(one, other) for before, after in pairwise(rounds) for one, other in zip(before, after, strict=True)
    )


def _spans(rounds: Sequence[Sequence[Item]]) -> Iterator[tuple[int, int]]:
    for one in rounds:
        yield min(item.first for item in one), max(item.last for item in one)


def _is_removable(message: ChatMessage) -> bool:
    return not message.by_person and message.role is not ChatRole.SYSTEM
