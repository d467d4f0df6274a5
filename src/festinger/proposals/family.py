"""Which proposals stand together, because a person said that they are one?

A duplicate keeps its row, its words and its sightings, and points at the proposal that stands for it; so what was
joined can be parted again. Votes are counted over the whole family.
"""

from uuid import UUID

from festinger.errors import FestingerError, NotFound
from festinger.ids import SpaceId
from festinger.proposals.proposal import Proposal, ProposalId, proposal_of
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.proposals")

MOST_STEPS = 5
"""How far duplicates lead on; whoever comes further goes round in a ring."""


async def held(transaction: Transaction, space: SpaceId, id_: UUID) -> Proposal:
    """One proposal, which nobody else may change until the transaction ends."""
    row = await transaction.maybe(Q["hold_proposal"], space=space, id=id_)
    if row is None:
        raise NotFound(f"There is no proposal `{id_}`.")
    return proposal_of(row)


async def root_of(transaction: Transaction, space: SpaceId, found: Proposal) -> Proposal:
    """The proposal that stands for this one, which the caller holds; held too: itself, unless it is a duplicate."""
    root = found
    for _ in range(MOST_STEPS):
        if root.duplicate_of is None:
            return root
        root = await held(transaction, space, root.duplicate_of)
    if root.duplicate_of is None:
        return root
    raise FestingerError(f"The duplicates of proposal `{found.id}` lead nowhere.")


async def family_of(transaction: Transaction, space: SpaceId, id_: ProposalId) -> list[UUID]:
    """A proposal and all its duplicates."""
    return [row["id"] for row in await transaction.all(Q["family"], space=space, id=id_)]
