"""Carries out and undoes decisions about conflicting memories.

A verdict runs in the transaction that closes the conflict: replace the old memory, archive the new one, merge
both, keep both, keep neither, or split them into clearer texts. Its changes are stored with it, so undoing it
undoes them.
Pairs that no judge was sure about wait for a person. The answer overrules all earlier judgements of the pair
and has the same effect, in one transaction, as if a judge had given it during learning.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from festinger.errors import BadDecision, BadInput, Stale
from festinger.ids import MemoryId, SpaceId
from festinger.judge.model import (
    PERSON,
    CurrentSide,
    Judgement,
    JudgementRecord,
    PairJudgement,
    Relation,
    person_judgement,
)
from festinger.memory.changes import (
    BeliefUpdate,
    ChangeDraft,
    MemoryChangeOp,
    MemoryRelation,
    add_links,
    adjust_belief,
    diff_state,
    load_existing_memories,
    lock_memories,
    lock_memory,
    lock_owners,
    mark_links_undone,
    update_state,
    write_change,
)
from festinger.memory.deps import MemoryDeps
from festinger.memory.edit import archive_in_transaction, learn_replacement_texts
from festinger.memory.jobs import RECHECK
from festinger.memory.late_judgements import apply_judgements_in_transaction, build_comparison, build_memory_pair
from festinger.memory.learn.supersede import merge_into, order_survivor_first, supersede_all
from festinger.memory.learn.write import DecisionResult
from festinger.memory.model import Memory, Status
from festinger.memory.undo import undo_in_transaction
from festinger.store.pool import Transaction
from festinger.world.conflicts import Conflict
from festinger.world.decisions import ConflictJudge, ConflictVerdict

DECISIONS = ("update", "dismiss", "same", "both", "neither", "split")

RELATIONS = {
    "update": (Relation.UPDATE, CurrentSide.NEW),
    "dismiss": (Relation.CONTRADICTS, CurrentSide.OLD),
    "same": (Relation.SAME, CurrentSide.BOTH),
    "both": (Relation.UNRELATED, CurrentSide.BOTH),
}
"""The judgement that each decision implies for the pair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictVerdictResult:
    """The changes of a decision, and the memories it created."""

    changes: tuple[UUID, ...] = ()
    parts: tuple[MemoryId, ...] = ()


async def apply_verdict(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, *, conflict: Conflict, verdict: ConflictVerdict
) -> dict[str, Any]:
    """Carry out a verdict on two memories and return its record. Raises `Stale` if either changed since."""
    if verdict.decision not in DECISIONS:
        listed = ", ".join(f"`{each}`" for each in DECISIONS)
        raise BadDecision(f"`{verdict.decision[:40]}` decides nothing about memories.", hint=f"Say {listed}.")
    if verdict.decision == "split":
        await _lock_owners(transaction, space, conflict)
    old, new = await _lock_pair(transaction, space, conflict)
    before = [_state_summary(old), _state_summary(new)]
    await _record_verdict(deps, transaction, space, old=old, new=new, verdict=verdict)
    done = await _DEEDS[verdict.decision](deps, transaction, old, new, verdict)
    await mark_links_undone(transaction, space, new.id, MemoryRelation.CONTRADICTS, to=[old.id], at=deps.clock())
    lifted = await _clear_ceilings(deps, transaction, space, [old.id, new.id], verdict)
    after = list((await lock_memories(transaction, space, [old.id, new.id])).values())
    return {
        "before": before,
        "after": [_state_summary(memory) for memory in after],
        "changes": [str(change) for change in (*done.changes, *lifted)],
        "parts": [str(each) for each in done.parts],
    }


async def undo_verdict(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, *, conflict: Conflict, by: str
) -> None:
    """Undo a decision, last change first, and mark the two memories as contradicting again."""
    resolution: Mapping[str, Any] = conflict.resolution or {}
    for part_id in resolution.get("parts", []):
        part = await lock_memory(transaction, space, UUID(part_id))
        if part.is_live:
            await archive_in_transaction(deps, transaction, part, by=by, reason="the split was undone")
    for change in reversed(resolution.get("changes", [])):
        await undo_in_transaction(deps, transaction, space, UUID(change), by=by)
    assert conflict.new_memory is not None, "a conflict of memories names both"
    assert conflict.old_memory is not None, "a conflict of memories names both"
    await add_links(
        transaction, space, conflict.new_memory, MemoryRelation.CONTRADICTS, to=[conflict.old_memory], at=deps.clock()
    )


