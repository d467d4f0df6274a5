"""How is a verdict carried out?

Within one transaction: the effect in the rooms that own what it touches, the row that says what was there before, the
state of the proposal, what came of the verdict, and the events. What fails takes all of it back.

How is a yes taken back?

What was there before is put back by the rooms that own it, in the transaction that writes down who undid it. What
later changes stand on stays, and they are named. Undoing twice is undoing once.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from festinger.errors import BadInput, EffectFailed, FestingerError, Refused, Stale, Unavailable, UndoBlocked
from festinger.ids import SpaceId
from festinger.observability.metrics import PROPOSALS_APPLIED, PROPOSALS_UNDONE
from festinger.proposals.deps import Office
from festinger.proposals.erase import aims_at_forgotten
from festinger.proposals.model import (
    Author,
    Effect,
    Kind,
    Proposal,
    Result,
    State,
    Verdict,
    effect_of,
    family_of,
    held,
    reword,
    root_of,
    save,
)
from festinger.proposals.producers import tell_if_muted
from festinger.proposals.sightings.recount import recount, subject_of
from festinger.proposals.verdicts.effects import Afterwards, Applied, Deed, effect_for, nothing_more
from festinger.proposals.verdicts.reevaluation import begin_again
from festinger.proposals.verdicts.reviewers import need_verified
from festinger.proposals.verdicts.rules import put_off_until, require_fresh, silence
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.world.write import hold

Q = queries_of("festinger.proposals")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearing:
    """One proposal, held, and the verdict on it that counts."""

    office: Office
    transaction: Transaction
    space: SpaceId
    proposal: Proposal
    verdict: Verdict

    async def save(self, **columns: Any) -> Proposal:
        """Write what a verdict changed of the proposal."""
        return await save(self.transaction, replace(self.proposal, **columns))

    async def tell(self, name: str, **payload: Any) -> None:
        await self.office.desk.outbox.emit(
            self.transaction,
            name,
            space=self.space,
            subject=subject_of(self.proposal.id),
            session=self.verdict.session,
            payload={"proposal": str(self.proposal.id), **payload},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What came of it, and what this process does once it is in force."""

    proposal: Proposal
    result: Result
    effect: Effect | None = None
    afterwards: Afterwards = nothing_more


async def carry_out(hearing: Hearing) -> Carried:
    """Do what the verdict says, and tell that it was decided."""
    carried = await _CARRIERS[hearing.verdict.kind](hearing)
    await hearing.tell("proposal_decided", verdict=hearing.verdict.kind, author=hearing.verdict.author)
    await tell_if_muted(
        hearing.office.desk, hearing.transaction, before=hearing.proposal, after=carried.proposal
    )
    return carried


async def _approve(hearing: Hearing) -> Carried:
    if aims_at_forgotten(hearing.proposal):
        return await _close_forgotten(hearing)
    office, now = hearing.office, hearing.office.desk.clock()
    meant = edited(hearing.proposal, hearing.verdict.fields.get("edits", {}))
    effect = effect_for(office.effects, meant.type)
    effect.check(meant.payload)
    deed = Deed(
        transaction=hearing.transaction, space=hearing.space, proposal=meant, by=hearing.verdict.author
    )
    look = await effect.look(deed)
    if look.is_forgotten:
        return await _close_forgotten(hearing)
    require_fresh(meant, look)
    applied = await _applied(effect.apply(deed))
    kept = await _keep_effect(hearing, applied)
    state = {"state": State.APPLIED, "decided_at": now, "deferred_until": None, "held": None}
    moved = await hearing.save(**state, suppressed_until=None)
    await hearing.tell("proposal_applied", type=moved.type, changes=list(applied.changes))
    PROPOSALS_APPLIED.labels(moved.type).inc()
    return Carried(proposal=moved, result=Result.APPLIED, effect=kept, afterwards=applied.afterwards)


async def _applied(doing: Awaitable[Applied]) -> Applied:
    try:
        return await doing
    except (Stale, Unavailable):
        raise
    except FestingerError as error:
        raise EffectFailed(
            f"This could not be carried out: {error.message}", hint=error.hint, reason=error.name
        ) from error


def edited(proposal: Proposal, edits: Mapping[str, Any]) -> Proposal:
    """The proposal as the person wants it. The row keeps what was proposed, the verdict what was made of it."""
    if not isinstance(edits.get("payload", {}), Mapping):
        raise BadInput("`payload` must be an object.")
    payload = dict(proposal.payload) | dict(edits.get("payload", {}))
    words = {name: edits[name] for name in ("what", "why", "how") if name in edits}
    if not all(isinstance(each, str) for each in words.values()):
        raise BadInput("`what`, `why` and `how` must be text.")
    return replace(proposal, **words, payload=payload)


async def _close_forgotten(hearing: Hearing) -> Carried:
    """What it would have touched was forgotten: nobody is asked any more, and nobody is silenced."""
    moved = await hearing.save(
        state=State.REJECTED, decided_at=hearing.office.desk.clock(), suppressed_until=None, held=None
    )
    return Carried(proposal=moved, result=Result.FORGOTTEN)


async def _keep_effect(hearing: Hearing, applied: Applied) -> Effect:
    row = await hearing.transaction.one(
        Q["add_effect"],
        space=hearing.space,
        id=hearing.office.desk.new_id(),
        proposal=hearing.proposal.id,
        type=hearing.proposal.type,
        before=json.dumps(dict(applied.before), default=str),
        after=json.dumps(dict(applied.after), default=str),
        changes=list(applied.changes),
        at=hearing.office.desk.clock(),
        by=hearing.verdict.author,
    )
    return effect_of(row)


