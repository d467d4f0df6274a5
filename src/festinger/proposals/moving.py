"""How does a proposal come into another state, or to other words?

The two ways in which deciding writes a proposal, apart because an effect may cut words out of it meanwhile: whoever
moves it must not bring them back. Within a transaction of the caller's, who holds it and tells of it.
"""

import json

from festinger.proposals.proposal import Proposal, proposal_of
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.proposals")


async def save(transaction: Transaction, proposal: Proposal) -> Proposal:
    """Write where a proposal, which the caller holds, stands from now on; its version rises."""
    row = await transaction.one(
        Q["move_proposal"],
        space=proposal.space_id,
        id=proposal.id,
        state=proposal.state,
        held=proposal.held,
        promoted_at=proposal.promoted_at,
        suppressed_until=proposal.suppressed_until,
        deferred_until=proposal.deferred_until,
        decided_at=proposal.decided_at,
        rejections=proposal.rejections,
        reevaluations=proposal.reevaluations,
        duplicate_of=proposal.duplicate_of,
    )
    return proposal_of(row)


async def reword(transaction: Transaction, proposal: Proposal) -> Proposal:
    """Write what a proposal, which the caller holds, says and would do from now on; its version rises."""
    row = await transaction.one(
        Q["reword_proposal"],
        space=proposal.space_id,
        id=proposal.id,
        what=proposal.what,
        how=proposal.how,
        payload=json.dumps(dict(proposal.payload), default=str),
        target=json.dumps(dict(proposal.target), default=str),
    )
    return proposal_of(row)
