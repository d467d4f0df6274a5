"""Guards each provider with a circuit breaker, parallel slots and a timeout.

All purposes and spaces that ask the same server share its `ServerGuard`. Five failures within a minute open
the breaker for half a minute; then one call is let through as a probe, which closes or reopens it. Only the
provider's own failures count; a refusal is an answer. Times come from an injected stopwatch.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import TypeVar

from festinger.clock import Stopwatch
from festinger.errors import FestingerError, ProviderDown
from festinger.llm.model import ModelPurpose

FAILURES = 5
WINDOW_SECONDS = 60.0
OPEN_SECONDS = 30.0


R = TypeVar("R")


class ServerGuard:
    """Breaker and slots of one server."""

    def __init__(self, server: str, stopwatch: Stopwatch) -> None:
        self.server = server
        self._stopwatch = stopwatch
        self._slots: dict[int, asyncio.Semaphore] = {}
        self._failures: deque[float] = deque(maxlen=FAILURES)
        self._opened: float | None = None
        self._is_probing = False

    @asynccontextmanager
    async def slot(self, at_once: int) -> AsyncIterator[None]:
        """Hold a slot, when one is free. A changed limit starts with all its slots free."""
        async with self._slots.setdefault(at_once, asyncio.Semaphore(at_once)):
            yield

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Let a call through if the breaker does, and record how it went; a caller that left shows nothing."""
        is_probe = self._admit()
        try:
            yield
        except ProviderDown:
            self._record_failure(is_probe)
            raise
        except FestingerError:
            self._record_answer(is_probe)
            raise
        else:
            self._record_answer(is_probe)
        finally:
            self._is_probing = self._is_probing and not is_probe

    def _admit(self) -> bool:
        """Whether the call is a probe. Raises `ProviderDown` while the breaker is open."""
        if self._opened is None:
            return False
        wait = max(0.0, OPEN_SECONDS - (self._stopwatch() - self._opened))
        if self._is_probing or wait:
            raise ProviderDown(
                f"{self.server} failed too often and is not asked now.",
                hint=f"It is tried again in {wait:.0f} seconds.",
                retry_after=round(wait),
            )
        self._is_probing = True
        return True

    def _record_failure(self, is_probe: bool) -> None:
        now = self._stopwatch()
        if is_probe:
            self._opened = now
            return
        self._failures.append(now)
        if self._opened is None and len(self._failures) == FAILURES and now - self._failures[0] < WINDOW_SECONDS:
            self._opened = now

    def _record_answer(self, is_probe: bool) -> None:
        if is_probe:
            self._opened = None
            self._failures.clear()


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
