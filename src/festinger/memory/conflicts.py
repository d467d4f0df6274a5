"""What does a decision about two memories do, and how is it taken back?

Carried out within the transaction that closes the conflict: the old one is replaced, the new one put away, both are
one, both stand, neither does, or both are said anew more clearly. The changes are named in what is kept of the
decision, so that undoing it undoes them.

What becomes of a question that only a person can answer?

Two statements of which no judge was sure wait for somebody's word. The word is kept over everything that was said of
the pair before, and does what it would have done had a judge said it at learning: the same decision, in one
transaction, with its change written down.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from festinger.errors import BadDecision, BadInput, Stale
from festinger.ids import MemoryId, SpaceId
from festinger.judge.model import PERSON, Current, Judgement, Opinion, Record, Relation, by_person
from festinger.memory.changes import (
    Effect,
    Link,
    Note,
    Op,
    difference,
    find_all,
    join,
    lock,
    lock_one,
    part,
    restate,
    weigh,
    write_change,
)
from festinger.memory.deps import Desk
from festinger.memory.edit import RECHECK, archive_in, say_anew
from festinger.memory.late_judgements import Followed, compared_with, follow, pair_between
from festinger.memory.learn.supersede import merge_into, supersede_all, survivor
from festinger.memory.learn.write import hold_owners
from festinger.memory.model import Memory, Status
from festinger.memory.undo import undo_in
from festinger.store.pool import Transaction
from festinger.world.conflicts import Conflict
from festinger.world.decisions import Judge, Verdict

DECISIONS = ("update", "dismiss", "same", "both", "neither", "split")

RELATIONS = {
    "update": (Relation.UPDATE, Current.NEW),
    "dismiss": (Relation.CONTRADICTS, Current.OLD),
    "same": (Relation.SAME, Current.BOTH),
    "both": (Relation.UNRELATED, Current.BOTH),
}
"""What a decision says of the pair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What a decision did: its changes, and what was said anew."""

    changes: tuple[UUID, ...] = ()
    parts: tuple[MemoryId, ...] = ()


async def settle(
    desk: Desk, transaction: Transaction, space: SpaceId, *, conflict: Conflict, verdict: Verdict
) -> dict[str, Any]:
    """Carry out a verdict on two memories; what is kept of it. Rows that changed since are `Stale`."""
    if verdict.decision not in DECISIONS:
        listed = ", ".join(f"`{each}`" for each in DECISIONS)
        raise BadDecision(f"`{verdict.decision[:40]}` decides nothing about memories.", hint=f"Say {listed}.")
    if verdict.decision == "split":
        await _hold_owners(transaction, space, conflict)
    old, new = await _pair(transaction, space, conflict)
    before = [_shown(old), _shown(new)]
    await _keep_word(desk, transaction, space, old=old, new=new, verdict=verdict)
    done = await _DEEDS[verdict.decision](desk, transaction, old, new, verdict)
    await part(transaction, space, new.id, Link.CONTRADICTS, to=[old.id], at=desk.clock())
    lifted = await _lift(desk, transaction, space, [old.id, new.id], verdict)
    after = list((await lock(transaction, space, [old.id, new.id])).values())
    return {
        "before": before,
        "after": [_shown(memory) for memory in after],
        "changes": [str(change) for change in (*done.changes, *lifted)],
        "parts": [str(each) for each in done.parts],
    }


async def unsettle(
    desk: Desk, transaction: Transaction, space: SpaceId, *, conflict: Conflict, by: str
) -> None:
    """Take back what a decision did, the last change first; the two stand against each other again."""
    resolution: Mapping[str, Any] = conflict.resolution or {}
    for part_id in resolution.get("parts", []):
        told = await lock_one(transaction, space, UUID(part_id))
        if told.is_live:
            await archive_in(desk, transaction, told, by=by, reason="the split was undone")
    for change in reversed(resolution.get("changes", [])):
        await undo_in(desk, transaction, space, UUID(change), by=by)
    assert conflict.new_memory is not None, "a conflict of memories names both"
    assert conflict.old_memory is not None, "a conflict of memories names both"
    await join(
        transaction,
        space,
        conflict.new_memory,
        Link.CONTRADICTS,
        to=[conflict.old_memory],
        at=desk.clock(),
    )


async def _hold_owners(transaction: Transaction, space: SpaceId, conflict: Conflict) -> None:
    """Wait for whoever stores memories, before the two are locked: what is said anew is stored."""
    found = await find_all(transaction, space, filter(None, [conflict.old_memory, conflict.new_memory]))
    await hold_owners(transaction, space, [memory.agent_id for memory in found.values()])


async def _pair(transaction: Transaction, space: SpaceId, conflict: Conflict) -> tuple[Memory, Memory]:
    assert conflict.old_memory is not None, "a conflict of memories names both"
    assert conflict.new_memory is not None, "a conflict of memories names both"
    found = await lock(transaction, space, [conflict.old_memory, conflict.new_memory])
    old, new = found[MemoryId(conflict.old_memory)], found[MemoryId(conflict.new_memory)]
    if old.status is not Status.ACTIVE or new.status is not Status.HELD:
        raise Stale(
            "One of the two has changed since this conflict was opened.",
            old=old.status.value,
            new=new.status.value,
        )
    return old, new


async def _keep_word(
    desk: Desk, transaction: Transaction, space: SpaceId, *, old: Memory, new: Memory, verdict: Verdict
) -> None:
    """A person's decision is a judgement that nobody asks about again."""
    if verdict.judge is Judge.PERSON and verdict.decision in RELATIONS:
        relation, current = RELATIONS[verdict.decision]
        reasoning = verdict.reasoning or f"Decided: {verdict.decision}."
        said: Judgement = by_person(verdict.by, relation, current=current, reasoning=reasoning)
        await desk.panel.overrule(transaction, space, pair_between(old, new), said)


