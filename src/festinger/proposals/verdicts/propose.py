"""Lets a person propose a change and brings a proposal up to date with its targets.

A person's proposal skips the gate and is promoted at once. It still needs a verdict, which may come with the
same call. A rejected, suppressed one stays so until a person reopens it. Rebuilding takes the payload and
target versions from the present state and raises the version, so that the person deciding looks again.
"""

from dataclasses import dataclass, replace
from uuid import UUID

from festinger.clock import iso
from festinger.errors import AlreadyDecided, Outdated, ProposalRefused, Refused
from festinger.ids import SpaceId
from festinger.observability.metrics import PROPOSALS_PROMOTED
from festinger.proposals.deps import EffectContext, EffectPreview, ReviewDeps, effect_for
from festinger.proposals.model import (
    Author,
    DecideResult,
    Proposal,
    ProposalState,
    ReviewChannel,
    VerdictInput,
    VerdictKind,
    lock_proposal,
    save_state,
    save_wording,
)
from festinger.proposals.promotion import emit_promoted
from festinger.proposals.sightings.intake import record_sighting_in_transaction
from festinger.proposals.sightings.recount import PERSON, SightingResult, SightingStatus, Suggestion
from festinger.proposals.verdicts.decide import decide
from festinger.proposals.verdicts.reviewers import require_reviewer
from festinger.proposals.verdicts.rules import OPEN
from festinger.store.pool import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposeResult:
    proposal: Proposal
    sighted: SightingResult
    decided: DecideResult | None = None


async def propose(
    review: ReviewDeps,
    space: SpaceId,
    suggestion: Suggestion,
    *,
    author: Author,
    channel: ReviewChannel,
    approve: bool = False,
) -> ProposeResult:
    """Promote a person's own proposal, and with `approve` decide it in the same call.

    Raises `NotAuthorised`, `BadInput`, `NotProposable`, `ProposalRefused`, `Refused`, and with `approve` what
    `decide` raises.
    """
    reviewer = await require_reviewer(review.deps, space, author)
    effect_for(review.effects, suggestion.type).check(suggestion.payload)
    own = replace(suggestion, producer=PERSON)
    async with review.deps.store.transaction() as transaction:
        sighted = await record_sighting_in_transaction(review.deps, transaction, space, own)
        if sighted.proposal is not None:
            proposal = await _promote_if_waiting(review, transaction, space, sighted, own, by=reviewer.name)
    if sighted.proposal is None:
        raise ProposalRefused(f"This is no proposal: {sighted.reason}.", reason=sighted.reason)
    if not approve:
        return ProposeResult(proposal=proposal, sighted=sighted)
    verdict = VerdictInput(
        proposal=proposal.id,
        kind=VerdictKind.APPROVE,
        author=author,
        channel=channel,
        ref=f"propose {own.source}"[:200],
    )
    decided = await decide(review, space, verdict)
    return ProposeResult(proposal=decided.proposal, sighted=sighted, decided=decided)


async def _promote_if_waiting(
    review: ReviewDeps,
    transaction: Transaction,
    space: SpaceId,
    sighted: SightingResult,
    suggestion: Suggestion,
    *,
    by: str,
) -> Proposal:
    """Promote the sighted proposal; one that is past waiting stays as it is."""
    assert sighted.proposal is not None
    found = await lock_proposal(transaction, space, sighted.proposal)
    if sighted.result is SightingStatus.SUPPRESSED:
        until = iso(found.suppressed_until) if found.suppressed_until else ""
        raise Refused(
            f"Somebody said no to this; it is silent until {until}.",
            hint="Reopen that proposal instead.",
            proposal=str(found.id),
        )
    if found.state is not ProposalState.WAITING:
        return found
    target = found.target or (await _look(review, transaction, space, found, by=by)).versions
    now = review.deps.clock()
    await save_wording(transaction, replace(found, target=target))
    moved = replace(found, state=ProposalState.PROMOTED, promoted_at=now, held=None, suppressed_until=None)
    kept = await save_state(transaction, moved)
    await emit_promoted(review.deps, transaction, kept, age_days=0)
    PROPOSALS_PROMOTED.inc()
    return kept


async def _look(
    review: ReviewDeps, transaction: Transaction, space: SpaceId, proposal: Proposal, *, by: str
) -> EffectPreview:
    """Preview what the proposal would touch, as it is now."""
    operation = EffectContext(transaction=transaction, space=space, proposal=proposal, by=by)
    return await effect_for(review.effects, proposal.type).look(operation)


async def rebuild_proposal(review: ReviewDeps, space: SpaceId, proposal: UUID, *, by: str) -> Proposal:
    """Rebuild an open proposal from the present state. Raises `NotFound`, `AlreadyDecided`, `Outdated`."""
    async with review.deps.store.transaction() as transaction:
        found = await lock_proposal(transaction, space, proposal)
        if found.state not in OPEN:
            raise AlreadyDecided(f"This proposal is {found.state.value} already.", state=found.state.value)
        look = await _look(review, transaction, space, found, by=by)
        if look.gone or look.is_done:
            raise Outdated("Nothing is left from which this could be made anew.", gone=list(look.gone), changed=[])
        payload = dict(found.payload) | dict(look.payload)
        return await save_wording(transaction, replace(found, payload=payload, target=dict(look.versions)))


async def preview_effect(review: ReviewDeps, space: SpaceId, proposal: Proposal) -> EffectPreview:
    """Preview what an approval would do now, for the person who looks at the card."""
    async with review.deps.store.transaction() as transaction:
        return await _look(review, transaction, space, proposal, by="nobody")
