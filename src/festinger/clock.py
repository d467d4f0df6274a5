"""Provides the current time and a stopwatch; the only module that asks the operating system for time.

All other code takes an injected `Clock` for time and an injected `Stopwatch` for durations.
"""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from festinger.errors import BadInput

Clock = Callable[[], datetime]
"""Returns the current time as an aware UTC datetime."""

Stopwatch = Callable[[], float]
"""Returns monotonic seconds; two readings give a duration."""


def system_clock() -> datetime:
    return datetime.now(UTC)


def system_stopwatch() -> float:
    return time.perf_counter()


def backoff_delays(first: float, longest: float) -> Iterator[float]:
    """Yield the seconds to wait before each retry; they double up to `longest` and never end."""
    while True:
        yield first
        first = min(first * 2, longest)


def aware(at: datetime) -> datetime:
    """Convert `at` to UTC. Raises `BadInput` for a naive datetime, which is ambiguous."""
    if at.tzinfo is None or at.utcoffset() is None:
        raise BadInput(
            f"`{at.isoformat()}` has no time zone.", hint="Add one, for example `2026-01-05T12:00:00+00:00`."
        )
    return at.astimezone(UTC)


def iso(at: datetime) -> str:
    """Format in RFC 3339, UTC, as every interface shows it."""
    return aware(at).isoformat().replace("+00:00", "Z")


def read_moment(text: str) -> datetime:
    """Parse a timestamp; it must include its UTC offset."""
    try:
        return aware(datetime.fromisoformat(text.strip()))
    except ValueError as error:
        raise BadInput(f"`{text[:40]}` is no moment.", hint="Write it as `2026-01-05T12:00:00Z`.") from error
