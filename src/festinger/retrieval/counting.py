"""How common is each word?

The counts follow the texts: a job reads in the outbox what was learnt, edited or put away, takes the old words out of
the counts and puts the new ones in. It reads many events at a time and keeps how far it came, so that learning pays
nothing for it. Counting is by state, not by difference, so that a text that is counted twice counts once. A text is
found in the moment it is stored, whatever the counts say.
"""

from collections.abc import Sequence
from uuid import UUID

from festinger.events.feed import read_on
from festinger.ids import SpaceId
from festinger.retrieval.candidate import MEMORY, TURN
from festinger.retrieval.desk import Desk
from festinger.retrieval.identifiers import keep_pieces
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.retrieval")

BATCH = 500
EVENTS = 1_000
"""Events that are read at a time."""

HEARD = {
    "fact_learned": ("memory",),
    "memory_superseded": ("old", "new"),
    "memory_merged": ("memory", "into"),
    "memory_archived": ("memory",),
    "memory_restored": ("memory",),
    "memory_held": ("memory", "against"),
    "memory_quarantined": ("memory",),
    "memory_released": ("memory",),
    "memory_edited": ("memory",),
}
"""What changes the words that stand, and whose they are."""


async def wait_for_counting(
    desk: Desk, transaction: Transaction, space: SpaceId, source: str, refs: Sequence[UUID]
) -> None:
    await transaction.run(
        Q["wait_for_counting"], space=space, source=source, refs=sorted(refs), at=desk.clock()
    )


async def count_words(desk: Desk, space: SpaceId) -> int:
    """Count what has come, gone or changed since the last time; how many texts."""
    while await _hear(desk, space):
        pass
    counted = 0
    while taken := await _count_batch(desk, space):
        counted += taken
    return counted


async def _hear(desk: Desk, space: SpaceId) -> bool:
    """Note whose words some events have changed, from where reading stopped; whether there may be more."""
    async with desk.store.transaction() as transaction:
        await transaction.run(Q["begin_hearing"], space=space)
        heard = await transaction.value(Q["heard_until"], space=space)
        events, until = await read_on(transaction, [space], names=list(HEARD), after=heard, limit=EVENTS)
        refs = {UUID(event.payload[name]) for event in events for name in HEARD[event.name]}
        if refs:
            await wait_for_counting(desk, transaction, space, MEMORY, list(refs))
        is_full = len(events) == EVENTS
        await transaction.run(Q["hear_until"], space=space, seq=events[-1].seq if is_full else until)
    return is_full


async def recount(desk: Desk, space: SpaceId) -> int:
    """Count all anew; how many texts."""
    async with desk.store.transaction(patient=True) as transaction:
        await transaction.all(Q["lock_counts"], space=space)
        await transaction.run(Q["forget_counts"], space=space)
        rows = await transaction.all(Q["recount_words"], space=space)
        texts = await transaction.all(Q["every_text"], space=space)
        for source in (MEMORY, TURN):
            refs = [text["ref"] for text in texts if text["source"] == source]
            for start in range(0, len(refs), BATCH):
                await keep_pieces(transaction, space, source, refs[start : start + BATCH])
    return sum(row["docs"] for row in rows)


async def _count_batch(desk: Desk, space: SpaceId) -> int:
    async with desk.store.transaction() as transaction:
        rows = await transaction.all(Q["take_waiting"], space=space, limit=BATCH)
        await count_now(transaction, space, [(row["source"], row["ref"]) for row in rows])
    return len(rows)


async def count_now(transaction: Transaction, space: SpaceId, texts: Sequence[tuple[str, UUID]]) -> None:
    """Bring the counts up to what some texts, each with its source, say now."""
    if not texts:
        return
    await transaction.all(Q["lock_counts"], space=space)
    for source in sorted({source for source, _ in texts}):
        refs = [ref for kind, ref in texts if kind == source]
        await transaction.run(Q["count_words"], space=space, source=source, refs=refs)
        await keep_pieces(transaction, space, source, refs)
