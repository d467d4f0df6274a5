"""How does a person let go what is held back?

One proposal, because it is not what was rejected after all; or everything of a producer who was muted. Both are said
by a reviewer and written down.
"""

from uuid import UUID

from festinger.errors import BadInput
from festinger.ids import SpaceId
from festinger.proposals import pairs
from festinger.proposals.desk import Desk, Key
from festinger.proposals.proposal import Proposal
from festinger.proposals.reviewers import need_verified
from festinger.proposals.value import Worth, worths
from festinger.proposals.verdict import Author
from festinger.store.queries import queries_of

Q = queries_of("festinger.proposals")

LONGEST_PRODUCER, LONGEST_CATEGORY = 80, 40


async def release(desk: Desk, space: SpaceId, proposal: UUID, *, author: Author) -> Proposal:
    """Let a proposal that is held go its way. Raises `NotFound`, `NotAuthorised`."""
    await need_verified(desk, space, author)
    return await pairs.release(desk, space, proposal)


async def lift(desk: Desk, space: SpaceId, key: Key, *, author: Author) -> int:
    """Let a muted producer speak again; how many of its proposals that releases.

    What was decided before is no reason to mute it any more; its value stays what it is.
    """
    reviewer = await need_verified(desk, space, author)
    producer, category = key
    if not (1 <= len(producer) <= LONGEST_PRODUCER and 1 <= len(category) <= LONGEST_CATEGORY):
        raise BadInput("Which producer and which category are meant is missing, or too long.")
    names = {"space": space, "producer": producer, "category": category}
    async with desk.store.transaction() as transaction:
        await transaction.run(Q["lift_producer"], **names, at=desk.clock(), by=reviewer.name)
        return await transaction.run(Q["release_producer"], **names)


async def muted(desk: Desk, space: SpaceId) -> list[Worth]:
    """Who is muted now, the least worth first."""
    async with desk.store.transaction() as transaction:
        found = await worths(desk, transaction, space)
    return sorted(
        (each for each in found.values() if each.muted_until is not None),
        key=lambda each: (each.value, each.key),
    )
