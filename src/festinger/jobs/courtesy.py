"""When may work beside the requests begin?

When nobody is being served. Whoever serves says when a request is there; work waits until none was for a moment, and
after a while begins all the same, so that it only ever slows down and never stops. A process without a door has
nobody to wait for.
"""

import asyncio
import math

from festinger.clock import Stopwatch

QUIET_SECONDS = 0.02
"""Between two requests of one client that does not stop to think there is less."""
LONGEST_SECONDS = 0.5
"""So long does a piece of work wait at most."""


class Courtesy:
    def __init__(self, stopwatch: Stopwatch) -> None:
        self._stopwatch = stopwatch
        self._met = -math.inf

    def met(self) -> None:
        """A request is there."""
        self._met = self._stopwatch()

    async def turn(self, *, longest: float = LONGEST_SECONDS) -> None:
        """Wait until work may begin."""
        while longest > 0 and (left := self._met + QUIET_SECONDS - self._stopwatch()) > 0:
            rest = min(left, longest)
            await asyncio.sleep(rest)
            longest -= rest
