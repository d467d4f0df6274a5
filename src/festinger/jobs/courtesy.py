"""When may work beside the requests begin?

When nobody is being served. Whoever serves says so for as long as it has work with a request, not while a model
answers it; work waits until there was none for a moment, and after a while begins all the same, so that it only ever
slows down and never stops. A process without a door has nobody to wait for.
"""

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager

from festinger.clock import Stopwatch

QUIET_SECONDS = 0.02
"""Between two requests of one client that does not stop to think there is less."""
LONGEST_SECONDS = 1.0
"""So long does a piece of work wait at most."""


class Courtesy:
    def __init__(self, stopwatch: Stopwatch) -> None:
        self._stopwatch = stopwatch
        self._serving = 0
        self._served = -math.inf

    @contextmanager
    def serving(self) -> Iterator[None]:
        """While there is work with a request."""
        self._serving += 1
        try:
            yield
        finally:
            self._serving -= 1
            self._served = self._stopwatch()

    async def turn(self, *, longest: float = LONGEST_SECONDS) -> None:
        """Wait until work may begin."""
        while longest > 0 and (left := self._left()) > 0:
            rest = min(left, longest)
            await asyncio.sleep(rest)
            longest -= rest

    def _left(self) -> float:
        """How long it is to a quiet moment, as far as one can tell."""
        return QUIET_SECONDS if self._serving else self._served + QUIET_SECONDS - self._stopwatch()
