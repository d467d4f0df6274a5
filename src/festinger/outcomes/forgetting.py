"""What is left of outcomes when memories are forgotten?

Nothing that tells what they were: surfacings, reads, rhythms, predictions and the words that outcomes were read from
go. That something was surfaced, and that there was an outcome, still counts in totals.
"""

from collections.abc import Sequence
from uuid import UUID

from festinger.ids import SpaceId
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.outcomes")

_ERASING = (
    "forget_waiting",
    "forget_surfacings",
    "forget_reads",
    "forget_cycles",
    "forget_rhythms",
    "forget_predictions",
    "forget_evidence",
)


async def forget(transaction: Transaction, space: SpaceId, memories: Sequence[UUID]) -> int:
    """Erase what outcomes know of memories, within the transaction that forgets them; how many rows."""
    return sum([await transaction.run(Q[name], space=space, memories=list(memories)) for name in _ERASING])
