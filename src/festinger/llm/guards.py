"""Guards each provider with a circuit breaker, parallel slots and a timeout.

All purposes and spaces that ask the same server share its `ServerGuard`. Five failures within a minute open
the breaker for half a minute; then one call is let through as a probe, which closes or reopens it. Only the
provider's own failures count; a refusal is an answer. Times come from an injected stopwatch.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from festinger.clock import Stopwatch
from festinger.errors import FestingerError, ProviderDown
from festinger.llm.model import ModelPurpose

FAILURES = 5
WINDOW_SECONDS = 60.0
OPEN_SECONDS = 30.0


class CallAdmission(StrEnum):
    FREELY = "freely"
    AS_PROBE = "as probe"
    NOT_NOW = "not now"


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitBreaker:
    failures: tuple[float, ...] = ()
    """Times of the latest failures, oldest first."""
    opened: float | None = None
    probing: bool = False


CLOSED = CircuitBreaker()


def decide_admission(breaker: CircuitBreaker, now: float) -> CallAdmission:
    if breaker.opened is None:
        return CallAdmission.FREELY
    if breaker.probing or now - breaker.opened < OPEN_SECONDS:
        return CallAdmission.NOT_NOW
    return CallAdmission.AS_PROBE


def begin_probe(breaker: CircuitBreaker) -> CircuitBreaker:
    return replace(breaker, probing=True)


def record_failure(breaker: CircuitBreaker, now: float, *, probe: bool) -> CircuitBreaker:
    """Record a failure. A call begun before the breaker opened does not keep it open longer."""
    if probe:
        return replace(breaker, opened=now, probing=False)
    recent = tuple(at for at in breaker.failures if now - at < WINDOW_SECONDS)
    failures = (*recent, now)[-FAILURES:]
    if breaker.opened is None and len(failures) == FAILURES:
        return CircuitBreaker(failures=failures, opened=now)
    return replace(breaker, failures=failures)


def record_answer(breaker: CircuitBreaker, *, probe: bool) -> CircuitBreaker:
    """Close the breaker on an answer to the probe. A late answer from before says nothing about now."""
    return CLOSED if probe else breaker


def record_cancellation(breaker: CircuitBreaker, *, probe: bool) -> CircuitBreaker:
    """Release the probe of a caller that left before the provider could show anything."""
    return replace(breaker, probing=False) if probe else breaker


def seconds_until_probe(breaker: CircuitBreaker, now: float) -> float:
    """Return the seconds until the next probe may be made."""
    return 0.0 if breaker.opened is None else max(0.0, OPEN_SECONDS - (now - breaker.opened))


R = TypeVar("R")


class ServerGuard:
    """Breaker and slots of one server."""

    def __init__(self, server: str, stopwatch: Stopwatch) -> None:
        self.server = server
        self._stopwatch = stopwatch
        self._breaker = CLOSED
        self._slots: dict[int, asyncio.Semaphore] = {}

    @asynccontextmanager
    async def slot(self, at_once: int) -> AsyncIterator[None]:
        """Hold a slot, when one is free. A changed limit starts with all its slots free."""
        async with self._slots.setdefault(at_once, asyncio.Semaphore(at_once)):
            yield

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Let a call through if the breaker does, and record how it went."""
        probe = self._admit()
        said: bool | None = None
        try:
            yield
            said = True
        except ProviderDown:
            said = False
            raise
        except FestingerError:
            said = True
            raise
        finally:
            self._breaker = self._after(said, probe)

    def _after(self, said: bool | None, probe: bool) -> CircuitBreaker:
        """Return the new breaker; `said` is whether the provider answered, none if unknown (cancelled)."""
        if said is None:
            return record_cancellation(self._breaker, probe=probe)
        if said:
            return record_answer(self._breaker, probe=probe)
        return record_failure(self._breaker, self._stopwatch(), probe=probe)

    def _admit(self) -> bool:
        now = self._stopwatch()
        match decide_admission(self._breaker, now):
            case CallAdmission.FREELY:
                return False
            case CallAdmission.AS_PROBE:
                self._breaker = begin_probe(self._breaker)
                return True
            case CallAdmission.NOT_NOW:
                wait = seconds_until_probe(self._breaker, now)
                raise ProviderDown(
                    f"{self.server} failed too often and is not asked now.",
                    hint=f"It is tried again in {wait:.0f} seconds.",
                    retry_after=round(wait),
                )


class ServerGuards:
    """The guards of a process, and the number of calls in progress per purpose."""

    def __init__(self, stopwatch: Stopwatch) -> None:
        self._stopwatch = stopwatch
        self._by_server: dict[str, ServerGuard] = {}
        self.under_way: Counter[ModelPurpose] = Counter()

    def of(self, server: str) -> ServerGuard:
        return self._by_server.setdefault(server, ServerGuard(server, self._stopwatch))


async def await_within(seconds: float, waited: Awaitable[R], *, server: str) -> R:
    """Return the awaited result, or raise `ProviderDown` on timeout."""
    try:
        async with asyncio.timeout(seconds):
            return await waited
    except TimeoutError as error:
        raise ProviderDown(f"{server} took longer than {seconds:g} seconds.") from error
