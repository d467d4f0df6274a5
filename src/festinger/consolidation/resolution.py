"""Resolves the pending conflicts of a space in runs.

Rules come first, then the model if there is one; otherwise the item waits for a person. Each decision has its
own transaction, so a killed run leaves every item decided or pending, and a failed item does not stop the
others. A dry run changes nothing. Wiring schedules the runs, one at a time per space.
For two memories, the judges only say how they relate. Order and evidence decide who is right, never a model's
opinion: a plain contradiction waits for a person, and only a person overturns what a person said.

Decides conflicts by rules, or asks a model about them.

The rules are pure and tried in order; the first that fits decides. They look only at the graph and at who
said what, never at the meaning of words. The model sees both statements with speaker and time, as quoted
data, and may be undecided. Its answer is applied only if it is allowed for this collision, confident enough,
and does not let a statement by anyone else replace a person's. The world applies the verdict.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Literal
from uuid import UUID

import structlog
from pydantic import Field

from festinger.clock import iso
from festinger.errors import AlreadyRunning, BadDecision, FestingerError, NoSuchRun, Stale
from festinger.ids import MemoryId, Origin, SpaceId
from festinger.judge.model import Judgement, Relation
from festinger.llm.model import AnswerSchema, Model, PromptMessage
from festinger.llm.prompts import load_prompt
from festinger.memory.changes import load_existing_memories
from festinger.memory.deps import MemoryDeps
from festinger.memory.late_judgements import build_memory_pair
from festinger.memory.model import Memory
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.world.conflicts import (
    Conflict,
    ConflictCase,
    count_pending,
    list_pending_conflicts,
    load_conflict_case,
    record_undecided_attempt,
)
from festinger.world.decisions import ALLOWED, ConflictDecision, ConflictJudge, ConflictVerdict, decide_conflict
from festinger.world.model import CollisionType, EdgeSource, WorldDeps

UNDECIDED = "undecided"
SURE_ENOUGH_TO_UPDATE = 0.8
SURE_ENOUGH = 0.6
UNSAID = 0.8
"""Confidence assumed when none is given."""

MEANINGS = {
    ConflictDecision.DECOMPOSE: "both are true in different senses; give each a dimension of its own.",
    ConflictDecision.UPDATE: "the incoming one takes the place of the one that stands.",
    ConflictDecision.SAME: "both parents are two names of one thing.",
    ConflictDecision.DISMISS: "the incoming one is wrong or says nothing new; what stands stays.",
    ConflictDecision.RECLASSIFY: "both are true, but one belongs to another dimension: name it as `dimension` for the incoming "
    "one, or as `existing_dimension` for the one that stands.",
}
TAKE_OUT = "the one that stands (in a circle: the older one that closes it) is taken out."


class ArbiterAnswer(AnswerSchema):
    """What the model decides."""

    decision: Literal["decompose", "update", "same", "dismiss", "reclassify", "undecided"]
    existing_dimension: str | None = Field(default=None, max_length=64)
    new_dimension: str | None = Field(default=None, max_length=64)
    dimension: str | None = Field(default=None, max_length=64)
    confidence: float | None = Field(default=None, ge=0, le=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArbitrationOutcome:
    """A verdict to carry out, or the reason why there is none."""

    verdict: ConflictVerdict | None
    reason: str
    cost_usd: Decimal | None = Decimal(0)


async def ask_arbiter_model(model: Model, case: ConflictCase, *, run: UUID | None) -> ArbitrationOutcome:
    answer = await model.answer([build_arbiter_prompt(case)], ArbiterAnswer)
    verdict = ConflictVerdict(
        **answer.value.model_dump(),
        judge=ConflictJudge.MODEL,
        by=answer.model,
        model=answer.model,
        prompt_hash=answer.prompt_hash,
        run=run,
        against=case.existing.parent_id if case.existing else None,
    )
    objection = find_objection(case, verdict)
    return ArbitrationOutcome(
        verdict=None if objection else verdict, reason=objection or "decided", cost_usd=answer.cost_usd
    )


def find_objection(case: ConflictCase, verdict: ConflictVerdict) -> str | None:
    """Why a verdict must not be carried out; None if it may."""
    item = case.conflict
    if verdict.decision == UNDECIDED:
        return "the model is undecided"
    if verdict.decision not in ALLOWED[CollisionType(item.collision_type)]:
        return f"`{verdict.decision}` is not allowed for `{item.collision_type}`"
    confidence = UNSAID if verdict.confidence is None else verdict.confidence
    needed = SURE_ENOUGH_TO_UPDATE if verdict.decision == ConflictDecision.UPDATE else SURE_ENOUGH
    if confidence < needed:
        return f"the model is not sure enough ({confidence:g} of {needed:g})"
    is_against_person = case.existing is not None and case.existing.person_stated and not item.is_persons
    if verdict.decision == ConflictDecision.UPDATE and is_against_person:
        return "a person stated what stands, and no person the other"
    return None


def build_arbiter_prompt(case: ConflictCase) -> PromptMessage:
    item = case.conflict
    return load_prompt("festinger.consolidation", "resolve").message(
        collision=item.collision_type,
        concept=item.concept or "",
        dimension=item.dimension or "",
        existing=_statement(item.existing_parent, item.existing_is_isa, case.existing_causes),
        incoming=_statement(item.incoming_parent, item.incoming_is_isa, case.incoming_causes),
        sentences=_sentences(case.sentences),
        dimensions=", ".join(case.dimensions),
        allowed="\n".join(_allowed(CollisionType(item.collision_type))),
    )


def _allowed(kind: CollisionType) -> Sequence[str]:
    takes_out = kind in (CollisionType.CYCLE, CollisionType.RETRACTION)
    return [
        f"- {decision}: {TAKE_OUT if takes_out and decision is ConflictDecision.UPDATE else MEANINGS[decision]}"
        for decision in ALLOWED[kind]
    ]


def _statement(parent: str | None, is_isa: bool | None, causes: Sequence[Mapping[str, Any]]) -> str:
    if parent is None:
        return "none"
    said = [
        f"said by {cause['origin']} (agent {cause['agent']}, session {cause['session_id']}) on {iso(cause['at'])}"
        for cause in causes
    ]
    return "\n".join([f"{'KIND' if is_isa else 'PART'}: {parent}", *said])


def _sentences(found: Sequence[Mapping[str, Any]]) -> str:
    quoted = [f"[{each['origin']}, {each['at'].date().isoformat()}] {each['text']}" for each in found]
    return "\n".join(quoted) or "none kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleDecision:
    """The decision of a rule, and why."""

    decision: ConflictDecision
    why: str
    dimension: str | None = None
    existing_dimension: str | None = None


def decide_by_rules(case: ConflictCase) -> RuleDecision | None:
    """Return the ruling of the first rule that fits; None if none does."""
    item = case.conflict
    if not case.incoming_causes:
        return RuleDecision(decision=ConflictDecision.DISMISS, why="nobody is left who said it")
    if item.collision_type == CollisionType.CYCLE or case.existing is None:
        return None
    if item.incoming_parent_id in case.above_existing:
        return RuleDecision(decision=ConflictDecision.DISMISS, why="what stands already implies it")
    if case.existing.parent_id in case.above_incoming:
        return RuleDecision(decision=ConflictDecision.UPDATE, why="it says the same more precisely")
    if item.collision_type == CollisionType.MISCLASSIFICATION and case.free_dimension is not None:
        which, what = ("existing_dimension", "what stands") if case.is_existing_misplaced else ("dimension", "it")
        why = f"{what} belongs to another dimension"
        return RuleDecision(decision=ConflictDecision.RECLASSIFY, why=why, **{which: case.free_dimension})
    is_stated = item.is_persons and item.incoming_source == EdgeSource.GUTASK
    if item.collision_type != CollisionType.RETRACTION and is_stated and not case.existing.person_stated:
        return RuleDecision(decision=ConflictDecision.UPDATE, why="a person stated it, and nobody stated the other")
    return None


SURE_OF_UPDATE = 0.8
SURE_OF_REST = 0.6

DECISIONS = {Relation.UPDATE: "update", Relation.SAME: "same", Relation.UNRELATED: "both", Relation.REFINES: "both"}
"""The decision that each judgement implies for a held pair."""


JudgeMemories = Callable[[SpaceId, Conflict, UUID], Awaitable[ArbitrationOutcome]]


def explain_rule_decision(old: Memory, new: Memory) -> str | None:
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


async def judge_memories(deps: MemoryDeps, space: SpaceId, conflict: Conflict, run: UUID) -> ArbitrationOutcome:
    """Judge a conflict of two memories. Call outside transactions."""
    assert conflict.old_memory is not None, "a conflict of memories names both"
    assert conflict.new_memory is not None, "a conflict of memories names both"
    async with deps.store.transaction() as transaction:
        found = await load_existing_memories(transaction, space, [conflict.old_memory, conflict.new_memory])
    old, new = found.get(MemoryId(conflict.old_memory)), found.get(MemoryId(conflict.new_memory))
    if old is None or new is None:
        return ArbitrationOutcome(verdict=None, reason="one of the two is gone")
    if (why := explain_rule_decision(old, new)) is not None:
        verdict = ConflictVerdict(decision="update", judge=ConflictJudge.RULE, by="rule", reasoning=why, run=run)
        return ArbitrationOutcome(verdict=verdict, reason=why)
    [said] = await deps.panel.with_model_all(space, [build_memory_pair(old, new)])
    decision, why = decide_by_judgement(said, old=old, new=new)
    if decision is None:
        return ArbitrationOutcome(verdict=None, reason=why)
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
    return ArbitrationOutcome(verdict=verdict, reason=why)


log = structlog.get_logger(room="consolidation")

Q = load_queries("festinger.consolidation")

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


async def find_resolution_run(deps: WorldDeps, space: SpaceId, run: UUID) -> ResolutionRun:
    row = await deps.store.maybe(Q["resolution_run"], space=space, id=run)
    if row is None:
        raise NoSuchRun(f"There is no run `{run}`.")
    return ResolutionRun(**row)


async def last_resolution_run(deps: WorldDeps, space: SpaceId) -> ResolutionRun | None:
    row = await deps.store.maybe(Q["last_resolution"], space=space)
    return ResolutionRun(**row) if row else None


async def run_conflict_resolution(
    deps: WorldDeps, space: SpaceId, run: UUID, *, model_for: ModelFor, judge_memories: JudgeMemories | None = None
) -> ResolutionReport | None:
    """Execute a run; None if it is already done. Without `judge_memories`, conflicts of memories wait."""
    row = await deps.store.maybe(Q["mark_running"], space=space, id=run)
    if row is None:
        return None
    limit = deps.terms(space).resolution_max_items
    items = await list_pending_conflicts(deps, space, limit=limit + 1, memories=judge_memories is not None)
    model, is_dry = await model_for(space), row["dry_run"]
    worker = _ResolutionWorker(
        deps=deps, space=space, run=run, dry_run=is_dry, model=model, judge_memories=judge_memories
    )
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
class _ResolutionWorker:
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
            await record_undecided_attempt(self.deps, self.space, item.id, reason=f"error: {name}")
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
        ruled = decide_by_rules(case)
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
        said = await ask_arbiter_model(self.model, case, run=self.run)
        self.bill.add(said.cost_usd)
        return said.verdict, said.reason

    async def _wait(self, item: Conflict, reason: str) -> ResolutionStatus:
        if not self.dry_run:
            is_try = reason not in (NO_MODEL, TRIED_ENOUGH)
            await record_undecided_attempt(self.deps, self.space, item.id, reason=reason, is_try=is_try)
        return ResolutionStatus.WAITING
