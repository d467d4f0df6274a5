"""How many loops are found, how soon, and how often is ordinary text taken for one?

Texts that loop are fed to the detector as it is shipped, sixteen characters at a time; so are ordinary replies, of
which each one that is noticed is a false alarm. Traces of agents are read turn by turn. The plain baselines see
the same texts in the same run.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import Any

from festinger.bench.loop_baselines import exact_period, repeat_count, zlib_limit, zlib_ratio
from festinger.bench.result import percentile
from festinger.clock import Stopwatch
from festinger.proxy.loops.finding import Finding, Severity
from festinger.proxy.loops.message import Call, Message, Role
from festinger.proxy.loops.period import Tail
from festinger.proxy.loops.restraint import Allowance
from festinger.proxy.loops.steps import Item, Keys, steps_of
from festinger.proxy.loops.stream import LOOK_EVERY, Detector
from festinger.proxy.loops.turns import worst
from festinger.settings.tree import LoopSettings, StreamLoopSettings

CHUNK = 16
SHOWS = 3
"""A loop begins to show with the third time; delay counts from its end."""

_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Looping:
    """A text that loops; `phrase` is what it repeats, where that is known."""

    id: str
    text: str
    source: str
    phrase: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What an agent did, and whether people found that it wasted effort."""

    id: str
    history: Sequence[Message]
    is_loop: bool = False


def phrase_of(repetition: Mapping[str, Any] | None) -> str:
    """The repeated phrase, put together from a tokenizer's pieces."""
    pieces = (repetition or {}).get("repeated_phrase", ())
    return "".join(pieces).replace("▁", " ").replace("<0x0A>", "\n")


def shipped(text: str, settings: StreamLoopSettings) -> tuple[Finding, ...]:
    """What the product finds in a text that streams past."""
    detector = Detector(settings, Allowance())
    for piece in _cut(text, CHUNK):
        detector.feed(piece)
        if detector.cut:
            return detector.findings
    detector.finish()
    return detector.findings


def shows_at(item: Looping) -> int | None:
    """After how many characters the phrase has been said three times, numbers aside; nothing if it never is."""
    if not item.phrase:
        return None
    pattern = _DIGITS.sub(lambda _: "\0", re.escape(item.phrase)).replace("\0", r"\d+")
    ends = [found.end() for found in re.finditer(pattern, item.text)]
    return ends[SHOWS - 1] if len(ends) >= SHOWS else None


def streams(
    looping: Sequence[Looping], ordinary: Sequence[str], settings: StreamLoopSettings
) -> dict[str, dict[str, float]]:
    """Recall by source, false alarms and delay of the product and of the baselines."""
    found = {item.id: shipped(item.text, settings) for item in looping}
    alarms = [shipped(text, settings) for text in ordinary]
    limit = zlib_limit([zlib_ratio(text) for text in ordinary])
    return {
        "festinger": {
            **_recalls(looping, lambda item: bool(found[item.id])),
            "loops.false_alarms.notice": share(bool(one) for one in alarms),
            "loops.false_alarms.cut": share(_has_cut(one) for one in alarms),
            **_delay(looping, found),
        },
        "exact_period": {
            **_recalls(looping, lambda item: exact_period(item.text) is not None),
            "loops.false_alarms.notice": share(exact_period(text) is not None for text in ordinary),
        },
        "zlib_tail": {
            **_recalls(looping, lambda item: zlib_ratio(item.text) < limit),
            "loops.false_alarms.notice": share(zlib_ratio(text) < limit for text in ordinary),
            "limit": limit,
        },
    }


def _recalls(looping: Sequence[Looping], is_found: Callable[[Looping], bool]) -> dict[str, float]:
    """The share that is found, of all and of those texts that say their phrase three times at all."""
    by_source: dict[str, list[bool]] = {}
    for item in looping:
        hit = is_found(item)
        by_source.setdefault(f"loops.{item.source}.recall", []).append(hit)
        if shows_at(item) is not None:
            by_source.setdefault(f"loops.{item.source}.recall_shown", []).append(hit)
    return {name: share(hits) for name, hits in by_source.items()}


def _delay(looping: Sequence[Looping], found: Mapping[str, Sequence[Finding]]) -> dict[str, float]:
    delays = [
        max(0, found[item.id][0].at - shown)
        for item in looping
        if found[item.id] and (shown := shows_at(item)) is not None
    ]
    return {"loops.delay": median(delays), "loops.delay.n": len(delays)} if delays else {}


def _has_cut(findings: Iterable[Finding]) -> bool:
    return any(found.severity is Severity.CUT for found in findings)


def share(hits: Iterable[bool]) -> float:
    known = list(hits)
    return sum(known) / max(1, len(known))


