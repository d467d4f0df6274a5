"""Judges the next request of a session by the loops that it shows.

The history is read into steps, joined to what the session remembers, and judged; the breaker says whether the
request may pass. A request that shows nothing new, a retry or a resent one, is judged by what is known already and
changes nothing. All of it is a function of the request and of the session's `Loop`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from festinger.proxy.loops.breaker import CLOSED, Breaker, Passage, passage
from festinger.proxy.loops.message import Message
from festinger.proxy.loops.remembered import (
    NOTHING,
    Arrival,
    Remembered,
    continued,
    is_counted,
    is_new_task,
    person_key,
    remember,
)
from festinger.proxy.loops.steps import Item, Keys, last_person, steps_of
from festinger.proxy.loops.turns import Repeat, worst
from festinger.settings.tree import LoopSettings

CUTS = 32
"""Replies of a session that are remembered as cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """What is known of the loops of one session."""

    remembered: Remembered = NOTHING
    task: int = 0
    """Rises whenever a person speaks."""
    pardoned: int = 0
    """Steps of this task, from its beginning, that somebody said not to count."""
    standing: Repeat | None = None
    """What repeats, if it has reached a level."""
    breaker: Breaker = CLOSED
    noticed: bool = False
    """Whether the latest reply repeated itself while it streamed."""
    limited: bool = False
    """Whether the latest reply was cut."""
    cuts: tuple[bytes, ...] = ()
    """Replies that were cut, by the digests of their words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    loop: Loop
    """The session's loop after the request."""
    repeat: Repeat | None
    passage: Passage

    def rose_from(self, before: Loop) -> bool:
        return _level(self.loop.standing) > _level(before.standing)

    def recovered_from(self, before: Loop) -> Repeat | None:
        return before.standing if self.loop.standing is None else None

    def opened_from(self, before: Loop) -> Repeat | None:
        is_new = before.breaker.opened is None and self.loop.breaker.opened is not None
        return self.loop.breaker.cause if is_new else None

    def closed_from(self, before: Loop) -> Repeat | None:
        is_gone = before.breaker.opened is not None and self.loop.breaker.opened is None
        return before.breaker.cause if is_gone else None


def judged(
    loop: Loop,
    history: Sequence[Message],
    arrival: Arrival,
    *,
    keys: Keys,
    now: float,
    settings: LoopSettings,
) -> Judged:
    """The request with this history, judged."""
    items = steps_of(history, keys)
    if is_counted(arrival, loop.remembered, items[loop.pardoned :]):
        return _counted(loop, history, items, waited=arrival.waited, now=now, settings=settings)
    return _shown_again(loop, now=now, settings=settings)


def _counted(
    loop: Loop,
    history: Sequence[Message],
    items: Sequence[Item],
    *,
    waited: float,
    now: float,
    settings: LoopSettings,
) -> Judged:
    person, length = person_key(history), len(history)
    before = loop.remembered
    is_new = is_new_task(before, items[loop.pardoned :], person=person, length=length)
    pardoned = 0 if is_new or len(items) < loop.pardoned else loop.pardoned
    own = items[pardoned:]
    steps, new = continued(before, own, person=person, length=length)
    waits = ([0.0] * len(steps) + [*before.waits, *[waited] * new])[-len(steps) :] if steps else []
    spoken_at = last_person(history) or 0
    has_spoken = is_new or spoken_at >= before.length > 0
    # Whoever is met in the middle of the work, or was spoken to since, is not stopped for what was done before.
    was_met_midway = before == NOTHING and new > 1
    witnessed = 0 if was_met_midway else before.witnessed + new
    if has_spoken:
        witnessed = min(witnessed, sum(item.first > spoken_at for item in own))
    repeat = worst(steps, settings, waits=waits, witnessed=witnessed, noticed=loop.noticed)
    passed, breaker = passage(
        loop.breaker, repeat, person=b"%d" % (loop.task + has_spoken), now=now, settings=settings
    )
    after = replace(
        loop,
        remembered=remember(
            steps, person=person, in_history=len(own), length=length, waits=waits, witnessed=witnessed
        ),
        task=loop.task + has_spoken,
        pardoned=pardoned,
        standing=repeat,
        breaker=breaker,
    )
    return Judged(loop=after, repeat=repeat, passage=passed)


def _shown_again(loop: Loop, *, now: float, settings: LoopSettings) -> Judged:
    repeat = loop.standing
    if loop.breaker.probing:
        # The one request that was let through, sent once more.
        return Judged(loop=loop, repeat=repeat, passage=Passage.PROBE)
    passed, breaker = passage(loop.breaker, repeat, person=b"%d" % loop.task, now=now, settings=settings)
    return Judged(loop=replace(loop, breaker=breaker), repeat=repeat, passage=passed)


def _level(repeat: Repeat | None) -> int:
    return repeat.level if repeat else 0


def pardoned(loop: Loop) -> Loop:
    """The loop after somebody closed its breaker: what was done so far does not count any more."""
    before = loop.remembered
    return replace(
        loop,
        remembered=replace(before, steps=(), count=0),
        pardoned=loop.pardoned + before.count,
        standing=None,
        breaker=CLOSED,
    )


def after_reply(loop: Loop, *, noticed: bool, cut: bytes | None) -> Loop:
    """The loop after a reply: whether it repeated itself, and the digest of its words if it was cut."""
    cuts = loop.cuts if cut is None else (*(each for each in loop.cuts if each != cut), cut)[-CUTS:]
    return replace(loop, noticed=noticed, limited=cut is not None, cuts=cuts)
