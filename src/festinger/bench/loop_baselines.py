"""What do the plain ways of finding a loop find?

Each is what somebody would write in an hour, and sees exactly what the product sees: the text so far, in the same
steps. `zlib_tail` gets the limit at which it raises so many false alarms as are allowed, on the very texts on
which it is then measured.
"""

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from festinger.proxy.loops.steps import Answer, Item, Step

TIMES, LEAST_CHARS, LONGEST = 3, 36, 600
TAIL, LEAST_TAIL = 1_500, 250
ALLOWED = 0.005
EVERY = 64


def prefixes(text: str) -> Iterator[str]:
    for end in range(EVERY, len(text), EVERY):
        yield text[:end]
    yield text


def exact_period(text: str) -> int | None:
    """After how many characters the end repeats exactly three times; nothing if it never does."""
    return next((len(part) for part in prefixes(text) if _repeats(part[-TIMES * LONGEST :])), None)


def _repeats(tail: str) -> bool:
    for period in range(1, min(LONGEST, len(tail) // TIMES) + 1):
        size = max(TIMES * period, LEAST_CHARS)
        if size <= len(tail) and tail[-size + period :] == tail[-size:-period]:
            return True
    return False


def zlib_ratio(text: str) -> float:
    """The best that the last 1,500 characters compress at any point of a text."""
    return min((_compressed(part[-TAIL:]) for part in prefixes(text) if len(part) >= LEAST_TAIL), default=1.0)


def _compressed(text: str) -> float:
    data = text.encode("utf-8", "replace")
    return len(zlib.compress(data, 1)) / len(data)


def zlib_limit(ordinary: Sequence[float]) -> float:
    """The ratio below which only so many ordinary texts fall as may be false alarms."""
    return sorted(ordinary)[int(len(ordinary) * ALLOWED)]


def repeat_count(items: Iterable[Item]) -> int:
    """The highest count of equal calls and of equal outputs in a trace, added."""
    done = list(items)
    calls = Counter(item.deed for item in done if isinstance(item, Step))
    outputs = Counter(item.key.exact if isinstance(item, Answer) else item.result for item in done)
    return max(calls.values(), default=0) + max(outputs.values(), default=0)
