"""Plain ways of finding a loop, each as strong as an hour of work allows.

`exact_period` sees the text so far, in the same steps as the product; `zlib_tail` compresses the last 2,000
characters of the whole reply, which finds more than any other window or checking while it streams. Its limit
is the one that raises the allowed number of false alarms on the very texts on which it is then measured.
"""

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from festinger.proxy.loops.history import AnswerStep, Item, ToolStep

TIMES, LEAST_CHARS, LONGEST = 3, 36, 600
TAIL, LEAST_TAIL = 2_000, 200
ALLOWED = 0.005
EVERY = 64


def prefixes(text: str) -> Iterator[str]:
    for end in range(EVERY, len(text), EVERY):
        yield text[:end]
    yield text


def exact_period(text: str) -> int | None:
    """After how many characters the end repeats exactly three times; `None` if it never does."""
    return next((len(part) for part in prefixes(text) if _repeats(part[-TIMES * LONGEST :])), None)


def _repeats(tail: str) -> bool:
    for period in range(1, min(LONGEST, len(tail) // TIMES) + 1):
        size = max(TIMES * period, LEAST_CHARS)
        if size <= len(tail) and tail[-size + period :] == tail[-size:-period]:
            return True
    return False


def zlib_ratio(text: str) -> float:
    """The compressed share of the end of a text; 1 if it is too short to say."""
    data = text[-TAIL:].encode("utf-8", "replace")
    return len(zlib.compress(data, 9)) / len(data) if len(text) >= LEAST_TAIL else 1.0


def zlib_limit(ordinary: Sequence[float]) -> float:
    """The ratio below which only the allowed share of ordinary texts falls."""
    return sorted(ordinary)[int(len(ordinary) * ALLOWED)]


def repeat_count(items: Iterable[Item]) -> int:
    """The highest count of equal calls plus that of equal outputs in a trace."""
    done = list(items)
    calls = Counter(item.operation for item in done if isinstance(item, ToolStep))
    outputs = Counter(item.key.exact if isinstance(item, AnswerStep) else item.result.steady for item in done)
    return max(calls.values(), default=0) + max(outputs.values(), default=0)
