"""How does work beside the requests let them go first?

After each piece it looks how long the loop took to come back. An idle loop comes back at once, and the work goes on;
a busy one has requests to serve, and the work rests for a few times as long as it worked. So it takes what is left,
and a small share where nothing is.
"""

import asyncio

from festinger.clock import Stopwatch

BUSY_SECONDS = 0.0005
"""A loop that comes back later than this had something else to do."""
REST = 4
"""So many times as long as it worked does the work rest where others wait."""
LONGEST_REST = 0.1


class Pace:
    def __init__(self, stopwatch: Stopwatch) -> None:
        self._stopwatch = stopwatch
        self._since = stopwatch()

    async def breathe(self) -> None:
        """Call it between pieces of work."""
        stopped = self._stopwatch()
        worked = stopped - self._since
        await asyncio.sleep(0)
        if self._stopwatch() - stopped > BUSY_SECONDS:
            await asyncio.sleep(min(REST * worked, LONGEST_REST))
        self._since = self._stopwatch()
