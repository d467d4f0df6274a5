"""Writes a statement and its effects in one transaction.

Lock the owner, compare with what others stored since, decide, and write everything with its events. Judges
and embedders were asked before; missing answers are enqueued in the same transaction.

Locks are taken in this order, to avoid deadlocks, and released at the end of the transaction:

    1. the world of the space    `lock_world`: decisions, repairs, erasure, approved proposals, and
                                 whatever changes memories and edges together
    2. owners of memories        `lock_owners`: whoever stores memories, or must know that nobody else does
    3. memories, by id           `lock_memories`, `lock_memories_in_order`: whoever changes some
    4. what depends on memories  their changes, conflicts, episodes, and the proposals that cite them

A repeated statement counts a sighting of its conflict while holding the memory but not the world. So
conflicts are read without a lock, and a decision locks its memories before writing; the world lock keeps
other deciders out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

from festinger.errors import StoreDown
from festinger.ids import MemoryId, Origin, Scope, SpaceId
from festinger.judge.model import Judgement, PairJudgement, Relation
from festinger.memory.changes import (
    ChangeDraft,
    MemoryChangeOp,
    MemoryRelation,
    add_links,
    lock_existing_memories,
    lock_memory,
    lock_owners,
    write_change,
)
from festinger.memory.deps import MemoryDeps
from festinger.memory.learn.candidates import CandidateComparison, LearnCandidate, PendingMemory, find_newer_candidates
from festinger.memory.learn.compare import (
    BURST_WINDOW,
    LITTLE_TRUST,
    MOST_ASKED,
    Suspicion,
    compare_by_rules,
    find_duplicates,
    find_echo,
    is_burst,
    is_contradiction_spike,
)
from festinger.memory.learn.confirm import record_confirmation
from festinger.memory.learn.decision import LearnDecision, decide
from festinger.memory.learn.intake import LearnRefusal, record_refusal, run_idempotent
from festinger.memory.learn.result import Learned, build_learned_event, build_result, emit_learn_event
from festinger.memory.learn.store import store_memory
from festinger.memory.learn.supersede import record_superseded_on_arrival, supersede_all
from festinger.memory.model import LearnAction, Memory, Status
from festinger.observability.metrics import MEMORY_JUDGED
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.world.conflicts import DELIBERATE, open_memory_conflict

Judgements = Mapping[MemoryId, UUID]
"""The id of the stored judgement of each candidate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionResult:
    """What carrying out a decision did."""

    action: LearnAction
    memory: Memory
    change: UUID | None = None
    conflict: UUID | None = None
    superseded: tuple[MemoryId, ...] = ()
    judgement: Judgement | None = None
    """The deciding judgement."""


async def apply_decision(
    deps: MemoryDeps,
    transaction: Transaction,
    prepared: PendingMemory,
    memory: Memory,
    *,
    decided: LearnDecision,
    compared: Mapping[MemoryId, CandidateComparison],
    judgements: Judgements,
    earlier: Memory | None = None,
) -> DecisionResult:
    """Carry out a decision. `earlier` is the former state of a memory that already existed."""
    deciding = find_deciding_judgement(decided, compared)
    done = DecisionResult(action=decided.action, memory=memory, judgement=deciding)
    if decided.superseded_by and earlier is None:
        by_memory = MemoryId(decided.superseded_by)
        change = await record_superseded_on_arrival(
            deps, transaction, memory, by_memory=by_memory, by=prepared.who, reason=decided.why
        )
        return replace(done, change=change)
    if decided.conflicts:
        against = [compared[MemoryId(each)] for each in decided.conflicts]
        conflict = await open_conflicts(deps, transaction, prepared, memory, against=against, judgements=judgements)
        return replace(done, conflict=conflict)
    if decided.supersedes:
        olds = [compared[MemoryId(each)].memory for each in decided.supersedes]
        fresh, change = await supersede_all(
            deps,
            transaction,
            memory,
            olds,
            by=prepared.who,
            reason=decided.why,
            cause=prepared.cause,
            judgements={old.id: judgements[old.id] for old in olds if old.id in judgements},
            earlier=earlier,
        )
        done = replace(done, memory=fresh, superseded=tuple(old.id for old in olds), change=change)
    refined = [MemoryId(each) for each in decided.refines]
    await add_links(
        transaction,
        memory.space_id,
        memory.id,
        MemoryRelation.REFINES,
        to=refined,
        at=deps.clock(),
        judgements=judgements,
    )
    return done


