"""Records verdicts and decides proposals; every channel ends here.

A verdict is stored before anything is done about it, with its author and whether that person may decide;
repeats are recognized, and unverified verdicts are kept, shown and never acted on. It is then carried out in
a transaction of its own: of several that wait for one proposal the most cautious counts and the others are
overtaken. A refusal is final. A verdict that failed because something was unavailable stays open and is
resumed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from festinger import errors
from festinger.errors import BadInput, EffectFailed, FestingerError, NotFound, Refused, Replayed, Unavailable
from festinger.ids import SpaceId
from festinger.observability.metrics import PROPOSALS_VERDICTS
from festinger.proposals.deps import Afterwards, ReviewDeps
from festinger.proposals.model import (
    DecideResult,
    Proposal,
    ProposalType,
    Verdict,
    VerdictInput,
    VerdictKind,
    VerdictResult,
    effect_of,
    find_proposal,
    lock_proposal,
    verdict_of,
)
from festinger.proposals.pairs import load_opposites
from festinger.proposals.sightings.fingerprint import to_storable_text
from festinger.proposals.sightings.recount import emit_proposal_event, event_subject
from festinger.proposals.verdicts.apply import ApplyVerdictResult, VerdictContext, apply_verdict
from festinger.proposals.verdicts.reviewers import build_not_authorised, find_or_enroll_reviewer
from festinger.proposals.verdicts.rules import (
    MOST_AT_ONCE,
    refuse_batch_approval,
    require_decidable,
    require_opposites_seen,
    require_valid_verdict_fields,
    result_for_error,
    select_verdict,
)
from festinger.records import record_json
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.text.secrets import remove_secrets
from festinger.world.write import lock_world

Q = load_queries("festinger.proposals")

MOST_VERDICTS = 50
REFUSAL = "refusal"
"""Field in which a verdict keeps why it was not carried out."""


async def record_verdict(review: ReviewDeps, space: SpaceId, verdict_input: VerdictInput) -> Verdict:
    """Store a verdict. Raises `NotFound`, `Replayed`, and `NotAuthorised` if the author may not decide."""
    async with review.deps.store.transaction() as transaction:
        proposal = await find_proposal(transaction, space, verdict_input.proposal)
        await transaction.run(Q["lock_message"], space=space, channel=verdict_input.channel, ref=verdict_input.ref)
        before = await _find_repeated_verdict(transaction, space, verdict_input)
        verdict = before or await _save_verdict(review, transaction, space, verdict_input, proposal)
    if not verdict.verified:
        raise build_not_authorised(verdict_input.author)
    return verdict


async def find_verdict(transaction: Transaction, space: SpaceId, id_: UUID) -> Verdict:
    missing = NotFound(f"There is no verdict `{id_}`.")
    return verdict_of(await transaction.one(Q["find_verdict"], missing, space=space, id=id_))


async def load_verdict_of_event(transaction: Transaction, space: SpaceId, payload: Mapping[str, Any]) -> Verdict | None:
    """Return the verdict that an event reports as decided; None if it no longer exists."""
    rows = await transaction.all(Q["verdicts_of"], space=space, proposal=UUID(payload["proposal"]), limit=MOST_VERDICTS)
    found = map(verdict_of, rows)
    return next((each for each in found if each.kind == payload["verdict"] and each.verified), None)


async def close_verdict(
    review: ReviewDeps,
    transaction: Transaction,
    space: SpaceId,
    verdict: Verdict,
    *,
    result: str,
    error: FestingerError | None = None,
) -> None:
    kept = {}
    if error:
        said = {"message": error.message, "hint": error.hint, "details": error.details}
        kept[REFUSAL] = {"error": type(error).__name__, **said}
    await transaction.run(
        Q["close_verdict"],
        space=space,
        id=verdict.id,
        result=result,
        fields=json.dumps(dict(verdict.fields) | kept, default=str),
        at=review.deps.clock(),
    )


def rebuild_refusal_error(verdict: Verdict) -> FestingerError | None:
    kept = verdict.fields.get(REFUSAL)
    if kept is None:
        return None
    error: type[FestingerError] = getattr(errors, kept["error"], Refused)
    return error(kept["message"], hint=kept["hint"], **kept["details"])


async def _find_repeated_verdict(
    transaction: Transaction, space: SpaceId, verdict_input: VerdictInput
) -> Verdict | None:
    row = await transaction.maybe(
        Q["verdict_of_message"], space=space, channel=verdict_input.channel, ref=verdict_input.ref
    )
    if row is None:
        return None
    before = verdict_of(row)
    kept = {name: value for name, value in before.fields.items() if name != REFUSAL}
    same_fields = kept == json.loads(json.dumps(verdict_input.fields))
    if (before.proposal_id, before.kind) != (verdict_input.proposal, verdict_input.kind) or not same_fields:
        raise Replayed("This message came before with another verdict.", hint="Give it a reference of its own.")
    return before


async def _save_verdict(
    review: ReviewDeps, transaction: Transaction, space: SpaceId, verdict_input: VerdictInput, proposal: Proposal
) -> Verdict:
    reviewer = await find_or_enroll_reviewer(review.deps, transaction, space, verdict_input.author)
    now = review.deps.clock()
    row = await transaction.one(
        Q["add_verdict"],
        space=space,
        id=review.deps.new_id(),
        proposal=verdict_input.proposal,
        kind=verdict_input.kind,
        author=reviewer.name if reviewer else to_storable_text(verdict_input.author.name)[:200] or "nobody",
        verified=reviewer is not None,
        channel=verdict_input.channel,
        ref=verdict_input.ref,
        note=to_storable_text(remove_secrets(verdict_input.note)),
        fields=json.dumps(verdict_input.fields),
        at=now,
        processed_at=None if reviewer else now,
        result=None if reviewer else VerdictResult.UNVERIFIED,
    )
    verdict = verdict_of(row)
    await emit_proposal_event(
        review.deps,
        transaction,
        "verdict_received",
        proposal,
        verdict=verdict.kind.value,
        author=verdict.author,
        verified=verdict.verified,
        channel=verdict.channel,
    )
    return verdict


LEFT_ALONE = timedelta(minutes=1)
"""After this time nobody is working on a verdict anymore, and the job takes it up."""


async def decide(review: ReviewDeps, space: SpaceId, verdict_input: VerdictInput) -> DecideResult:
    """Store a verdict and carry it out; a repeat gives the same answer and does nothing.

    Raises `NotFound`, `NotAuthorised`, `Replayed`, `BadInput`, `AlreadyDecided`, `Stale`, `Outdated`,
    `TooDeep`, `Unseen`, `NotProposable`, `EffectFailed`, `Unavailable`.
    """
    verdict = await record_verdict(review, space, verdict_input)
    if verdict.processed_at is not None:
        return await _load_decision(review, space, verdict.id, again=True)
    await apply_pending_verdicts(review, space, verdict_input.proposal)
    return await _load_decision(review, space, verdict.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchVerdictResult:
    proposal: UUID
    result: str
    detail: str = ""

    def as_json(self) -> dict[str, Any]:
        return record_json(self, proposal="id")


async def decide_many(review: ReviewDeps, space: SpaceId, many: Sequence[VerdictInput]) -> list[BatchVerdictResult]:
    """Decide many at once, each by itself. Raises `OneByOne` for approvals that change behavior."""
    if not 1 <= len(many) <= MOST_AT_ONCE:
        raise BadInput(f"1 to {MOST_AT_ONCE} proposals can be decided at once.")
    approved = [each.proposal for each in many if each.kind is VerdictKind.APPROVE]
    rows = await review.deps.store.all(Q["types_of"], space=space, ids=approved)
    refuse_batch_approval(ProposalType(row["type"]) for row in rows)
    return [await _decide_one(review, space, each) for each in many]


async def _decide_one(review: ReviewDeps, space: SpaceId, verdict_input: VerdictInput) -> BatchVerdictResult:
    try:
        done = await decide(review, space, verdict_input)
    except FestingerError as error:
        called = {VerdictResult.STALE: "stale", VerdictResult.ALREADY: "already"}.get(result_for_error(error), "failed")
        return BatchVerdictResult(proposal=verdict_input.proposal, result=called, detail=error.message)
    return BatchVerdictResult(proposal=verdict_input.proposal, result=done.result)


async def apply_pending_verdicts(review: ReviewDeps, space: SpaceId, proposal: UUID) -> None:
    """Carry out the verdicts that wait for a proposal until none is left; each refusal is saved."""
    while True:
        chosen: Verdict | None = None
        try:
            async with review.deps.store.transaction(patient=True) as transaction:
                # An approval may reach into any package: whoever applies one locks the world first.
                await lock_world(transaction, space)
                chosen = await _choose_verdict(transaction, space, proposal)
                if chosen is None:
                    return
                afterwards = await _apply_and_close_verdict(review, transaction, space, chosen)
        except Unavailable:
            raise
        except FestingerError as error:
            if chosen is None:
                raise
            await _save_refusal(review, space, chosen, error)
            continue
        await afterwards()
        return


async def resume_pending_verdicts(review: ReviewDeps, space: SpaceId) -> int:
    """Carry out verdicts that a dead process left open; return how many proposals had some."""
    before = review.deps.clock() - LEFT_ALONE
    rows = await review.deps.store.all(Q["unanswered"], space=space, before=before)
    for row in rows:
        await apply_pending_verdicts(review, space, row["proposal_id"])
    return len(rows)


async def _choose_verdict(transaction: Transaction, space: SpaceId, proposal: UUID) -> Verdict | None:
    """Lock the proposal and return the verdict that counts among those waiting."""
    await lock_proposal(transaction, space, proposal)
    waiting = [verdict_of(row) for row in await transaction.all(Q["waiting_verdicts"], space=space, proposal=proposal)]
    return select_verdict(waiting) if waiting else None


async def _apply_and_close_verdict(
    review: ReviewDeps, transaction: Transaction, space: SpaceId, verdict: Verdict
) -> Afterwards:
    proposal = await lock_proposal(transaction, space, verdict.proposal_id)
    require_valid_verdict_fields(verdict, proposal)
    require_decidable(proposal, verdict, review.deps.terms(space))
    require_opposites_seen(verdict, await load_opposites(transaction, space, proposal.id))
    hearing = VerdictContext(review=review, transaction=transaction, space=space, proposal=proposal, verdict=verdict)
    carried: ApplyVerdictResult = await apply_verdict(hearing)
    await close_verdict(review, transaction, space, verdict, result=carried.result)
    await transaction.run(
        Q["overtake"], space=space, proposal=proposal.id, result=VerdictResult.OVERTAKEN, at=review.deps.clock()
    )
    PROPOSALS_VERDICTS.labels(verdict.kind).inc()
    return carried.afterwards


async def _save_refusal(review: ReviewDeps, space: SpaceId, verdict: Verdict, error: FestingerError) -> None:
    """Save why a verdict was not carried out. The proposal stays as it was."""
    failed = isinstance(error, EffectFailed)
    async with review.deps.store.transaction() as transaction:
        result = VerdictResult.FAILED if failed else result_for_error(error)
        await close_verdict(review, transaction, space, verdict, result=result, error=error)
        if failed:
            await review.deps.outbox.emit(
                transaction,
                "proposal_apply_failed",
                space=space,
                subject=event_subject(verdict.proposal_id),
                payload={"proposal": str(verdict.proposal_id), "reason": error.message[:200]},
            )


async def _load_decision(review: ReviewDeps, space: SpaceId, id_: UUID, *, again: bool = False) -> DecideResult:
    """Load the saved result of a verdict; a refusal is raised, each time."""
    async with review.deps.store.transaction() as transaction:
        verdict = await find_verdict(transaction, space, id_)
        if (error := rebuild_refusal_error(verdict)) is not None:
            raise error
        proposal = await find_proposal(transaction, space, verdict.proposal_id)
        effect = None
        if verdict.result == VerdictResult.APPLIED:
            effect = await transaction.maybe(Q["effects_of"], space=space, proposal=verdict.proposal_id, limit=1)
    return DecideResult(
        proposal=proposal,
        verdict=verdict,
        result=verdict.result or "",
        effect=effect_of(effect) if effect else None,
        again=again,
    )