async def _lock_owners(transaction: Transaction, space: SpaceId, conflict: Conflict) -> None:
    """Wait for concurrent writers before locking the pair: the split texts are stored as new memories."""
    found = await load_existing_memories(transaction, space, filter(None, [conflict.old_memory, conflict.new_memory]))
    await lock_owners(transaction, space, [memory.agent_id for memory in found.values()])


async def _lock_pair(transaction: Transaction, space: SpaceId, conflict: Conflict) -> tuple[Memory, Memory]:
    assert conflict.old_memory is not None, "a conflict of memories names both"
    assert conflict.new_memory is not None, "a conflict of memories names both"
    found = await lock_memories(transaction, space, [conflict.old_memory, conflict.new_memory])
    old, new = found[MemoryId(conflict.old_memory)], found[MemoryId(conflict.new_memory)]
    if old.status is not Status.ACTIVE or new.status is not Status.HELD:
        raise Stale(
            "One of the two has changed since this conflict was opened.", old=old.status.value, new=new.status.value
        )
    return old, new


async def _record_verdict(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, *, old: Memory, new: Memory, verdict: ConflictVerdict
) -> None:
    """Store a person's decision as a judgement, so that nobody asks again."""
    if verdict.judge is ConflictJudge.PERSON and verdict.decision in RELATIONS:
        relation, current = RELATIONS[verdict.decision]
        reasoning = verdict.reasoning or f"Decided: {verdict.decision}."
        judgement: Judgement = person_judgement(verdict.by, relation, current=current, reasoning=reasoning)
        await deps.panel.store_person_decision(transaction, space, build_memory_pair(old, new), judgement)


async def _clear_ceilings(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, memories: Sequence[MemoryId], verdict: ConflictVerdict
) -> list[UUID]:
    """Remove the ceilings from active memories that a person confirmed: they may be reinforced again."""
    if verdict.judge is not ConflictJudge.PERSON:
        return []
    found = await lock_memories(transaction, space, memories)
    pressed = [
        each
        for each in found.values()
        if each.status is Status.ACTIVE
        and (each.belief.confidence_ceiling is not None or each.belief.weight_ceiling is not None)
    ]
    for each in pressed:
        await deps.outbox.emit(
            transaction,
            "ceiling_cleared",
            space=space,
            subject=f"memory:{each.id}",
            payload={"memory": str(each.id), "by": verdict.by[:120]},
        )
    return [
        await adjust_belief(
            deps,
            transaction,
            space,
            BeliefUpdate(memory=each.id, belief=replace(each.belief, confidence_ceiling=None, weight_ceiling=None)),
            by=verdict.by,
            reason="settled by a person",
        )
        for each in pressed
    ]


async def _activate(
    deps: MemoryDeps, transaction: Transaction, memory: Memory, verdict: ConflictVerdict
) -> tuple[Memory, UUID]:
    """Activate a held memory and schedule a recheck of it."""
    now = await update_state(transaction, memory, at=deps.clock(), status=Status.ACTIVE)
    before, after = diff_state(memory, now)
    note = ChangeDraft(
        op=MemoryChangeOp.RELEASE,
        before={memory.id: before},
        after={memory.id: after},
        by=verdict.by,
        reason=verdict.decision,
    )
    change = await write_change(deps, transaction, memory.space_id, note)
    await deps.ask(transaction, RECHECK, space=memory.space_id, memory=str(memory.id))
    return now, change


async def _update(
    deps: MemoryDeps, transaction: Transaction, old: Memory, new: Memory, verdict: ConflictVerdict
) -> ConflictVerdictResult:
    standing, released = await _activate(deps, transaction, new, verdict)
    _, change = await supersede_all(
        deps, transaction, standing, [old], by=verdict.by, reason=verdict.reasoning or "decided"
    )
    return ConflictVerdictResult(changes=(released, change))


async def _archive_new(
    deps: MemoryDeps, transaction: Transaction, old: Memory, new: Memory, verdict: ConflictVerdict
) -> ConflictVerdictResult:
    done = await archive_in_transaction(deps, transaction, new, by=verdict.by, reason="dismissed")
    return ConflictVerdictResult(changes=(done.change,) if done.change else ())


