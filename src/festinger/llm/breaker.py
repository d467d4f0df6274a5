"""Is a provider well enough to be asked?

Five failures within a minute open the breaker: for half a minute nobody waits for a provider that does not
answer. Then one call is let through as a probe. If it gets an answer the breaker closes, if not it opens
again. Only the provider's own failures count; a refusal is an answer. Seconds come in from a stopwatch.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

FAILURES = 5
WINDOW_SECONDS = 60.0
OPEN_SECONDS = 30.0


class Admission(StrEnum):
    FREELY = "freely"
    AS_PROBE = "as probe"
    NOT_NOW = "not now"


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    failures: tuple[float, ...] = ()
    """When the latest failures were, oldest first."""
    opened: float | None = None
    probing: bool = False


CLOSED = Breaker()


def admission(breaker: Breaker, now: float) -> Admission:
    if breaker.opened is None:
        return Admission.FREELY
    if breaker.probing or now - breaker.opened < OPEN_SECONDS:
        return Admission.NOT_NOW
    return Admission.AS_PROBE


def probing(breaker: Breaker) -> Breaker:
    return replace(breaker, probing=True)


def after_failure(breaker: Breaker, now: float, *, probe: bool) -> Breaker:
    """A call began while the breaker was closed may fail after it opened; it does not open it for longer."""
    if probe:
        return replace(breaker, opened=now, probing=False)
    recent = tuple(at for at in breaker.failures if now - at < WINDOW_SECONDS)
    failures = (*recent, now)[-FAILURES:]
    if breaker.opened is None and len(failures) == FAILURES:
        return Breaker(failures=failures, opened=now)
    return replace(breaker, failures=failures)


def after_answer(breaker: Breaker, *, probe: bool) -> Breaker:
    """An answer to the probe closes it. One that comes late from before does not say how things are now."""
    return CLOSED if probe else breaker


def after_nothing(breaker: Breaker, *, probe: bool) -> Breaker:
    """The caller went away before the provider could show anything; the next one may probe."""
    return replace(breaker, probing=False) if probe else breaker


def seconds_left(breaker: Breaker, now: float) -> float:
    """Until the next probe may be made."""
    return 0.0 if breaker.opened is None else max(0.0, OPEN_SECONDS - (now - breaker.opened))
