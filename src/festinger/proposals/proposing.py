"""How does a person propose something?

A person's word needs no hysteresis: what a person proposes is before a person at once. It still needs its verdict,
which may come with the same call. What was rejected and is silent stays so until somebody reopens it.
"""

from dataclasses import dataclass, replace

from festinger.clock import iso
from festinger.errors import ProposalRefused, Refused
from festinger.ids import SpaceId
from festinger.observability.metrics import PROPOSALS_PROMOTED
from festinger.proposals.decide import decide
from festinger.proposals.effects import Deed, effect_for
from festinger.proposals.family import held
from festinger.proposals.moving import reword, save
from festinger.proposals.office import Office
from festinger.proposals.promote import tell_promoted
from festinger.proposals.proposal import Proposal, State
from festinger.proposals.reviewers import need_verified
from festinger.proposals.sight import sight_in
from festinger.proposals.sighting import PERSON, Result, Sighted, Suggestion
from festinger.proposals.verdict import Author, Channel, Decided, Kind, Said
from festinger.store.pool import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    proposal: Proposal
    sighted: Sighted
    decided: Decided | None = None


async def propose(
    office: Office,
    space: SpaceId,
    suggestion: Suggestion,
    *,
    author: Author,
    channel: Channel,
    approve: bool = False,
) -> Proposed:
    """Put a person's own proposal before a person, and decide it with the same call if so asked.

    Raises `NotAuthorised`, `BadInput`, `NotProposable`, `ProposalRefused`, `Refused`, and with `approve` what
    `decide` raises.
    """
    reviewer = await need_verified(office.desk, space, author)
    effect_for(office.effects, suggestion.type).check(suggestion.payload)
    said = replace(suggestion, producer=PERSON)
    async with office.desk.store.transaction() as transaction:
        sighted = await sight_in(office.desk, transaction, space, said)
        if sighted.proposal is not None:
            proposal = await _promoted(office, transaction, space, sighted, said, by=reviewer.name)
    if sighted.proposal is None:
        raise ProposalRefused(f"This is no proposal: {sighted.reason}.", reason=sighted.reason)
    if not approve:
        return Proposed(proposal=proposal, sighted=sighted)
    verdict = Said(
        proposal=proposal.id,
        kind=Kind.APPROVE,
        author=author,
        channel=channel,
        ref=f"propose {said.source}"[:200],
    )
    decided = await decide(office, space, verdict)
    return Proposed(proposal=decided.proposal, sighted=sighted, decided=decided)


async def _promoted(
    office: Office, transaction: Transaction, space: SpaceId, sighted: Sighted, said: Suggestion, *, by: str
) -> Proposal:
    """The proposal, before a person; one that is there already stays where it is."""
    assert sighted.proposal is not None
    found = await held(transaction, space, sighted.proposal)
    if sighted.result is Result.SUPPRESSED:
        until = iso(found.suppressed_until) if found.suppressed_until else ""
        raise Refused(
            f"Somebody said no to this; it is silent until {until}.",
            hint="Reopen that proposal instead.",
            proposal=str(found.id),
        )
    if found.state is not State.WAITING:
        return found
    target = found.target or await _target(office, transaction, space, found, by=by)
    now = office.desk.clock()
    await reword(transaction, replace(found, target=target))
    moved = replace(found, state=State.PROMOTED, promoted_at=now, held=None, suppressed_until=None)
    kept = await save(transaction, moved)
    await tell_promoted(office.desk, transaction, kept, age_days=0)
    PROPOSALS_PROMOTED.inc()
    return kept


async def _target(
    office: Office, transaction: Transaction, space: SpaceId, proposal: Proposal, *, by: str
) -> dict[str, object]:
    """What the proposal would touch, as it is now."""
    deed = Deed(transaction=transaction, space=space, proposal=proposal, by=by)
    return dict((await effect_for(office.effects, proposal.type).look(deed)).versions)