async def _lift(
    desk: Desk, transaction: Transaction, space: SpaceId, memories: Sequence[MemoryId], verdict: Verdict
) -> list[UUID]:
    """Take the ceilings from what stands by a person's decision: they said that it holds, so it may be held again."""
    if verdict.judge is not Judge.PERSON:
        return []
    found = await lock(transaction, space, memories)
    pressed = [
        each
        for each in found.values()
        if each.status is Status.ACTIVE
        and (each.belief.confidence_ceiling is not None or each.belief.weight_ceiling is not None)
    ]
    for each in pressed:
        await desk.outbox.emit(
            transaction,
            "ceiling_cleared",
            space=space,
            subject=f"memory:{each.id}",
            payload={"memory": str(each.id), "by": verdict.by[:120]},
        )
    return [
        await weigh(
            desk,
            transaction,
            space,
            Effect(memory=each.id, belief=replace(each.belief, confidence_ceiling=None, weight_ceiling=None)),
            by=verdict.by,
            reason="settled by a person",
        )
        for each in pressed
    ]


async def _stand(
    desk: Desk, transaction: Transaction, memory: Memory, verdict: Verdict
) -> tuple[Memory, UUID]:
    """Let what was held stand; what else it means is looked at afterwards."""
    now = await restate(transaction, memory, at=desk.clock(), status=Status.ACTIVE)
    before, after = difference(memory, now)
    note = Note(
        op=Op.RELEASE,
        before={memory.id: before},
        after={memory.id: after},
        by=verdict.by,
        reason=verdict.decision,
    )
    change = await write_change(desk, transaction, memory.space_id, note)
    await desk.ask(transaction, RECHECK, space=memory.space_id, memory=str(memory.id))
    return now, change


async def _update(
    desk: Desk, transaction: Transaction, old: Memory, new: Memory, verdict: Verdict
) -> Settled:
    standing, released = await _stand(desk, transaction, new, verdict)
    _, change = await supersede_all(
        desk, transaction, standing, [old], by=verdict.by, reason=verdict.reasoning or "decided"
    )
    return Settled(changes=(released, change))


async def _dismiss(
    desk: Desk, transaction: Transaction, old: Memory, new: Memory, verdict: Verdict
) -> Settled:
    done = await archive_in(desk, transaction, new, by=verdict.by, reason="dismissed")
    return Settled(changes=(done.change,) if done.change else ())


async def _same(desk: Desk, transaction: Transaction, old: Memory, new: Memory, verdict: Verdict) -> Settled:
    standing, released = await _stand(desk, transaction, new, verdict)
    stays, goes = survivor(old, standing)
    reason = verdict.reasoning or "decided"
    _, change = await merge_into(desk, transaction, stays, goes, by=verdict.by, reason=reason)
    return Settled(changes=(released, change))


async def _both(desk: Desk, transaction: Transaction, old: Memory, new: Memory, verdict: Verdict) -> Settled:
    _, released = await _stand(desk, transaction, new, verdict)
    return Settled(changes=(released,))


async def _neither(
    desk: Desk, transaction: Transaction, old: Memory, new: Memory, verdict: Verdict
) -> Settled:
    done = [
        await archive_in(desk, transaction, each, by=verdict.by, reason="neither holds")
        for each in (old, new)
    ]
    return Settled(changes=tuple(each.change for each in done if each.change))


async def _split(desk: Desk, transaction: Transaction, old: Memory, new: Memory, verdict: Verdict) -> Settled:
    if not verdict.texts:
        raise BadDecision("To split, say anew what each of the two means.", hint="Give the clearer texts.")
    done = await _neither(desk, transaction, old, new, verdict)
    parts = await say_anew(desk, transaction, [old, new], verdict.texts)
    return replace(done, parts=tuple(each.memory.id for each in parts if each.memory))


_DEEDS = {
    "update": _update,
    "dismiss": _dismiss,
    "same": _same,
    "both": _both,
    "neither": _neither,
    "split": _split,
}


def _shown(memory: Memory) -> dict[str, Any]:
    return {"memory": str(memory.id), "status": memory.status.value, "version": memory.version}


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
