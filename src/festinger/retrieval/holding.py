"""Is there anything to bring to mind in a space at all?

A door that asks with every request must not pay for a cue where nothing was ever learnt. A space that holds something
is known to for good; one that was seen empty counts as empty for a moment, or until this process stores something there.
What another process stores is seen when that moment is over.
"""

from festinger.clock import Stopwatch
from festinger.ids import SpaceId
from festinger.store.pool import Store
from festinger.store.queries import queries_of

Q = queries_of("festinger.retrieval")

EMPTY_FOR = 1.0
"""Seconds for which a space that was seen empty is taken for empty."""


class Holdings:
    """Which spaces hold memories, as far as this process knows."""

    def __init__(self, stopwatch: Stopwatch) -> None:
        self._stopwatch = stopwatch
        self._held: set[SpaceId] = set()
        self._seen_empty: dict[SpaceId, float] = {}

    def may_hold(self, space: SpaceId) -> bool:
        """Whether asking is worth anything; says no only of a space that was just seen empty."""
        seen = self._seen_empty.get(space)
        return seen is None or self._stopwatch() - seen >= EMPTY_FOR

    def stored(self, space: SpaceId) -> None:
        """Something is being stored there. If that fails after all, nothing is lost but the price of asking."""
        self._held.add(space)
        self._seen_empty.pop(space, None)

    async def holds(self, store: Store, space: SpaceId) -> bool:
        """Whether there is anything; looks only where that is not known yet."""
        if space in self._held:
            return True
        if await store.value(Q["holds_memories"], hot=True, space=space):
            self.stored(space)
        elif space not in self._held:  # while looking, something may have been stored
            self._seen_empty[space] = self._stopwatch()
        return space in self._held