def trace_of(steps: Iterable[Mapping[str, Any]]) -> list[Message]:
    """A recorded trace of model and tool steps as a history: a model's words with the calls that follow them."""
    history = [Message(role=Role.USER, text="The task.", by_person=True)]
    words = ""
    for is_tool, group in groupby(steps, lambda step: step["kind"] == "tool"):
        if is_tool:
            history += _turn(words, list(group))
            words = ""
            continue
        *answers, words = [step.get("output") or "" for step in group]
        history += [Message(role=Role.ASSISTANT, text=text) for text in answers]
    return [*history, Message(role=Role.ASSISTANT, text=words)] if words else history


def _turn(words: str, tools: Sequence[Mapping[str, Any]]) -> list[Message]:
    calls = tuple(
        Call(name=tool.get("tool") or "", arguments=tool.get("input") or "", id=str(at))
        for at, tool in enumerate(tools)
    )
    results = [
        Message(role=Role.TOOL, text=tool.get("output") or "", answers=str(at))
        for at, tool in enumerate(tools)
    ]
    return [Message(role=Role.ASSISTANT, text=words, calls=calls), *results]


def chat_of(steps: Iterable[Mapping[str, Any]]) -> list[Message]:
    """A recorded chat with tool calls as a history; its users are people."""
    return [
        Message(
            role=Role(step["role"]),
            text=step.get("content") or "",
            calls=tuple(
                Call(name=call["name"], arguments=call["arguments"]) for call in step.get("tool_calls") or ()
            ),
            by_person=step["role"] == "user",
        )
        for step in steps
    ]


def highest_level(history: Sequence[Message], settings: LoopSettings) -> int:
    """The highest level that any request of this conversation would have met."""
    keys, levels = Keys(), [0]
    for end in range(1, len(history) + 1):
        repeat = worst(steps_of(history[:end], keys), settings)
        levels.append(repeat.level if repeat else 0)
    return max(levels)


def traces(found: Sequence[Trace], settings: LoopSettings) -> dict[str, dict[str, float]]:
    """How well the highest level of a trace tells wasted effort from honest work.

    The mere length of a trace is scored beside it: what does no better than length says little.
    """
    labels = [trace.is_loop for trace in found]
    items = [steps_of(trace.history, Keys()) for trace in found]

    def scored(score: Callable[[list[Item]], float]) -> float:
        return auroc([score(one) for one in items], labels)

    levels = [highest_level(trace.history, settings) for trace in found]
    return {
        "festinger": {"trail.auroc": auroc(levels, labels)},
        "repeat_count": {"trail.auroc": scored(repeat_count)},
        "length": {"trail.auroc": scored(len)},
    }


def flagged(chats: Sequence[Trace], settings: LoopSettings) -> list[str]:
    """The conversations that rise above level 0, by name, to be read by eye."""
    return [chat.id for chat in chats if highest_level(chat.history, settings)]


def auroc(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """How often a marked one scores above an unmarked one; ties count half."""
    marked = [score for score, label in zip(scores, labels, strict=True) if label]
    others = [score for score, label in zip(scores, labels, strict=True) if not label]
    wins = sum((one > other) + (one == other) / 2 for one in marked for other in others)
    return wins / max(1, len(marked) * len(others))


def costs(
    texts: Sequence[str], history: Sequence[Message], *, stopwatch: Stopwatch, settings: LoopSettings
) -> dict[str, float]:
    """Microseconds for one look of `period`, for one chunk of a stream, and for one history."""
    looks: list[float] = []
    chunks: list[float] = []
    for text in texts:
        tail = Tail(
            least_count=settings.stream.period_notice, least_chars=settings.stream.period_notice_chars
        )
        detector = Detector(settings.stream, Allowance())
        looks += (_took(tail.grow, piece, stopwatch) for piece in _cut(text, LOOK_EVERY))
        chunks += (_took(detector.feed, piece, stopwatch) for piece in _cut(text, CHUNK))
    keys = Keys()
    steps_of(history, keys)
    turns = [
        _took(lambda given: worst(steps_of(given, keys), settings), history, stopwatch) for _ in range(1_000)
    ]
    return {
        "loops.period.us": median(looks),
        "loops.chunk.p50_us": median(chunks),
        "loops.chunk.p99_us": percentile(chunks, 0.99),
        "loops.turn.p50_us": median(turns),
        "loops.turn.p99_us": percentile(turns, 0.99),
    }


def _cut(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


def _took(deed: Callable[[Any], object], given: object, stopwatch: Stopwatch) -> float:
    since = stopwatch()
    deed(given)
    return (stopwatch() - since) * 1e6
