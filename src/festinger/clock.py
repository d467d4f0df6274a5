"""What time is it, and how long did it take?

Every room takes its time from an injected `Clock` and its durations from an injected `Stopwatch`;
this is the one module that asks the operating system. Nothing here waits or schedules.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime

from festinger.errors import BadInput

Clock = Callable[[], datetime]
"""Gives the present moment as an aware datetime in UTC."""

Stopwatch = Callable[[], float]
"""Gives seconds that only ever rise; two readings make a duration."""


def system_clock() -> datetime:
    return datetime.now(UTC)


def system_stopwatch() -> float:
    return time.perf_counter()


def aware(at: datetime) -> datetime:
    """`at` in UTC. A naive datetime is refused at every border: nobody can say which moment it means."""
    if at.tzinfo is None or at.utcoffset() is None:
        raise BadInput(
            f"`{at.isoformat()}` has no time zone.", hint="Add one, for example `2026-01-05T12:00:00+00:00`."
        )
    return at.astimezone(UTC)


def iso(at: datetime) -> str:
    """The moment in RFC 3339, UTC, as every door shows it."""
    return aware(at).isoformat().replace("+00:00", "Z")


def read_moment(text: str) -> datetime:
    """The moment that a text means; it must say its offset."""
    try:
        return aware(datetime.fromisoformat(text.strip()))
    except ValueError as error:
        raise BadInput(f"`{text[:40]}` is no moment.", hint="Write it as `2026-01-05T12:00:00Z`.") from error
