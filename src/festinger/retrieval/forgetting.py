"""What is left of recalling when memories are forgotten, or words were kept long enough?

Nothing that tells of them: the recalls that brought them to mind go with what was asked, and so do the words that only
they held. What was said in the same words was cut where it is kept; here it leaves the index, and comes back as it is
now. What came to mind with them, and what helped with which question, goes with their rows. Of what was said long ago
and is not kept any longer only the recalls stay, which name it and do not repeat it.
"""

from collections.abc import Sequence
from uuid import UUID

from festinger.ids import SpaceId
from festinger.retrieval.candidate import MEMORY, TURN
from festinger.retrieval.counting import count_now
from festinger.retrieval.desk import Desk
from festinger.retrieval.turns import unindex_cut
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.retrieval")

_ERASING = ("forget_recalls", "forget_hits", "forget_parts")


async def forget(transaction: Transaction, space: SpaceId, memories: Sequence[UUID]) -> None:
    """Erase what recalling knows of memories. Told twice, it finds nothing the second time."""
    turns = await unindex_cut(transaction, space)
    for name in _ERASING:
        await transaction.run(Q[name], space=space, refs=[*memories, *turns])
    await _recount(
        transaction, space, [*((MEMORY, ref) for ref in memories), *((TURN, ref) for ref in turns)]
    )


async def forget_old_turns(desk: Desk, space: SpaceId) -> int:
    """Erase the words of turns that are not kept any longer; how many turns."""
    async with desk.store.transaction() as transaction:
        rows = await transaction.all(Q["unindex_old_turns"], space=space)
        turns = [row["turn_id"] for row in rows]
        await transaction.run(Q["forget_parts"], space=space, refs=turns)
        await _recount(transaction, space, [(TURN, ref) for ref in turns])
    return len(turns)


async def _recount(transaction: Transaction, space: SpaceId, texts: Sequence[tuple[str, UUID]]) -> None:
    """Let texts that are gone count no longer, and let go of the words that only they held."""
    await count_now(transaction, space, texts)
    await transaction.run(Q["drop_words"], space=space)
