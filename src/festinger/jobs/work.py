"""Which kinds of work are there, and what does one need to know about each?

Values only. A room registers its deeds at wiring; what a deed does is the room's matter, when it runs and how
often it is tried is decided by the neighbours of this module.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum, StrEnum
from typing import Any

from festinger.errors import BadInput
from festinger.store.pool import Transaction

MAX_TEXT = 200
MAX_IDS = 100
DEFAULT_LIMIT = timedelta(minutes=10)

Deed = Callable[..., Awaitable[object]]
"""Does the work: called with the `Run`, then the job's ids by keyword. What it returns is not looked at."""


class Queue(StrEnum):
    """Each has a slot of its own in every worker, so a slow one never starves another."""

    LEARN = "learn"
    JUDGE = "judge"
    INDEX = "index"
    SLEEP = "sleep"
    SEND = "send"


class Priority(IntEnum):
    """Which waiting job of a queue is begun first."""

    USUAL = 0
    NEW_STATEMENT = 10
    """Somebody has just said it and may ask about it next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One registered kind of job. `schedule` is a cron line, or the settings key that holds one; `timezone` is
    the settings key of the zone that the line is in, UTC without one.

    `limit` is the longest silence: a run that takes longer without a report counts as hung. Low-value work
    pauses while the queues are behind.
    """

    name: str
    deed: Deed
    queue: Queue
    schedule: str = ""
    timezone: str = ""
    limit: timedelta = DEFAULT_LIMIT
    low_value: bool = False
    priority: Priority = Priority.USUAL


class End(StrEnum):
    """How a job left the queue for good, if it was not done."""

    DEAD = "dead"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    end: End
    job: int
    name: str
    ids: Mapping[str, Any]
    error: str
    text: str


Watch = Callable[[Transaction, Ending], Awaitable[None]]
"""Told of each ending, in the transaction that brings it about."""


def checked_ids(name: str, ids: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of a job, which are ids and numbers. Texts belong into rows: an argument is copied, kept
    with the finished job and shown to operators."""
    for key, value in ids.items():
        parts = value if isinstance(value, list | tuple) else [value]
        if len(parts) > MAX_IDS or not all(_is_id(part) for part in parts):
            raise BadInput(
                f"Job `{name}` was given `{key}`, which is no id.",
                hint=f"Give ids, numbers, or at most {MAX_IDS} of them; store texts and pass their ids.",
            )
    return ids


def _is_id(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float) or _is_short(value)


def _is_short(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MAX_TEXT
