"""Keeps what a session showed, so that a loop is seen although the agent has shortened its history.

Agents compact long histories in the middle of a task, and with them the repeats that would show the loop. The last
sixty steps are kept, and for each step how long the agent took to come back with it. A history that holds more steps than before has only grown; one that holds no more has been
shortened and goes on from what was kept. Retries and resent requests say nothing new and change nothing here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from festinger.proxy.loops.keys import digest
from festinger.proxy.loops.message import Message
from festinger.proxy.loops.steps import Answer, Item, task_start

KEPT = 60
RESENT_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What the last counted request of a session had shown."""

    person: bytes = b""
    """The last real user message."""
    count: int = 0
    """Steps that stood in its history."""
    steps: tuple[Item, ...] = ()
    """The latest steps of the task, with those that no longer stand in the history."""
    length: int = 0
    """Messages in its history."""
    waits: tuple[float, ...] = ()
    """Seconds before each step of the task."""
    witnessed: int = 0
    """Latest steps that were seen to come, after the last word of a person."""

    @property
    def hidden(self) -> tuple[Item, ...]:
        return self.steps[: max(0, len(self.steps) - self.count)]


NOTHING = Remembered()


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """What is known of a request besides its history."""

    length: int
    retry: int = 0
    """`x-stainless-retry-count`."""
    is_side: bool = False
    failed_before: float | None = None
    """Seconds since an identical request got no answer: a server error, a time-out, a client that left."""
    waited: float = 0.0
    """Seconds since the last reply of the session ended."""


def is_counted(arrival: Arrival, remembered: Remembered, items: Sequence[Item]) -> bool:
    """Whether this request, which holds these steps, shows a new state of the conversation."""
    if arrival.failed_before is not None and arrival.failed_before <= RESENT_SECONDS:
        return False
    return not (arrival.retry or arrival.is_side or _is_resent(arrival, remembered, items))


def _is_resent(arrival: Arrival, remembered: Remembered, items: Sequence[Item]) -> bool:
    """Whether the history is as long as the last one and ends in the same steps."""
    here, kept = items[-KEPT:], remembered.steps[-len(items) :]
    return bool(here) and arrival.length == remembered.length and [*map(_key, here)] == [*map(_key, kept)]


def person_key(history: Sequence[Message]) -> bytes:
    at = task_start(history)
    return b"" if at is None else digest(history[at].text)


def is_new_task(remembered: Remembered, items: Sequence[Item], *, person: bytes, length: int) -> bool:
    """Whether a person has spoken since, be it in the same words as before."""
    if length > remembered.length and len(items) < remembered.count:
        return True
    # A summary may stand where the person's words stood. It is the same task if steps that are known follow it.
    return bool(person) and person != remembered.person and not _overlap(remembered.steps, items)


def continued(
    remembered: Remembered, items: Sequence[Item], *, person: bytes, length: int
) -> tuple[list[Item], int]:
    """The steps of the task so far, after what is remembered where the history was shortened, and how many are new."""
    if not remembered.steps or is_new_task(remembered, items, person=person, length=length):
        return list(items), len(items)
    if len(items) > remembered.count:
        return [*remembered.hidden, *items], len(items) - remembered.count
    fresh = items[_overlap(remembered.steps, items) :]
    return [*remembered.steps, *fresh], len(fresh)


def _overlap(kept: Sequence[Item], items: Sequence[Item]) -> int:
    """How many of these steps are already kept; a counted request always brings at least one that is not."""
    known, here = [_key(item) for item in kept], [_key(item) for item in items]
    most = min(len(known), len(here) - 1)
    return next((size for size in range(most, 0, -1) if known[-size:] == here[:size]), 0)


def _key(item: Item) -> object:
    return item.key.exact if isinstance(item, Answer) else item.whole


def remember(
    items: Sequence[Item],
    *,
    person: bytes,
    in_history: int,
    length: int,
    waits: Sequence[float] = (),
    witnessed: int = 0,
) -> Remembered:
    """What to keep after a counted request: all steps of the task, of which so many stood in its history."""
    return Remembered(
        person=person,
        count=in_history,
        steps=tuple(items[-KEPT:]),
        length=length,
        waits=tuple(waits),
        witnessed=witnessed,
    )
