"""How does a deed that opens a transaction of its own take part in one that is open?

A room's deeds take their store from a desk. Given this one they run within the transaction of whoever calls them: what
several rooms do stands or falls together, and none of them needs to know.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from festinger.store.pool import Plan, Store, Transaction


class Joined(Store):
    """A store each of whose transactions is a part of the one that is given."""

    def __init__(self, transaction: Transaction) -> None:
        self._outer = transaction

    @asynccontextmanager
    async def transaction(
        self, *, hot: bool = False, patient: bool = False, plan: Plan = Plan.BY_COST
    ) -> AsyncIterator[Transaction]:
        """A part that can fail by itself; the limits and plans are those of the whole."""
        async with self._outer.savepoint():
            yield self._outer
