"""How many calls go to a provider at once, and how long may each take?

One `Guard` for each server holds its breaker and its slots; `Guards` holds them all for the process, so that
every purpose and every space that asks the same server shares them. The decisions are in `breaker` and
`budget`; here they meet the calls.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import TypeVar

from festinger.clock import Stopwatch
from festinger.errors import FestingerError, ProviderDown
from festinger.llm import breaker
from festinger.llm.breaker import CLOSED, Admission, Breaker
from festinger.llm.port import Purpose

R = TypeVar("R")


class Guard:
    """What stands before one server."""

    def __init__(self, server: str, stopwatch: Stopwatch) -> None:
        self.server = server
        self._stopwatch = stopwatch
        self._breaker = CLOSED
        self._slots: dict[int, asyncio.Semaphore] = {}

    @asynccontextmanager
    async def slot(self, at_once: int) -> AsyncIterator[None]:
        """A turn, when one is free. A changed limit begins with all its slots free."""
        async with self._slots.setdefault(at_once, asyncio.Semaphore(at_once)):
            yield

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Let a call through if the breaker does, and tell the breaker how it went."""
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

    def _after(self, said: bool | None, probe: bool) -> Breaker:
        """`said` is whether the provider answered; none if that was not seen (cancelled, a fault of ours)."""
        if said is None:
            return breaker.after_nothing(self._breaker, probe=probe)
        if said:
            return breaker.after_answer(self._breaker, probe=probe)
        return breaker.after_failure(self._breaker, self._stopwatch(), probe=probe)

    def _admit(self) -> bool:
        now = self._stopwatch()
        match breaker.admission(self._breaker, now):
            case Admission.FREELY:
                return False
            case Admission.AS_PROBE:
                self._breaker = breaker.probing(self._breaker)
                return True
            case Admission.NOT_NOW:
                wait = breaker.seconds_left(self._breaker, now)
                raise ProviderDown(
                    f"{self.server} failed too often and is not asked now.",
                    hint=f"It is tried again in {wait:.0f} seconds.",
                    retry_after=round(wait),
                )


class Guards:
    """The guards of a process, and how many calls of each purpose are under way."""

    def __init__(self, stopwatch: Stopwatch) -> None:
        self._stopwatch = stopwatch
        self._by_server: dict[str, Guard] = {}
        self.under_way: Counter[Purpose] = Counter()

    def of(self, server: str) -> Guard:
        return self._by_server.setdefault(server, Guard(server, self._stopwatch))


async def within(seconds: float, waited: Awaitable[R], *, server: str) -> R:
    """What is waited for, if it comes in time."""
    try:
        async with asyncio.timeout(seconds):
            return await waited
    except TimeoutError as error:
        raise ProviderDown(f"{server} took longer than {seconds:g} seconds.") from error
