"""Resolves the pending conflicts of a space in runs.

Rules come first, then the model if there is one; otherwise the item waits for a person. Each decision has its
own transaction, so a killed run leaves every item decided or pending, and a failed item does not stop the
others. A dry run changes nothing. Wiring schedules the runs, one at a time per space.
For two memories, the judges only say how they relate. Order and evidence decide who is right, never a model's
opinion: a plain contradiction waits for a person, and only a person overturns what a person said.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

import structlog

from festinger.consolidation.arbiter import ArbiterOpinion, apply_rules, ask_model
from festinger.errors import AlreadyRunning, BadDecision, FestingerError, NoSuchRun, Stale
from festinger.ids import MemoryId, Origin, SpaceId
from festinger.judge.model import Judgement, Relation
from festinger.llm.model import Model
from festinger.memory.changes import find_memories
from festinger.memory.deps import MemoryDeps
from festinger.memory.late_judgements import build_memory_pair
from festinger.memory.model import Memory
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.world.conflicts import (
    Conflict,
    ConflictCase,
    count_pending,
    list_due_conflicts,
    load_conflict_case,
    record_attempt,
)
from festinger.world.decisions import ConflictDecision, ConflictJudge, ConflictVerdict, decide_conflict
from festinger.world.model import WorldDeps

SURE_OF_UPDATE = 0.8
SURE_OF_REST = 0.6

DECISIONS = {Relation.UPDATE: "update", Relation.SAME: "same", Relation.UNRELATED: "both", Relation.REFINES: "both"}
"""The decision that each judgement implies for a held pair."""


JudgeMemories = Callable[[SpaceId, Conflict, UUID], Awaitable[ArbiterOpinion]]


def find_deciding_rule(old: Memory, new: Memory) -> str | None:
    """Why a rule decides for the new memory; None if none does."""
    if new.origin is Origin.PERSON and old.origin is not Origin.PERSON and not old.immutable:
        return "a person stated it, and nobody stated the other"
    return None


def decide_by_judgement(said: Judgement, *, old: Memory, new: Memory) -> tuple[str | None, str]:
    """Return the decision that a judgement implies, and why; None if it may not be applied."""
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


async def judge_memories(deps: MemoryDeps, space: SpaceId, conflict: Conflict, run: UUID) -> ArbiterOpinion:
    """Judge a conflict of two memories. Call outside transactions."""
    assert conflict.old_memory is not None, "a conflict of memories names both"
    assert conflict.new_memory is not None, "a conflict of memories names both"
    async with deps.store.transaction() as transaction:
        found = await find_memories(transaction, space, [conflict.old_memory, conflict.new_memory])
    old, new = found.get(MemoryId(conflict.old_memory)), found.get(MemoryId(conflict.new_memory))
    if old is None or new is None:
        return ArbiterOpinion(verdict=None, reason="one of the two is gone")
    if (why := find_deciding_rule(old, new)) is not None:
        verdict = ConflictVerdict(decision="update", judge=ConflictJudge.RULE, by="rule", reasoning=why, run=run)
        return ArbiterOpinion(verdict=verdict, reason=why)
    [said] = await deps.panel.with_model_all(space, [build_memory_pair(old, new)])
    decision, why = decide_by_judgement(said, old=old, new=new)
    if decision is None:
        return ArbiterOpinion(verdict=None, reason=why)
    verdict = ConflictVerdict(
        decision=decision,
        judge=ConflictJudge.MODEL,
        by="model",
        reasoning=said.reasoning,
        confidence=said.confidence,
        model=said.judge,
        prompt_hash=said.prompt_hash,
        run=run,
    )
    return ArbiterOpinion(verdict=verdict, reason=why)


log = structlog.get_logger(room="consolidation")

Q = queries_of("festinger.consolidation")

MOST_ATTEMPTS = 3
NO_MODEL = "no rule fits, and no model is configured"
TRIED_ENOUGH = "no rule fits, and models have tried often enough"

ModelFor = Callable[[SpaceId], Awaitable[Model | None]]
"""Returns the model that resolves the conflicts of a space, if any."""


class ResolutionStatus(StrEnum):
    RESOLVED = "resolved"
    DISMISSED = "dismissed"
    WAITING = "waiting"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionReport:
    seen: int
    resolved: int
    dismissed: int
    waiting: int
    failed: int
    left_over: int
    cost_usd: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionRun(ResolutionReport):
    id: UUID
    state: str
    dry_run: bool
    pending: int
    started_at: datetime
    finished_at: datetime | None


@dataclass(slots=True, kw_only=True)
class CostTotal:
    """The cost of a run's model calls; None as soon as one is unknown."""

    total: Decimal | None = Decimal(0)

    def add(self, cost: Decimal | None) -> None:
        self.total = None if self.total is None or cost is None else self.total + cost


async def begin_run(deps: WorldDeps, transaction: Transaction, space: SpaceId, *, dry_run: bool = False) -> UUID:
    """Create a run for a job to execute. Raises `AlreadyRunning`."""
    run, pending = deps.new_id(), await count_pending(deps, space)
    begun = {"id": run, "dry_run": dry_run, "pending": pending, "now": deps.clock()}
    if await transaction.maybe(Q["begin_resolution"], space=space, **begun) is None:
        row = await transaction.maybe(Q["run_under_way"], space=space)
        raise AlreadyRunning("Conflicts are being resolved already.", run_id=str(row["id"]) if row else None)
    return run


