"""How does a run decide a conflict of two memories?

Rules first: a person's word against nobody's decides itself. Then the judges, a model among them, say how the two
relate. Who is right is read from order and evidence, never from what a model holds true: a plain contradiction waits
for a person. Nobody but a person overturns what a person said.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from festinger.ids import MemoryId, Origin, SpaceId
from festinger.judge.model import Judgement, Relation
from festinger.memory.desk import Desk
from festinger.memory.memory import Memory
from festinger.memory.pairs import pair_between
from festinger.memory.states import find_all
from festinger.world.conflicts import Conflict
from festinger.world.decisions import Judge, Verdict

SURE_OF_UPDATE = 0.8
SURE_OF_REST = 0.6

DECISIONS = {
    Relation.UPDATE: "update",
    Relation.SAME: "same",
    Relation.UNRELATED: "both",
    Relation.REFINES: "both",
}
"""What a judgement means for two memories that wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What a run would decide, or why it does not."""

    verdict: Verdict | None
    reason: str


JudgeMemories = Callable[[SpaceId, Conflict, UUID], Awaitable[Opinion]]


def ruled(old: Memory, new: Memory) -> str | None:
    """Why a conflict decides itself for the new memory; none if it does not."""
    if new.origin is Origin.PERSON and old.origin is not Origin.PERSON and not old.immutable:
        return "a person stated it, and nobody stated the other"
    return None


def decision_of(said: Judgement, *, old: Memory, new: Memory) -> tuple[str | None, str]:
    """What the judges' word means, and why; no decision if it may not be applied."""
    decision = DECISIONS.get(said.relation)
    if decision is None or not said.final:
        return None, f"the judges say `{said.relation}`, which decides nothing"
    bar = SURE_OF_UPDATE if decision in ("update", "same") else SURE_OF_REST
    if said.confidence < bar:
        return None, f"the judges are not sure enough ({said.confidence:.2f})"
    overturns = decision == "update" and old.origin is Origin.PERSON and new.origin is not Origin.PERSON
    if overturns or (old.immutable and decision != "both"):
        return None, "only a person may overturn what a person stated"
    return decision, said.reasoning


async def judge_memories(desk: Desk, space: SpaceId, conflict: Conflict, *, run: UUID) -> Opinion:
    """What a run says of two memories. Not within a transaction."""
    assert conflict.old_memory is not None, "a conflict of memories names both"
    assert conflict.new_memory is not None, "a conflict of memories names both"
    async with desk.store.transaction() as transaction:
        found = await find_all(transaction, space, [conflict.old_memory, conflict.new_memory])
    old, new = found.get(MemoryId(conflict.old_memory)), found.get(MemoryId(conflict.new_memory))
    if old is None or new is None:
        return Opinion(verdict=None, reason="one of the two is gone")
    if (why := ruled(old, new)) is not None:
        verdict = Verdict(decision="update", judge=Judge.RULE, by="rule", reasoning=why, run=run)
        return Opinion(verdict=verdict, reason=why)
    [said] = await desk.panel.with_model_all(space, [pair_between(old, new)])
    decision, why = decision_of(said, old=old, new=new)
    if decision is None:
        return Opinion(verdict=None, reason=why)
    verdict = Verdict(
        decision=decision,
        judge=Judge.MODEL,
        by="model",
        reasoning=said.reasoning,
        confidence=said.confidence,
        model=said.judge,
        prompt_hash=said.prompt_hash,
        run=run,
    )
    return Opinion(verdict=verdict, reason=why)
