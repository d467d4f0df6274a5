"""What is left of events when what they tell of is forgotten?

That something happened, when, and to which id. Names that an event carries beside its ids go; longer words are cut out
by the deed that forgets.
"""

from collections.abc import Sequence

from festinger.ids import SpaceId
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.events")


async def forget_names(transaction: Transaction, space: SpaceId, subjects: Sequence[str]) -> int:
    """Take the names out of the events about these subjects; how many had one."""
    return await transaction.run(Q["forget_names"], space=space, subjects=list(subjects))
