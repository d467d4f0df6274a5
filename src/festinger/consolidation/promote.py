"""Promotes what recurs and lasts: memories with enough causes over enough days.

Only outside causes count, and each only for one promotion. What tools and documents alone said never promotes, nor
what is disputed. What would become part of who the agent is, a person decides, unless the agent is trusted.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from festinger.consolidation.ceilings import GOAL_LIKE
from festinger.consolidation.context import NightContext, NightUnit
from festinger.consolidation.night import NightItemKind, PlannedChange, Q, plan_change, planned_from_json
from festinger.ids import Origin
from festinger.memory.confidence import decay_weight, idle_days, reinforce_weight
from festinger.memory.model import Memory
from festinger.memory.query import MemoryCauses, load_causes

IDENTITY_LIKE = 0.82
TRUSTED = 3
LEARNING_RATE = 0.1
REWARDS = {"acted": 1.0, "used": 0.3, "dismissed": -0.3, "contradicted": -1.0}
HEARSAY = frozenset({Origin.TOOL, Origin.DOCUMENT})


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionStage:
    causes: int
    days: int
    above: float
    below: float
    gain: float
    utility: float


STAGES = (
    PromotionStage(causes=5, days=14, above=0.0, below=GOAL_LIKE, gain=2.0, utility=0.0),
    PromotionStage(causes=10, days=30, above=GOAL_LIKE, below=IDENTITY_LIKE, gain=5.0, utility=0.2),
)


def find_earned_stage(*, center: float, causes: MemoryCauses, utility: float) -> PromotionStage | None:
    """Return the promotion that a memory has earned; None if it has earned none."""
    for stage in STAGES if set(causes.origins) - HEARSAY else ():
        is_earned = causes.count >= stage.causes and causes.days >= stage.days
        if stage.above <= center < stage.below and is_earned and utility >= stage.utility:
            return stage
    return None


def compute_utility(outcomes: Iterable[tuple[str, float]]) -> float:
    """Return how useful a memory proved, from its counted outcomes and their weights, oldest first."""
    utility = 0.0
    for outcome, weight in outcomes:
        if outcome in REWARDS:
            utility += LEARNING_RATE * weight * (REWARDS[outcome] - utility)
    return utility


async def promotion_units(context: NightContext) -> AsyncIterator[NightUnit]:
    """Yield the gains that the last night left, then a unit per memory that has earned a promotion."""
    night = context.night
    left = await context.deps.store.all(Q["last_left_over"], space=context.space, agent=night.agent, night=night.id)
    for row in left:
        rest = [planned_from_json(row["change"])]
        yield NightUnit(key=f"rest:{rest[0].memory}:{row['id']}", known=rest)
    for memory in await context.load("promotion_candidates", causes=STAGES[0].causes):
        if (found := await _find_promotion(context, memory)) is not None:
            stage, causes = found
            key = f"promote:{memory.id}:{stage.gain}:{min(causes.sightings)}:{causes.count}"
            plan = _plan_promotion(context, memory, stage, causes)
            yield NightUnit(key=key, known=plan)


async def _find_promotion(context: NightContext, memory: Memory) -> tuple[PromotionStage, MemoryCauses] | None:
    space = context.space
    async with context.deps.store.transaction() as transaction:
        spent = await transaction.all(Q["spent_causes"], space=space, memory=memory.id)
        used = {UUID(row["sighting"]) for row in spent}
        causes = (await load_causes(transaction, space, [memory.id], spent=used)).get(memory.id, MemoryCauses())
        outcomes = await transaction.all(Q["outcomes_of_memory"], space=space, memory=memory.id)
    touched = (memory.created_at, memory.last_accessed, memory.last_confirmed)
    days = idle_days(touched, now=context.deps.memory.clock())
    effective = decay_weight(memory.weight, idle_days=days, reads=memory.access_count)
    utility = compute_utility((row["outcome"], row["w"]) for row in outcomes)
    stage = find_earned_stage(center=effective.center, causes=causes, utility=utility)
    return None if stage is None else (stage, causes)


def _plan_promotion(
    context: NightContext, memory: Memory, stage: PromotionStage, causes: MemoryCauses
) -> Sequence[PlannedChange]:
    after = reinforce_weight(memory.weight, stage.gain, ceiling=memory.weight_ceiling)
    bound = context.deps.proposals.terms(context.space).detectors.identity.threshold
    asks = after.center > bound and context.terms.trust_in(context.night.agent) < TRUSTED
    kind = NightItemKind.PROPOSED if asks else NightItemKind.REINFORCED
    evidence = tuple(str(each) for each in causes.sightings)
    reason = f"{causes.count} causes over {causes.days} days"
    return [plan_change(kind, memory, reason, gain=stage.gain, evidence=evidence)]
