"""How is a proposal brought up to date with what it would touch?

Its payload and the versions of its targets are made anew from what stands now, and its version rises: whoever decides
looks at it once more.
"""

from dataclasses import replace
from uuid import UUID

from festinger.errors import AlreadyDecided, Outdated
from festinger.ids import SpaceId
from festinger.proposals.deciding import OPEN
from festinger.proposals.effects import Deed, Look, effect_for
from festinger.proposals.family import held
from festinger.proposals.moving import reword
from festinger.proposals.office import Office
from festinger.proposals.proposal import Proposal
from festinger.store.queries import queries_of

Q = queries_of("festinger.proposals")


async def rebuild(office: Office, space: SpaceId, proposal: UUID, *, by: str) -> Proposal:
    """Make an open proposal anew from what stands. Raises `NotFound`, `AlreadyDecided`, `Outdated`."""
    async with office.desk.store.transaction() as transaction:
        found = await held(transaction, space, proposal)
        if found.state not in OPEN:
            raise AlreadyDecided(f"This proposal is {found.state.value} already.", state=found.state.value)
        deed = Deed(transaction=transaction, space=space, proposal=found, by=by)
        look = await effect_for(office.effects, found.type).look(deed)
        if look.gone or look.is_done:
            raise Outdated(
                "Nothing is left from which this could be made anew.", gone=list(look.gone), changed=[]
            )
        payload = dict(found.payload) | dict(look.payload)
        return await reword(transaction, replace(found, payload=payload, target=dict(look.versions)))


async def what_it_would_do(office: Office, space: SpaceId, proposal: Proposal) -> Look:
    """What an approval would find and do now, for the person who looks at the card."""
    async with office.desk.store.transaction() as transaction:
        deed = Deed(transaction=transaction, space=space, proposal=proposal, by="nobody")
        return await effect_for(office.effects, proposal.type).look(deed)