async def find_run(deps: WorldDeps, space: SpaceId, run: UUID) -> ResolutionRun:
    row = await deps.store.maybe(Q["resolution_run"], space=space, id=run)
    if row is None:
        raise NoSuchRun(f"There is no run `{run}`.")
    return ResolutionRun(**row)


async def last_run(deps: WorldDeps, space: SpaceId) -> ResolutionRun | None:
    row = await deps.store.maybe(Q["last_resolution"], space=space)
    return ResolutionRun(**row) if row else None


async def run_resolution(
    deps: WorldDeps, space: SpaceId, run: UUID, *, model_for: ModelFor, judge_memories: JudgeMemories | None = None
) -> ResolutionReport | None:
    """Execute a run; None if it is already done. Without `judge_memories`, conflicts of memories wait."""
    row = await deps.store.maybe(Q["mark_running"], space=space, id=run)
    if row is None:
        return None
    limit = deps.terms(space).resolution_max_items
    items = await list_due_conflicts(deps, space, limit=limit + 1, memories=judge_memories is not None)
    model, is_dry = await model_for(space), row["dry_run"]
    worker = _Worker(deps=deps, space=space, run=run, dry_run=is_dry, model=model, judge_memories=judge_memories)
    fates = Counter([await worker.settle(item) for item in items[:limit]])
    left = max(0, await count_pending(deps, space) - fates[ResolutionStatus.WAITING] - fates[ResolutionStatus.FAILED])
    tally = ResolutionReport(
        seen=sum(fates.values()),
        **{status.value: fates[status] for status in ResolutionStatus},
        left_over=left if len(items) > limit else 0,
        cost_usd=worker.bill.total,
    )
    await _finish(deps, space, run, tally)
    return tally


async def _finish(deps: WorldDeps, space: SpaceId, run: UUID, tally: ResolutionReport) -> None:
    async with deps.store.transaction() as transaction:
        await transaction.run(Q["finish_resolution"], space=space, id=run, now=deps.clock(), **asdict(tally))
        told = {name: value for name, value in asdict(tally).items() if name not in ("left_over", "cost_usd")}
        cost, subject = None if tally.cost_usd is None else float(tally.cost_usd), f"resolution:{run}"
        payload = {"run_id": str(run), "cost_usd": cost, **told}
        await deps.outbox.emit(transaction, "resolution_finished", space=space, subject=subject, payload=payload)
    log.info("conflicts resolved", space=space, run=str(run), **told)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Worker:
    """One run in progress."""

    deps: WorldDeps
    space: SpaceId
    run: UUID
    dry_run: bool
    model: Model | None
    judge_memories: JudgeMemories | None = None
    bill: CostTotal = field(default_factory=CostTotal)

    async def settle(self, item: Conflict) -> ResolutionStatus:
        """Decide one item. An error is recorded with the item and does not stop the run."""
        (result,) = await asyncio.gather(self._settle(item), return_exceptions=True)
        if isinstance(result, ResolutionStatus):
            return result
        if not isinstance(result, Exception):
            raise result
        name = result.name if isinstance(result, FestingerError) else type(result).__name__
        log.warning("conflict not decided", conflict=str(item.id), error=name)
        if not self.dry_run:
            await record_attempt(self.deps, self.space, item.id, reason=f"error: {name}")
        return ResolutionStatus.FAILED

    async def _settle(self, item: Conflict) -> ResolutionStatus:
        verdict, reason = await self._opinion(item)
        if verdict is None:
            return await self._wait(item, reason)
        fate = ResolutionStatus.DISMISSED if verdict.decision == ConflictDecision.DISMISS else ResolutionStatus.RESOLVED
        if self.dry_run:
            return fate
        try:
            await decide_conflict(self.deps, self.space, item.id, verdict)
        except (BadDecision, Stale) as error:
            return await self._wait(item, error.message)
        return fate

    async def _opinion(self, item: Conflict) -> tuple[ConflictVerdict | None, str]:
        if item.about != "memory":
            return await self._verdict(await load_conflict_case(self.deps, self.space, item))
        assert self.judge_memories is not None, "only a run that can judge memories is given any"
        said = await self.judge_memories(self.space, item, self.run)
        return said.verdict, said.reason

    async def _verdict(self, case: ConflictCase) -> tuple[ConflictVerdict | None, str]:
        ruled = apply_rules(case)
        if ruled is not None:
            verdict = ConflictVerdict(
                decision=ruled.decision,
                judge=ConflictJudge.RULE,
                by="rule",
                dimension=ruled.dimension,
                existing_dimension=ruled.existing_dimension,
                reasoning=ruled.why,
                run=self.run,
                against=case.existing.parent_id if case.existing else None,
            )
            return verdict, ruled.why
        if self.model is None:
            return None, NO_MODEL
        if case.conflict.attempts >= MOST_ATTEMPTS:
            return None, TRIED_ENOUGH
        said = await ask_model(self.model, case, run=self.run)
        self.bill.add(said.cost_usd)
        return said.verdict, said.reason

    async def _wait(self, item: Conflict, reason: str) -> ResolutionStatus:
        if not self.dry_run:
            is_try = reason not in (NO_MODEL, TRIED_ENOUGH)
            await record_attempt(self.deps, self.space, item.id, reason=reason, is_try=is_try)
        return ResolutionStatus.WAITING
