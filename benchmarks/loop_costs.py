"""Measures the cost of loop detection, in microseconds.

One chunk of a stream, and the history of one request whose messages were seen before, as all but the newest
are.
"""

import json
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from benchmarks.loop_streams import CHUNK, cut
from benchmarks.result import BenchMetric, Sample, at_most, percentile
from benchmarks.suite import PRODUCT
from festinger.clock import Stopwatch
from festinger.proxy.loops.history import StepCache, find_repetition, parse_steps
from festinger.proxy.loops.keys import ChatMessage, ChatRole, ToolCall
from festinger.proxy.loops.stream import RepetitionAllowance, RepetitionDetector
from festinger.settings.tree import LoopSettings

HISTORY = 200
LOOKS = 1_000

METRICS = (
    BenchMetric(name="loops.chunk.cost_p50", unit="µs", about="one chunk of a stream, median"),
    BenchMetric(name="loops.chunk.cost_p99", unit="µs", about="one chunk of a stream, p99", goal=at_most(50)),
    BenchMetric(name="loops.turn.cost_p50", unit="µs", about=f"a history of {HISTORY} messages, median"),
    BenchMetric(
        name="loops.turn.cost_p99", unit="µs", about=f"a history of {HISTORY} messages, p99", goal=at_most(200)
    ),
)


def long_history() -> list[ChatMessage]:
    """An agent at work, with many steps behind it."""
    history = [ChatMessage(role=ChatRole.USER, text="Mend the build, please.", by_person=True)]
    for n in range((HISTORY - 1) // 2):
        call = ToolCall(name="read_file", arguments=json.dumps({"path": f"src/{n}.py", "lines": 40}))
        history.append(ChatMessage(role=ChatRole.ASSISTANT, calls=(call,)))
        history.append(ChatMessage(role=ChatRole.TOOL, text=f"def f_{n}(): ...\n" * 60))
    return history


def costs(
    texts: Sequence[str], history: Sequence[ChatMessage], *, stopwatch: Stopwatch, settings: LoopSettings
) -> list[Sample]:
    """One run over these texts and this history."""
    chunks: list[float] = []
    for text in texts:
        detector = RepetitionDetector(settings.stream, RepetitionAllowance())
        chunks += (_took(detector.feed, piece, stopwatch) for piece in cut(text, CHUNK))
    keys = StepCache()
    parse_steps(history, keys)
    turns = [
        _took(lambda given: find_repetition(parse_steps(given, keys), settings), history, stopwatch)
        for _ in range(LOOKS)
    ]
    found = {
        "loops.chunk.cost_p50": (median(chunks), len(chunks)),
        "loops.chunk.cost_p99": (percentile(chunks, 0.99), len(chunks)),
        "loops.turn.cost_p50": (median(turns), LOOKS),
        "loops.turn.cost_p99": (percentile(turns, 0.99), LOOKS),
    }
    return [Sample(metric=name, system=PRODUCT, value=value, n=n) for name, (value, n) in found.items()]


def _took(operation: Callable[[Any], object], given: object, stopwatch: Stopwatch) -> float:
    since = stopwatch()
    operation(given)
    return (stopwatch() - since) * 1e6