async def open_conflicts(
    deps: MemoryDeps,
    transaction: Transaction,
    prepared: PendingMemory,
    memory: Memory,
    *,
    against: Sequence[CandidateComparison],
    judgements: Judgements,
) -> UUID | None:
    """Queue a conflict between a held memory and each one it contradicts; return the first."""
    olds = [each.memory.id for each in against]
    at, is_deliberate = deps.clock(), prepared.request.asked and memory.origin is Origin.PERSON
    await add_links(
        transaction, memory.space_id, memory.id, MemoryRelation.CONTRADICTS, to=olds, at=at, judgements=judgements
    )
    opened = []
    for each in against:
        conflict = await open_memory_conflict(
            deps.world,
            transaction,
            memory.space_id,
            old=each.memory.id,
            new=memory.id,
            judgement=judgements.get(each.memory.id),
            kind=each.judgement.relation.value,
            priority=DELIBERATE if is_deliberate else 0,
        )
        opened.append(conflict)
        payload = {"against": str(each.memory.id), "conflict": str(conflict)}
        await emit_learn_event(deps, transaction, prepared, "memory_held", memory, **payload)
    return opened[0] if opened else None


Q = load_queries("festinger.memory")

NO_NEWS = "no_news"


async def try_write_learn_item(
    deps: MemoryDeps,
    transaction: Transaction,
    scope: Scope,
    item: PendingMemory | LearnRefusal | Learned,
    *,
    locked: bool = False,
) -> PendingMemory | Learned:
    """Write one item, unless a call with the same key already did.

    A statement whose duplicate has changed since comes back, to take the steps of a new one.
    """
    if isinstance(item, Learned):
        return item
    if isinstance(item, LearnRefusal):
        write = partial(record_refusal, deps, transaction, scope, item)
    elif (duplicate := item.duplicate) is None:
        write = partial(write_statement, deps, transaction, item, locked=locked)
    elif duplicate.memory.id in item.surfaced:
        return build_result(LearnAction.ECHOED, item, duplicate.memory, judgement=duplicate.judgement)
    else:
        present = await lock_memory(transaction, scope.space, duplicate.memory.id)
        if not present.is_live or present.fold != duplicate.memory.fold:
            return replace(item, duplicate=None)
        write = partial(record_confirmation, deps, transaction, item, replace(duplicate, memory=present))
    learned = await run_idempotent(deps, transaction, scope, item.request, write)
    deps.step("written")
    return learned


async def write_statement(
    deps: MemoryDeps, transaction: Transaction, prepared: PendingMemory, *, locked: bool = False
) -> Learned:
    """Write a statement and its effects; `locked` says that its owner is locked already."""
    scope, statement = prepared.scope, prepared.statement
    if not locked:
        await lock_owners(transaction, scope.space, [statement.owner])
    deps.step("locked")
    compared = await _load_comparisons(deps, transaction, prepared)
    if (echo := find_echo(prepared, compared)) is not None:
        return build_result(LearnAction.ECHOED, prepared, echo.memory, compared=[echo], judgement=echo.judgement)
    reasons = await _find_quarantine_reasons(deps, transaction, prepared, compared)
    if reasons:
        return await _quarantine(deps, transaction, prepared, compared, reasons=reasons)
    decided = decide_statement(deps, prepared, compared)
    deps.step("decided")
    if prepared.request.only_as_news and decided.action is not LearnAction.SUPERSEDED:
        return build_result(LearnAction.REFUSED, prepared, None, compared=compared, reasons=(NO_NEWS,))
    if decided.confirms is not None:
        return await _confirm_target(deps, transaction, prepared, compared, decided)
    return await _store_new(deps, transaction, prepared, compared, decided)


def decide_statement(
    deps: MemoryDeps, prepared: PendingMemory, compared: Sequence[CandidateComparison]
) -> LearnDecision:
    statement, limits = prepared.statement, deps.terms(prepared.scope.space).limits
    return decide([each.judged for each in compared], limits, trust=statement.trust, origin=statement.origin)


async def _load_comparisons(
    deps: MemoryDeps, transaction: Transaction, prepared: PendingMemory
) -> list[CandidateComparison]:
    """Return the judged candidates as they are now."""
    newer = await find_newer_candidates(transaction, prepared.scope.space, prepared)
    judged = add_newer_comparisons(deps, prepared, newer)
    present = await lock_existing_memories(
        transaction, prepared.scope.space, [each.memory.id for each in judged if may_be_affected(each)]
    )
    return refresh_comparisons(deps, prepared, judged, present)