async def _same(
    deps: MemoryDeps, transaction: Transaction, old: Memory, new: Memory, verdict: ConflictVerdict
) -> ConflictVerdictResult:
    standing, released = await _activate(deps, transaction, new, verdict)
    stays, goes = order_survivor_first(old, standing)
    reason = verdict.reasoning or "decided"
    _, change = await merge_into(deps, transaction, stays, goes, by=verdict.by, reason=reason)
    return ConflictVerdictResult(changes=(released, change))


async def _both(
    deps: MemoryDeps, transaction: Transaction, old: Memory, new: Memory, verdict: ConflictVerdict
) -> ConflictVerdictResult:
    _, released = await _activate(deps, transaction, new, verdict)
    return ConflictVerdictResult(changes=(released,))


async def _archive_both(
    deps: MemoryDeps, transaction: Transaction, old: Memory, new: Memory, verdict: ConflictVerdict
) -> ConflictVerdictResult:
    done = [
        await archive_in_transaction(deps, transaction, each, by=verdict.by, reason="neither holds")
        for each in (old, new)
    ]
    return ConflictVerdictResult(changes=tuple(each.change for each in done if each.change))


async def _split(
    deps: MemoryDeps, transaction: Transaction, old: Memory, new: Memory, verdict: ConflictVerdict
) -> ConflictVerdictResult:
    if not verdict.texts:
        raise BadDecision("To split, say anew what each of the two means.", hint="Give the clearer texts.")
    done = await _archive_both(deps, transaction, old, new, verdict)
    parts = await learn_replacement_texts(deps, transaction, [old, new], verdict.texts)
    return replace(done, parts=tuple(each.memory.id for each in parts if each.memory and each.created))


_DEEDS = {
    "update": _update,
    "dismiss": _archive_new,
    "same": _same,
    "both": _both,
    "neither": _archive_both,
    "split": _split,
}


def _state_summary(memory: Memory) -> dict[str, Any]:
    return {"memory": str(memory.id), "status": memory.status.value, "version": memory.version}


ANSWERS = {
    "same": (Relation.SAME, CurrentSide.BOTH),
    "update": (Relation.UPDATE, CurrentSide.NEW),
    "contradicts": (Relation.CONTRADICTS, CurrentSide.BOTH),
    "refines": (Relation.REFINES, CurrentSide.BOTH),
    "both": (Relation.UNRELATED, CurrentSide.BOTH),
}
"""The answers a person may give about two statements; `both` means both hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAnswerResult:
    """A person's judgement and its effects."""

    judgement: UUID
    followed: DecisionResult

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


def parse_pair_answer(answer: str, *, by: str, note: str = "") -> Judgement:
    """Convert a person's answer to a judgement. Raises `BadInput` with the list of answers."""
    if answer not in ANSWERS:
        listed = ", ".join(f"`{each}`" for each in ANSWERS)
        raise BadInput(f"`{answer[:40]}` answers nothing.", hint=f"Say {listed}.")
    relation, current = ANSWERS[answer]
    reasoning = note or f"Answered: {answer}."
    return person_judgement(by.removeprefix(PERSON), relation, current=current, reasoning=reasoning)


async def apply_pair_answer(
    deps: MemoryDeps, space: SpaceId, asked: JudgementRecord, judgement: Judgement, *, by: str
) -> PairAnswerResult:
    """Store a person's judgement of a pair and apply it. Raises `Stale` if the pair changed."""
    async with deps.store.transaction() as transaction:
        return await _record_answer(deps, transaction, space, asked, judgement, by=by)


async def _record_answer(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, asked: JudgementRecord, judgement: Judgement, *, by: str
) -> PairAnswerResult:
    found = await load_existing_memories(transaction, space, [asked.old_ref, asked.new_ref])
    old, new = found.get(MemoryId(asked.old_ref)), found.get(MemoryId(asked.new_ref))
    if old is None or new is None or new.status is not Status.ACTIVE or not old.is_live:
        raise Stale(
            "One of the two statements has changed since this was asked.",
            hint="Undo what was done to it first, or leave it as it is.",
        )
    await lock_owners(transaction, space, [new.agent_id])
    pair = build_memory_pair(old, new)
    kept = await deps.panel.store_person_decision(transaction, space, pair, judgement)
    compared = build_comparison(old, PairJudgement(pair=pair, judgement=judgement))
    followed = await apply_judgements_in_transaction(deps, transaction, new, [compared], by=by, kept={old.id: kept})
    return PairAnswerResult(judgement=kept, followed=followed)
