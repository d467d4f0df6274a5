"""Moves the weights of recalled memories slightly, if enabled.

The first hits gain a little, those that just missed lose a little, and both cancel out. A memory moves once
per cause, and without an outcome or a new cause in between only within a small span. Every change is
recorded.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from festinger.ids import MemoryId, Origin, Scope
from festinger.memory.changes import (
    BeliefUpdate,
    ChangeDraft,
    MemoryChangeOp,
    apply_belief_updates,
    lock_memories_in_order,
    write_change,
)
from festinger.memory.confidence import Weight, reinforce_weight, weaken_weight
from festinger.memory.model import Memory
from festinger.retrieval.association import cause_key
from festinger.retrieval.deps import RetrievalDeps
from festinger.retrieval.rank import RecallHit
from festinger.retrieval.score import is_dormant
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.retrieval")

BEST = 5
LAST = 20
"""Hits behind the best and up to this rank just missed."""
RAISED, WOKEN, LOWERED = 0.1, 0.2, 0.05
"""`WOKEN` is for dormant memories, whether a strong cue woke them or they were asked for."""
SPAN = 0.05
"""How far a center may move since an outcome or a counted cause last said something."""
HALVINGS = 100
REASON = "retrieval"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReinforcementTarget:
    """A memory that a recall may move."""

    id: UUID
    weight: Weight
    amount: float
    moved: float = 0.0
    """How far recalls have moved its center already."""
    ceiling: float | None = None
    immutable: bool = False

    def raised(self, share: float) -> Weight:
        highest = min(self.weight.center + SPAN - self.moved, self.ceiling if self.ceiling is not None else 1.0)
        if highest <= self.weight.center:
            return self.weight
        return reinforce_weight(self.weight, share * self.amount, immutable=self.immutable, ceiling=highest)

    def lowered(self, share: float) -> Weight:
        lowest = max(1e-6, self.weight.center - SPAN - self.moved)
        if lowest >= self.weight.center:
            return self.weight
        after = weaken_weight(self.weight, share * self.amount, immutable=self.immutable)
        at_most = self.weight.alpha * (1.0 - lowest) / lowest
        return after if after.beta <= at_most else replace(after, beta=max(self.weight.beta, at_most))


def reinforced_weights(
    best: Sequence[ReinforcementTarget], missed: Sequence[ReinforcementTarget]
) -> dict[UUID, Weight]:
    """Return the weights after a recall; the side that moves more is scaled down until both cancel out."""

    def rise(share: float) -> float:
        return sum(each.raised(share).center - each.weight.center for each in best)

    def fall(share: float) -> float:
        return sum(each.weight.center - each.lowered(share).center for each in missed)

    up, down = rise(1.0), fall(1.0)
    raising = 1.0 if up <= down else _share(rise, down)
    lowering = 1.0 if down <= up else _share(fall, up)
    after = {each.id: each.raised(raising) for each in best}
    return after | {each.id: each.lowered(lowering) for each in missed}


def _share(moved: Callable[[float], float], wanted: float) -> float:
    """Return the share at which a side moves as far as wanted."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if moved(middle) < wanted else (low, middle)
    return high


async def reinforce_hits(
    deps: RetrievalDeps,
    transaction: Transaction,
    scope: Scope,
    hits: Sequence[RecallHit],
    *,
    shown: Collection[int],
    recall: UUID,
) -> None:
    """Move the weights of hits, within the transaction that records the recall.

    `shown` are the indexes of the hits returned.
    """
    found = [hit for hit in hits[:LAST] if hit.candidate.is_memory]
    if len(found) <= BEST or not shown:
        return
    now = deps.clock()
    cause = scope.cause(Origin.SYSTEM, now)
    held = await lock_memories_in_order(transaction, scope.space, [hit.candidate.ref for hit in found])
    rows = await transaction.all(
        Q["moved_by_recalls"], space=scope.space, memories=list(held), reason=REASON, cause=cause_key(cause)
    )
    moved = {row["id"]: row for row in rows}
    shown_ids = {hits[at].candidate.ref for at in shown}
    first = [hit for hit in found[:BEST] if hit.candidate.ref in shown_ids]
    settings = deps.terms(scope.space).retrieval
    best = _open_to(first, held, moved, lambda hit: WOKEN if is_dormant(hit.candidate, settings) else RAISED)
    missed = _open_to(found[BEST:], held, moved, lambda _hit: LOWERED)
    after = {
        MemoryId(id_): weight
        for id_, weight in reinforced_weights(best, missed).items()
        if weight != held[MemoryId(id_)].weight
    }
    if not after:
        return
    effects = [
        BeliefUpdate(memory=id_, belief=replace(held[id_].belief, weight=weight)) for id_, weight in after.items()
    ]
    await apply_belief_updates(transaction, scope.space, effects, at=now)
    note = ChangeDraft(
        op=MemoryChangeOp.WEIGHT,
        before={id_: _columns(held[id_].weight) for id_ in after},
        after={id_: _columns(weight) for id_, weight in after.items()},
        by="recall",
        reason=REASON,
        cause=cause,
        more={"recall": str(recall), "counted_as": cause_key(cause)},
    )
    await write_change(deps.memory, transaction, scope.space, note)
    await _tell(deps, transaction, scope, after, held, recall=recall)


def _open_to(
    hits: Iterable[RecallHit],
    held: Mapping[MemoryId, Memory],
    moved: Mapping[UUID, Mapping[str, object]],
    amount: Callable[[RecallHit], float],
) -> list[ReinforcementTarget]:
    """Return those that this cause has not moved yet."""
    return [
        ReinforcementTarget(
            id=memory.id,
            weight=memory.weight,
            amount=amount(hit),
            moved=float(str(moved[memory.id]["moved"])),
            ceiling=memory.weight_ceiling,
            immutable=memory.immutable,
        )
        for hit in hits
        if (memory := held.get(MemoryId(hit.candidate.ref))) is not None and not moved[memory.id]["counted"]
    ]


def _columns(weight: Weight) -> dict[str, float]:
    return {"weight_alpha": weight.alpha, "weight_beta": weight.beta}


async def _tell(
    deps: RetrievalDeps,
    transaction: Transaction,
    scope: Scope,
    after: Mapping[MemoryId, Weight],
    held: Mapping[MemoryId, Memory],
    *,
    recall: UUID,
) -> None:
    raised = sum(weight.center > held[id_].weight.center for id_, weight in after.items())
    await deps.outbox.emit(
        transaction,
        "weights_nudged",
        space=scope.space,
        subject=f"recall:{recall}",
        agent=scope.agent,
        session=scope.session or None,
        payload={"recall": str(recall), "up": raised, "down": len(after) - raised},
    )