def add_newer_comparisons(
    deps: MemoryDeps, prepared: PendingMemory, newer: Sequence[LearnCandidate]
) -> list[CandidateComparison]:
    """Add comparisons by rules with memories that came since."""
    known = {each.memory.id for each in prepared.compared}
    fresh = [each for each in newer if each.memory.id not in known]
    return [*prepared.compared, *compare_by_rules(deps, prepared, fresh)]


def may_be_affected(compared: CandidateComparison) -> bool:
    """Whether a memory may be affected and so must be locked."""
    return compared.judgement.relation is not Relation.UNRELATED


def refresh_comparisons(
    deps: MemoryDeps, prepared: PendingMemory, judged: Sequence[CandidateComparison], present: Mapping[MemoryId, Memory]
) -> list[CandidateComparison]:
    """Drop memories that are gone and judge reworded ones anew; `present` are the locked ones."""
    found = []
    for each in judged:
        now = present.get(each.memory.id) if may_be_affected(each) else each.memory
        if now is None or not now.is_live:
            continue
        if now.fold != each.memory.fold:
            changed = LearnCandidate(memory=now, similarity=None)
            found += compare_by_rules(deps, replace(prepared, vectors=None), [changed])
            continue
        found.append(replace(each, memory=now))
    return found


async def _find_quarantine_reasons(
    deps: MemoryDeps, transaction: Transaction, prepared: PendingMemory, compared: Sequence[CandidateComparison]
) -> tuple[str, ...]:
    """Why a statement is quarantined; empty if it is not."""
    statement, terms = prepared.statement, deps.terms(prepared.scope.space).memory
    if not terms.quarantine or statement.suspicions or statement.trust >= LITTLE_TRUST:
        return statement.suspicions
    if is_contradiction_spike(statement.trust, compared):
        return (Suspicion.SPIKE.value,)
    if statement.request.imported or any(each.judgement.relation is Relation.SAME for each in compared):
        return ()
    births = await transaction.value(
        Q["births_of_cause"],
        space=prepared.scope.space,
        session=prepared.scope.session,
        agent=prepared.scope.agent,
        origin=statement.origin.value,
        since=statement.at - BURST_WINDOW,
    )
    return (Suspicion.BURST.value,) if is_burst(statement.trust, births=births, limit=terms.burst_limit) else ()


async def _confirm_target(
    deps: MemoryDeps,
    transaction: Transaction,
    prepared: PendingMemory,
    compared: Sequence[CandidateComparison],
    decided: LearnDecision,
) -> Learned:
    """Record a sighting instead of a new memory."""
    target = next(each for each in compared if each.memory.id == decided.confirms)
    kept = await deps.panel.keep(
        transaction,
        prepared.scope.space,
        [replace(target.opinion, pair=replace(target.opinion.pair, new_ref=target.memory.id))],
    )
    return await record_confirmation(deps, transaction, prepared, target, kept=kept[0] if kept else None)


async def _quarantine(
    deps: MemoryDeps,
    transaction: Transaction,
    prepared: PendingMemory,
    compared: Sequence[CandidateComparison],
    *,
    reasons: tuple[str, ...],
) -> Learned:
    """Store a statement in quarantine; a repeat in the same words is a sighting of the first."""
    suspect = replace(prepared, statement=replace(prepared.statement, suspicions=reasons))
    duplicate = await _lock_duplicate(deps, transaction, prepared)
    if duplicate is not None and duplicate.memory.fold == prepared.statement.fold:
        return await record_confirmation(deps, transaction, suspect, duplicate)
    memory = await store_memory(deps, transaction, prepared, status=Status.QUARANTINED, counted=False)
    if memory is None:
        return await _confirm_exact_duplicate(deps, transaction, suspect)
    note = ChangeDraft(
        op=MemoryChangeOp.QUARANTINE,
        before={},
        after={memory.id: {"status": Status.QUARANTINED}},
        by=prepared.who,
        reason=", ".join(reasons),
        cause=prepared.cause,
    )
    change = await write_change(deps, transaction, prepared.scope.space, note)
    event = build_learned_event(prepared, memory, LearnAction.QUARANTINED)
    await deps.outbox.emit_all(transaction, [event], space=memory.space_id, held=[event.subject])
    await emit_learn_event(deps, transaction, prepared, "memory_quarantined", memory, reason=", ".join(reasons)[:200])
    learned = build_result(LearnAction.QUARANTINED, prepared, memory, compared=compared, reasons=reasons)
    return replace(learned, change=change)


