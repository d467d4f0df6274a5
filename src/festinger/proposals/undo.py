"""How is a yes taken back?

What was there before is put back by the rooms that own it, in the transaction that writes down who undid it. What
later changes stand on stays, and they are named. Undoing twice is undoing once.
"""

from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from festinger.errors import Refused, UndoBlocked
from festinger.ids import SpaceId
from festinger.observability.metrics import PROPOSALS_UNDONE
from festinger.proposals.effects import Afterwards, Applied, Deed, effect_for, nothing_more
from festinger.proposals.family import held
from festinger.proposals.keeping import subject_of
from festinger.proposals.moving import save
from festinger.proposals.office import Office
from festinger.proposals.proposal import Proposal, State
from festinger.proposals.reviewers import need_verified
from festinger.proposals.value import tell_if_muted
from festinger.proposals.verdict import Author, Effect, effect_of
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.world.write import hold

Q = queries_of("festinger.proposals")


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
