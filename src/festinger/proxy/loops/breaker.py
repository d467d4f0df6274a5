"""May a request of a looping session still reach the model, and what is said if not?

The highest level opens the breaker. It stays open, whatever the agent does, until a person speaks or somebody
resets it; after a while one request is let through to see whether things have changed. It knows one session
only. Seconds come in from a stopwatch.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

import orjson

from festinger.proxy.loops.ladder import steps_at
from festinger.proxy.loops.notice import quoted
from festinger.proxy.loops.steps import Step
from festinger.proxy.loops.turns import Repeat
from festinger.settings.tree import LoopSettings


class Passage(StrEnum):
    FREE = "free"
    PROBE = "probe"
    """Let through to see whether the loop is over."""
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    opened: float | None = None
    probing: bool = False
    cause: Repeat | None = None
    person: bytes = b""
    """The last real user message when it opened; another one closes it."""


CLOSED = Breaker()


def passage(
    breaker: Breaker, repeat: Repeat | None, *, person: bytes, now: float, settings: LoopSettings
) -> tuple[Passage, Breaker]:
    """Whether a counted request passes, and the breaker after it."""
    if breaker.opened is not None and person != breaker.person:
        breaker = CLOSED
    trips = repeat is not None and "breaker" in steps_at(repeat.level, settings)
    if breaker.opened is None or breaker.probing:
        if not trips:
            return Passage.FREE, CLOSED
        return Passage.STOPPED, Breaker(opened=now, cause=repeat, person=person)
    if now - breaker.opened >= settings.breaker_seconds:
        return Passage.PROBE, replace(breaker, probing=True)
    return Passage.STOPPED, breaker


def seconds_left(breaker: Breaker, *, now: float, settings: LoopSettings) -> float:
    """Until one request is let through; for `Retry-After`."""
    return 0.0 if breaker.opened is None else max(0.0, settings.breaker_seconds - (now - breaker.opened))


def explanation(repeat: Repeat, settings: LoopSettings) -> str:
    """What the answer says in place of the model: what repeated, and how to continue."""
    tools = [quoted(item.tool) for item in repeat.block if isinstance(item, Step)]
    what = f"the call of {', '.join(dict.fromkeys(tools))}" if tools else "the same answer"
    return (
        f"Stopped: {what} was repeated {repeat.count} times without anything new. To continue, send a message in this "
        "conversation, best with another approach, or reset the session at /admin/loops. Otherwise one request is let "
        f"through every {settings.breaker_seconds} seconds."
    )


def spoken_explanation(repeat: Repeat, settings: LoopSettings) -> str:
    """The same for an agent that speaks its calls as JSON in text: a final response, so that it stops."""
    said = explanation(repeat, settings)
    return orjson.dumps(
        {"thoughts": ["A loop was stopped."], "tool_name": "response", "tool_args": {"text": said}}
    ).decode()
