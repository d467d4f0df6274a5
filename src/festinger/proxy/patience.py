"""Is an answer worth waiting for?

It is if one of the last few came as soon as this one has to. A request that waits for what comes too late anyway is
only held up; the answer is told in the next turn all the same. Nothing is counted as late for ever: every question
is still asked, and the first quick answer makes the next one worth waiting for.
"""

from collections import deque

LAST = 8


class Patience:
    def __init__(self) -> None:
        self._took: deque[float] = deque(maxlen=LAST)

    def answered(self, took: float) -> None:
        """An answer came after so many seconds."""
        self._took.append(took)

    def is_worth(self, seconds: float) -> bool:
        """Whether an answer may come within so many seconds."""
        return len(self._took) < LAST or min(self._took) <= seconds
