"""What becomes of a question that only a person can answer?

Two statements of which no judge was sure wait for somebody's word. The word is kept over everything that was said of
the pair before, and does what it would have done had a judge said it at learning: the same decision, in one
transaction, with its change written down.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from festinger.errors import BadInput, Stale
from festinger.ids import MemoryId, SpaceId
from festinger.judge.model import PERSON, Current, Judgement, Opinion, Record, Relation, by_person
from festinger.memory.desk import Desk
from festinger.memory.holding import hold_owners
from festinger.memory.kinds import Status
from festinger.memory.late import Followed, compared_with, follow
from festinger.memory.pairs import pair_between
from festinger.memory.states import find_all
from festinger.store.pool import Transaction

ANSWERS = {
    "same": (Relation.SAME, Current.BOTH),
    "update": (Relation.UPDATE, Current.NEW),
    "contradicts": (Relation.CONTRADICTS, Current.BOTH),
    "refines": (Relation.REFINES, Current.BOTH),
    "both": (Relation.UNRELATED, Current.BOTH),
}
"""What a person may say of two statements; `both` is that both hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a person said, where it is kept, and what came of it."""

    judgement: UUID
    followed: Followed

    def as_json(self) -> dict[str, Any]:
        done = self.followed
        return {
            "judgement": str(self.judgement),
            "action": done.action.value,
            "memory": done.memory.as_json(),
            "superseded": [str(each) for each in done.superseded],
            "conflict": str(done.conflict) if done.conflict else None,
            "change": str(done.change) if done.change else None,
        }


def answer_of(given: str, *, by: str, note: str = "") -> Judgement:
    """A person's word as a judgement; an answer that there is not is refused with those that there are."""
    if given not in ANSWERS:
        listed = ", ".join(f"`{each}`" for each in ANSWERS)
        raise BadInput(f"`{given[:40]}` answers nothing.", hint=f"Say {listed}.")
    relation, current = ANSWERS[given]
    reasoning = note or f"Answered: {given}."
    return by_person(by.removeprefix(PERSON), relation, current=current, reasoning=reasoning)


async def answer(desk: Desk, space: SpaceId, asked: Record, said: Judgement, *, by: str) -> Answered:
    """Keep a person's word on a pair, and do what follows. A pair that is no longer as it was is `Stale`."""
    async with desk.store.transaction() as transaction:
        return await _answer(desk, transaction, space, asked, said, by=by)


async def _answer(
    desk: Desk, transaction: Transaction, space: SpaceId, asked: Record, said: Judgement, *, by: str
) -> Answered:
    found = await find_all(transaction, space, [asked.old_ref, asked.new_ref])
    old, new = found.get(MemoryId(asked.old_ref)), found.get(MemoryId(asked.new_ref))
    if old is None or new is None or new.status is not Status.ACTIVE or not old.is_live:
        raise Stale(
            "One of the two statements has changed since this was asked.",
            hint="Undo what was done to it first, or leave it as it is.",
        )
    await hold_owners(transaction, space, [new.agent_id])
    pair = pair_between(old, new)
    kept = await desk.panel.overrule(transaction, space, pair, said)
    compared = compared_with(old, Opinion(pair=pair, judgement=said))
    followed = await follow(desk, transaction, new, [compared], by=by, kept={old.id: kept})
    return Answered(judgement=kept, followed=followed)