async def _store_new(
    deps: MemoryDeps,
    transaction: Transaction,
    prepared: PendingMemory,
    compared: Sequence[CandidateComparison],
    decided: LearnDecision,
) -> Learned:
    """Store a new memory and apply its effects."""
    by_id = {each.memory.id: each for each in compared}
    newer = by_id[MemoryId(decided.superseded_by)].memory if decided.superseded_by else None
    status = Status.HELD if decided.conflicts else Status.SUPERSEDED if newer else Status.ACTIVE
    waits = decided.waits_for[:MOST_ASKED] if status is Status.ACTIVE else ()
    memory = await store_memory(deps, transaction, prepared, status=status, pending=bool(waits), superseded_by=newer)
    if memory is None:
        return await _confirm_exact_duplicate(deps, transaction, prepared)
    kept = await record_judgements(
        deps, transaction, prepared, [each for each in compared if is_worth_recording(each, waits)]
    )
    done = await apply_decision(deps, transaction, prepared, memory, decided=decided, compared=by_id, judgements=kept)
    event = build_learned_event(prepared, done.memory, decided.action)
    await deps.outbox.emit_all(transaction, [event], space=memory.space_id, held=[event.subject])
    learned = build_result(
        decided.action,
        prepared,
        done.memory,
        compared=compared,
        judgement=done.judgement,
        superseded=-1 if newer else len(done.superseded),
    )
    return replace(learned, pending=bool(waits), superseded=done.superseded, change=done.change, conflict=done.conflict)


async def _confirm_exact_duplicate(deps: MemoryDeps, transaction: Transaction, prepared: PendingMemory) -> Learned:
    """Last guard: the index holds an exact duplicate that was not seen before."""
    duplicate = await _lock_duplicate(deps, transaction, prepared)
    if duplicate is None:
        raise StoreDown("The same statement is being learnt by another.", hint="Try again.", kind="busy")
    return await record_confirmation(deps, transaction, prepared, duplicate)


async def _lock_duplicate(
    deps: MemoryDeps, transaction: Transaction, prepared: PendingMemory
) -> CandidateComparison | None:
    [found] = await find_duplicates(deps, transaction, prepared.scope.space, [prepared.statement])
    return (
        replace(found, memory=await lock_memory(transaction, found.memory.space_id, found.memory.id)) if found else None
    )


async def record_judgements(
    deps: MemoryDeps, transaction: Transaction, prepared: PendingMemory, compared: Sequence[CandidateComparison]
) -> dict[MemoryId, UUID]:
    """Store the judgements of some pairs; return their ids by candidate."""
    ids = await record_pair_judgements(deps, transaction, prepared.scope.space, [each.opinion for each in compared])
    return {each.memory.id: kept for each, kept in zip(compared, ids, strict=True)}


async def record_pair_judgements(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, opinions: Sequence[PairJudgement]
) -> list[UUID]:
    ids = await deps.panel.keep(transaction, space, opinions) if opinions else []
    for opinion in opinions:
        MEMORY_JUDGED.labels(_kind_of_judge(opinion.judgement), opinion.judgement.relation.value).inc()
    return ids


def _kind_of_judge(judgement: Judgement) -> str:
    """Strip model and person names, which must not become metric labels."""
    return judgement.judge.partition(":")[0].partition("@")[0]


def is_worth_recording(compared: CandidateComparison, waits: Sequence[UUID]) -> bool:
    """Whether to store a judgement: what rules find unrelated, they will find so again."""
    judgement = compared.judgement
    if not judgement.final or judgement.relation is Relation.UNSURE:
        return compared.memory.id in waits
    return judgement.relation is not Relation.UNRELATED or not judgement.judge.startswith("rules")


def find_deciding_judgement(
    decided: LearnDecision, compared: Mapping[MemoryId, CandidateComparison]
) -> Judgement | None:
    """Return the judgement behind the action."""
    piles = (decided.conflicts, decided.supersedes, decided.waits_for, decided.refines)
    chosen = decided.superseded_by or next((pile[0] for pile in piles if pile), None)
    return compared[MemoryId(chosen)].judgement if chosen else None
