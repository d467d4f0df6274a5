"""Carries out verdicts and undoes approvals.

One transaction holds the effect in the package that owns its target, the record of what was there before, the
proposal's state, the verdict's result and the events; a failure rolls back all of it. Undoing restores what
was there before and records who did it. What later changes depend on stays, and they are named. Undoing twice
does nothing more.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from festinger.errors import BadInput, EffectFailed, FestingerError, Refused, Stale, Unavailable, UndoBlocked
from festinger.ids import SpaceId
from festinger.observability.metrics import PROPOSALS_APPLIED, PROPOSALS_UNDONE
from festinger.proposals.deps import Afterwards, EffectContext, EffectResult, ReviewDeps, effect_for, null_follow_up
from festinger.proposals.erase import is_target_forgotten
from festinger.proposals.model import (
    AppliedEffect,
    Author,
    Proposal,
    ProposalState,
    Verdict,
    VerdictKind,
    VerdictResult,
    effect_of,
    load_ids_with_duplicates,
    lock_duplicate_root,
    lock_proposal,
    save_state,
    save_wording,
)
from festinger.proposals.producers import emit_if_producer_muted
from festinger.proposals.sightings.recount import emit_proposal_event, recount
from festinger.proposals.verdicts.reevaluation import reevaluate_or_enqueue
from festinger.proposals.verdicts.reviewers import require_reviewer
from festinger.proposals.verdicts.rules import require_targets_unchanged, resolve_defer_until, suppression_period
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.world.write import lock_world

Q = load_queries("festinger.proposals")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictContext:
    """A locked proposal and the verdict that counts."""

    review: ReviewDeps
    transaction: Transaction
    space: SpaceId
    proposal: Proposal
    verdict: Verdict

    async def save(self, **columns: Any) -> Proposal:
        return await save_state(self.transaction, replace(self.proposal, **columns))

    async def tell(self, name: str, **payload: Any) -> None:
        session = self.verdict.session
        await emit_proposal_event(self.review.deps, self.transaction, name, self.proposal, session=session, **payload)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyVerdictResult:
    """The result, and what this process does after the commit."""

    proposal: Proposal
    result: VerdictResult
    effect: AppliedEffect | None = None
    afterwards: Afterwards = null_follow_up


async def apply_verdict(hearing: VerdictContext) -> ApplyVerdictResult:
    """Carry out the verdict and emit that it was decided."""
    carried = await _CARRIERS[hearing.verdict.kind](hearing)
    await hearing.tell("proposal_decided", verdict=hearing.verdict.kind, author=hearing.verdict.author)
    await emit_if_producer_muted(
        hearing.review.deps, hearing.transaction, before=hearing.proposal, after=carried.proposal
    )
    return carried


async def _approve(hearing: VerdictContext) -> ApplyVerdictResult:
    if is_target_forgotten(hearing.proposal):
        return await _close_forgotten(hearing)
    office, now = hearing.review, hearing.review.deps.clock()
    meant = apply_edits(hearing.proposal, hearing.verdict.fields.get("edits", {}))
    effect = effect_for(office.effects, meant.type)
    effect.check(meant.payload)
    operation = EffectContext(
        transaction=hearing.transaction, space=hearing.space, proposal=meant, by=hearing.verdict.author
    )
    look = await effect.look(operation)
    if look.is_forgotten:
        return await _close_forgotten(hearing)
    require_targets_unchanged(meant, look)
    applied = await _await_effect(effect.apply(operation))
    kept = await _save_effect(hearing, applied)
    state = {"state": ProposalState.APPLIED, "decided_at": now, "deferred_until": None, "held": None}
    moved = await hearing.save(**state, suppressed_until=None)
    await hearing.tell("proposal_applied", type=moved.type, changes=list(applied.changes))
    PROPOSALS_APPLIED.labels(moved.type).inc()
    return ApplyVerdictResult(proposal=moved, result=VerdictResult.APPLIED, effect=kept, afterwards=applied.afterwards)


async def _await_effect(doing: Awaitable[EffectResult]) -> EffectResult:
    try:
        return await doing
    except (Stale, Unavailable):
        raise
    except FestingerError as error:
        raise EffectFailed(
            f"This could not be carried out: {error.message}", hint=error.hint, reason=error.name
        ) from error


def apply_edits(proposal: Proposal, edits: Mapping[str, Any]) -> Proposal:
    """Return the proposal as edited. The row keeps what was proposed, the verdict the edits."""
    if not isinstance(edits.get("payload", {}), Mapping):
        raise BadInput("`payload` must be an object.")
    payload = dict(proposal.payload) | dict(edits.get("payload", {}))
    words = {name: edits[name] for name in ("what", "why", "how") if name in edits}
    if not all(isinstance(each, str) for each in words.values()):
        raise BadInput("`what`, `why` and `how` must be text.")
    return replace(proposal, **words, payload=payload)


async def _close_forgotten(hearing: VerdictContext) -> ApplyVerdictResult:
    """Close a proposal whose target was forgotten, without suppressing it."""
    moved = await hearing.save(
        state=ProposalState.REJECTED, decided_at=hearing.review.deps.clock(), suppressed_until=None, held=None
    )
    return ApplyVerdictResult(proposal=moved, result=VerdictResult.FORGOTTEN)


async def _save_effect(hearing: VerdictContext, applied: EffectResult) -> AppliedEffect:
    row = await hearing.transaction.one(
        Q["add_effect"],
        space=hearing.space,
        id=hearing.review.deps.new_id(),
        proposal=hearing.proposal.id,
        type=hearing.proposal.type,
        before=json.dumps(dict(applied.before), default=str),
        after=json.dumps(dict(applied.after), default=str),
        changes=list(applied.changes),
        at=hearing.review.deps.clock(),
        by=hearing.verdict.author,
    )
    return effect_of(row)


async def _reject(hearing: VerdictContext) -> ApplyVerdictResult:
    now, proposal = hearing.review.deps.clock(), hearing.proposal
    days = hearing.review.deps.terms(hearing.space).reject_suppress_days
    moved = await hearing.save(
        state=ProposalState.REJECTED,
        decided_at=now,
        suppressed_until=now + suppression_period(proposal.rejections, days),
        rejections=proposal.rejections + 1,
        deferred_until=None,
        held=None,
    )
    return ApplyVerdictResult(proposal=moved, result=VerdictResult.REJECTED)


async def _reevaluate(hearing: VerdictContext) -> ApplyVerdictResult:
    moved = await reevaluate_or_enqueue(
        hearing.review, hearing.transaction, hearing.space, hearing.proposal, kind=hearing.verdict.kind
    )
    await save_wording(hearing.transaction, moved)
    kept = await save_state(hearing.transaction, moved)
    is_done = kept.state is ProposalState.PROMOTED
    return ApplyVerdictResult(proposal=kept, result=VerdictResult.REEVALUATED if is_done else VerdictResult.DEEPENING)


async def _defer(hearing: VerdictContext) -> ApplyVerdictResult:
    until = resolve_defer_until(
        hearing.verdict.until, now=hearing.review.deps.clock(), terms=hearing.review.deps.terms(hearing.space)
    )
    moved = await hearing.save(state=ProposalState.DEFERRED, deferred_until=until)
    return ApplyVerdictResult(proposal=moved, result=VerdictResult.DEFERRED)


async def _mark_duplicate(hearing: VerdictContext) -> ApplyVerdictResult:
    """Hand the causes to the proposal that stands for both."""
    transaction, space, deps = hearing.transaction, hearing.space, hearing.review.deps
    assert hearing.verdict.of is not None, "a verdict without it was refused"
    root = await lock_duplicate_root(transaction, space, await lock_proposal(transaction, space, hearing.verdict.of))
    if root.id in await load_ids_with_duplicates(transaction, space, hearing.proposal.id):
        raise BadInput("That one is a duplicate of this one.", hint="Decide the other way round.")
    moved = await hearing.save(
        state=ProposalState.DUPLICATE, duplicate_of=root.id, decided_at=deps.clock(), deferred_until=None, held=None
    )
    await recount(deps, transaction, space, root)
    return ApplyVerdictResult(proposal=moved, result=VerdictResult.DUPLICATE)


async def _reopen(hearing: VerdictContext) -> ApplyVerdictResult:
    """Put it before a person again, whatever was decided."""
    deps, former = hearing.review.deps, hearing.proposal.duplicate_of
    moved = await hearing.save(
        state=ProposalState.PROMOTED,
        promoted_at=deps.clock(),
        duplicate_of=None,
        suppressed_until=None,
        deferred_until=None,
        decided_at=None,
    )
    if former is not None:
        root = await lock_proposal(hearing.transaction, hearing.space, former)
        await recount(deps, hearing.transaction, hearing.space, root)
        moved = await recount(deps, hearing.transaction, hearing.space, moved)
    return ApplyVerdictResult(proposal=moved, result=VerdictResult.REOPENED)


_CARRIERS: Mapping[VerdictKind, Callable[[VerdictContext], Awaitable[ApplyVerdictResult]]] = {
    VerdictKind.APPROVE: _approve,
    VerdictKind.REJECT: _reject,
    VerdictKind.DEEPEN: _reevaluate,
    VerdictKind.TOO_VAGUE: _reevaluate,
    VerdictKind.DUPLICATE: _mark_duplicate,
    VerdictKind.DEFER: _defer,
    VerdictKind.REOPEN: _reopen,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoApprovalResult:
    proposal: Proposal
    effect: AppliedEffect
    again: bool = False
    """Whether it was undone before, so that nothing was done now."""

    def as_json(self) -> dict[str, Any]:
        return {
            "proposal": str(self.proposal.id),
            "state": self.proposal.state.value,
            "version": self.proposal.version,
            "effect": self.effect.as_json(),
        }


async def undo_approval(review: ReviewDeps, space: SpaceId, proposal: UUID, *, author: Author) -> UndoApprovalResult:
    """Undo what an approval did. Raises `NotFound`, `NotAuthorised`, `Refused`, `UndoBlocked`."""
    reviewer = await require_reviewer(review.deps, space, author)
    async with review.deps.store.transaction(patient=True) as transaction:
        await lock_world(transaction, space)
        undone, afterwards = await _undo_in(review, transaction, space, proposal, by=reviewer.name)
    await afterwards()
    return undone


async def _undo_in(
    review: ReviewDeps, transaction: Transaction, space: SpaceId, id_: UUID, *, by: str
) -> tuple[UndoApprovalResult, Afterwards]:
    found = await lock_proposal(transaction, space, id_)
    row = await transaction.maybe(Q["effects_of"], space=space, proposal=id_, limit=1)
    if row is None or found.state not in (ProposalState.APPLIED, ProposalState.UNDONE):
        raise Refused("There is nothing of this that could be undone.", state=found.state.value)
    effect = effect_of(row)
    if found.state is ProposalState.UNDONE:
        return UndoApprovalResult(proposal=found, effect=effect, again=True), null_follow_up
    operation = EffectContext(transaction=transaction, space=space, proposal=found, by=by)
    done = EffectResult(before=effect.before, after=effect.after, changes=effect.changes)
    afterwards = await effect_for(review.effects, effect.type).undo(operation, done)
    now = review.deps.clock()
    row = await transaction.one(Q["mark_effect_undone"], space=space, id=effect.id, at=now, by=by)
    moved = await save_state(transaction, replace(found, state=ProposalState.UNDONE))
    await emit_proposal_event(review.deps, transaction, "proposal_undone", moved, by=by[:200])
    await emit_if_producer_muted(review.deps, transaction, before=found, after=moved)
    PROPOSALS_UNDONE.inc()
    return UndoApprovalResult(proposal=moved, effect=effect_of(row)), afterwards


def with_blockers_newest_first(error: UndoBlocked) -> UndoBlocked:
    """Return the error with the blocking changes newest first, the order in which they can be undone."""
    later = error.details.get("changes", [])
    return UndoBlocked(error.message, hint=error.hint, **error.details | {"changes": list(reversed(later))})
