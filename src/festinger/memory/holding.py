"""Who waits for whom, so that nobody waits in a ring?

Whoever holds several of these takes them in this order, and lets go of all when the transaction ends:

    1. the world of the space        `world.writing.hold`: who decides, repairs, forgets, carries out what was approved,
                                     or changes memories and edges at once
    2. owners of memories            `hold_owners`: who stores new memories, or must know that nobody else does
    3. memories, by their ids        `states.lock`, `belief.hold_known`: who changes some
    4. what hangs on memories        their changes, conflicts, episodes, and proposals that cite them

What is said again counts one more sighting of its conflict while it holds the memory, and does not hold the world.
So a conflict is read without being locked, and who decides one locks its memories before writing to it: that nobody
else decides it is kept by the world.
"""

from collections.abc import Iterable

from festinger.ids import AgentId, SpaceId
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.memory")


async def hold_owners(transaction: Transaction, space: SpaceId, owners: Iterable[AgentId | None]) -> None:
    """Let nobody else store memories for these; what is shared is everybody's, and nobody's name."""
    for owner in sorted({owner or "" for owner in owners}):
        await transaction.run(Q["lock_owner"], space=space, owner=owner or None)
