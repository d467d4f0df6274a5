"""What is left of proposals when something is forgotten?

Counters, and the mark that there was something. Sightings whose evidence names what was forgotten lose their words,
payloads that name it are emptied, and a proposal that has no words left is closed. Words that stand elsewhere are cut
out by the deed that forgets.
"""

from collections.abc import Sequence
from uuid import UUID

from festinger.ids import SpaceId
from festinger.proposals.desk import Desk
from festinger.proposals.proposal import Proposal
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.proposals")


def aims_at_forgotten(proposal: Proposal) -> bool:
    """Whether what it would change is gone; it can only be closed."""
    return bool(proposal.target.get("forgotten"))


async def forget(desk: Desk, transaction: Transaction, space: SpaceId, ids: Sequence[UUID]) -> int:
    """Erase what proposals know of memories, episodes or turns; how many sightings lost their words."""
    named = [str(id_) for id_ in ids]
    emptied = await transaction.all(Q["forget_sightings"], space=space, ids=named)
    touched = {row["proposal_id"] for row in emptied if row["proposal_id"]}
    touched |= {row["id"] for row in await transaction.all(Q["forget_payloads"], space=space, ids=named)}
    for proposal in sorted(touched):
        await transaction.run(Q["forget_words"], space=space, id=proposal)
        await transaction.run(Q["close_wordless"], space=space, id=proposal, at=desk.clock())
        await transaction.run(Q["forget_vectors"], space=space, id=proposal)
        await transaction.run(Q["forget_tasks"], space=space, id=proposal)
    return len(emptied)
