"""What happens to proposals when a space changes how words are normalised?

Those that nobody has decided get the fingerprint of the new profile, and remember the old one. Where two now have the
same one they are not joined: they become a suggestion, and the younger keeps its old fingerprint until a person says.
"""

import json
from uuid import UUID

from festinger.ids import SpaceId
from festinger.proposals.desk import Desk
from festinger.proposals.fingerprint import Profile, fingerprint, normalise
from festinger.proposals.proposal import Proposal, proposal_of
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.proposals")

REFINGERPRINT = "refingerprint_proposals"
COLLIDES = "They have the same fingerprint under the new profile."


async def refingerprint(desk: Desk, space: SpaceId) -> int:
    """Fingerprint the open proposals of a space by its present profile; how many have a new one."""
    profile = Profile(desk.terms(space).profile)
    async with desk.store.transaction(patient=True) as transaction:
        rows = await transaction.all(Q["open_of_other_profiles"], space=space, profile=profile)
        return sum([await _anew(desk, transaction, proposal_of(row), profile) for row in rows])


async def _anew(desk: Desk, transaction: Transaction, proposal: Proposal, profile: Profile) -> bool:
    words = normalise(proposal.what, profile)
    key = fingerprint(category=proposal.category, scope=proposal.scope, normalised=words)
    space = proposal.space_id
    await transaction.run(Q["lock_fingerprint"], space=space, fingerprint=key)
    rows = await transaction.all(Q["find_by_fingerprint"], space=space, profile=profile, fingerprint=key)
    twin = next((row["id"] for row in rows if row["normalised"] == words and not row["duplicate_of"]), None)
    if twin is not None:
        await _suggest(desk, transaction, proposal, twin)
        return False
    payload = {**proposal.payload, "previous_fingerprint": proposal.fingerprint}
    await transaction.run(
        Q["put_fingerprint"],
        space=space,
        id=proposal.id,
        profile=profile,
        normalised=words,
        fingerprint=key,
        payload=json.dumps(payload),
    )
    return True


async def _suggest(desk: Desk, transaction: Transaction, proposal: Proposal, twin: UUID) -> None:
    low, high = sorted((proposal.id, twin))
    await transaction.run(
        Q["put_pair"],
        space=proposal.space_id,
        id=desk.new_id(),
        a=low,
        b=high,
        relation="same",
        similarity=1.0,
        embedder="fingerprint",
        words="",
        judgement=json.dumps({"why": COLLIDES, "confidence": 1.0, "judge": "fingerprint"}),
        at=desk.clock(),
    )