async def _reject(hearing: Hearing) -> Carried:
    now, proposal = hearing.office.desk.clock(), hearing.proposal
    days = hearing.office.desk.terms(hearing.space).reject_suppress_days
    moved = await hearing.save(
        state=State.REJECTED,
        decided_at=now,
        suppressed_until=now + silence(proposal.rejections, days),
        rejections=proposal.rejections + 1,
        deferred_until=None,
        held=None,
    )
    return Carried(proposal=moved, result=Result.REJECTED)


async def _think_again(hearing: Hearing) -> Carried:
    moved = await begin_again(
        hearing.office, hearing.transaction, hearing.space, hearing.proposal, kind=hearing.verdict.kind
    )
    await reword(hearing.transaction, moved)
    kept = await save(hearing.transaction, moved)
    is_done = kept.state is State.PROMOTED
    return Carried(proposal=kept, result=Result.REEVALUATED if is_done else Result.DEEPENING)


async def _defer(hearing: Hearing) -> Carried:
    until = put_off_until(
        hearing.verdict.until,
        now=hearing.office.desk.clock(),
        terms=hearing.office.desk.terms(hearing.space),
    )
    moved = await hearing.save(state=State.DEFERRED, deferred_until=until)
    return Carried(proposal=moved, result=Result.DEFERRED)


async def _duplicate(hearing: Hearing) -> Carried:
    """Hand the causes to the proposal that stands for both."""
    transaction, space, desk = hearing.transaction, hearing.space, hearing.office.desk
    assert hearing.verdict.of is not None, "a verdict without it was refused"
    root = await root_of(transaction, space, await held(transaction, space, hearing.verdict.of))
    if root.id in await family_of(transaction, space, hearing.proposal.id):
        raise BadInput("That one is a duplicate of this one.", hint="Decide the other way round.")
    moved = await hearing.save(
        state=State.DUPLICATE,
        duplicate_of=root.id,
        decided_at=desk.clock(),
        deferred_until=None,
        held=None,
    )
    await recount(desk, transaction, space, root)
    return Carried(proposal=moved, result=Result.DUPLICATE)


async def _reopen(hearing: Hearing) -> Carried:
    """Put it before a person once more, whatever was decided."""
    desk, former = hearing.office.desk, hearing.proposal.duplicate_of
    moved = await hearing.save(
        state=State.PROMOTED,
        promoted_at=desk.clock(),
        duplicate_of=None,
        suppressed_until=None,
        deferred_until=None,
        decided_at=None,
    )
    if former is not None:
        root = await held(hearing.transaction, hearing.space, former)
        await recount(desk, hearing.transaction, hearing.space, root)
        moved = await recount(desk, hearing.transaction, hearing.space, moved)
    return Carried(proposal=moved, result=Result.REOPENED)


_CARRIERS: Mapping[Kind, Callable[[Hearing], Awaitable[Carried]]] = {
    Kind.APPROVE: _approve,
    Kind.REJECT: _reject,
    Kind.DEEPEN: _think_again,
    Kind.TOO_VAGUE: _think_again,
    Kind.DUPLICATE: _duplicate,
    Kind.DEFER: _defer,
    Kind.REOPEN: _reopen,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    proposal: Proposal
    effect: Effect
    again: bool = False
    """Whether it was undone before, so that nothing was done now."""

    def as_json(self) -> dict[str, Any]:
        return {
            "proposal": str(self.proposal.id),
            "state": self.proposal.state.value,
            "version": self.proposal.version,
            "effect": self.effect.as_json(),
        }


async def undo(office: Office, space: SpaceId, proposal: UUID, *, author: Author) -> Undone:
    """Take back what an approval did. Raises `NotFound`, `NotAuthorised`, `Refused`, `UndoBlocked`."""
    reviewer = await need_verified(office.desk, space, author)
    async with office.desk.store.transaction(patient=True) as transaction:
        await hold(transaction, space)
        undone, afterwards = await _undo_in(office, transaction, space, proposal, by=reviewer.name)
    await afterwards()
    return undone


async def _undo_in(
    office: Office, transaction: Transaction, space: SpaceId, id_: UUID, *, by: str
) -> tuple[Undone, Afterwards]:
    found = await held(transaction, space, id_)
    row = await transaction.maybe(Q["effect_of_proposal"], space=space, id=id_)
    if row is None or found.state not in (State.APPLIED, State.UNDONE):
        raise Refused("There is nothing of this that could be undone.", state=found.state.value)
    effect = effect_of(row)
    if found.state is State.UNDONE:
        return Undone(proposal=found, effect=effect, again=True), nothing_more
    deed = Deed(transaction=transaction, space=space, proposal=found, by=by)
    done = Applied(before=effect.before, after=effect.after, changes=effect.changes)
    afterwards = await effect_for(office.effects, effect.type).undo(deed, done)
    now = office.desk.clock()
    row = await transaction.one(Q["mark_effect_undone"], space=space, id=effect.id, at=now, by=by)
    moved = await save(transaction, replace(found, state=State.UNDONE))
    await office.desk.outbox.emit(
        transaction,
        "proposal_undone",
        space=space,
        subject=subject_of(id_),
        payload={"proposal": str(id_), "by": by[:200]},
    )
    await tell_if_muted(office.desk, transaction, before=found, after=moved)
    PROPOSALS_UNDONE.inc()
    return Undone(proposal=moved, effect=effect_of(row)), afterwards


def blocked(error: UndoBlocked) -> UndoBlocked:
    """The same refusal with what stands in the way, the newest first: in that order it can be undone."""
    later = error.details.get("changes", [])
    return UndoBlocked(error.message, hint=error.hint, **error.details | {"changes": list(reversed(later))})
