"""Applies judgements that arrive after a memory was stored, and rechecks memories.

Pairs that no judge at hand was sure of are marked pending until the whole cascade has judged them, in a job
or at once if the caller waits. Asking twice changes nothing. A late judgement carries out the same decision
as during learning: merge duplicates, supersede, hold on conflict, or stay pending. What no judge was sure of
for days is settled as independent; that can be undone.
After an edit, merge, restore or late vector, a memory is compared with all others as if just learned. Missing
vectors are made in batches, newest first, and each affected memory is rechecked.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from festinger.ids import MemoryId, Scope, SpaceId, time_of_id
from festinger.judge.model import (
    TIME,
    Judgement,
    PairFeatures,
    PairJudgement,
    Relation,
    SimilarityThresholds,
    Slot,
    StatementPair,
    WaitingPair,
)
from festinger.memory.changes import (
    ChangeDraft,
    MemoryChangeOp,
    MemoryRelation,
    find_linked_ids,
    find_memory,
    load_existing_memories,
    lock_memories,
    lock_owners,
    update_state,
    write_change,
)
from festinger.memory.deps import MemoryDeps
from festinger.memory.learn.candidates import CandidateComparison, PendingMemory, attach_candidates
from festinger.memory.learn.compare import (
    MOST_ASKED,
    build_judge_statement,
    compare,
    drop_cross_subject_judgement,
    find_duplicates,
    has_same_subject,
)
from festinger.memory.learn.decision import LearnDecision
from festinger.memory.learn.result import Learned, describe_action
from festinger.memory.learn.statement import LearnRequest, Statement
from festinger.memory.learn.supersede import merge_into, order_survivor_first, supersede_all
from festinger.memory.learn.write import DecisionResult, apply_decision, decide_statement, record_judgements
from festinger.memory.model import LearnAction, Memory, Status, memory_from_row, scope_of_memory
from festinger.memory.vectors import MemoryEmbeddingInput, StatementVectors, embed_texts, vector_columns
from festinger.store.pool import PlanMode, Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.memory")


def statement_from_memory(memory: Memory) -> Statement:
    """Convert a memory to a statement made now by its first speaker."""
    request = LearnRequest(
        text=memory.content,
        subject=memory.subject,
        kind=memory.kind,
        origin=memory.origin,
        source=memory.source,
        event_time=memory.event_time,
        valid_from=memory.valid_from,
        tags=memory.tags,
        shared=memory.agent_id is None,
        immutable=memory.immutable,
    )
    slot = None
    if memory.subject_key and memory.attribute_key and memory.value_key:
        slot = Slot(subject=memory.subject_key, attribute=memory.attribute_key, value=memory.value_key)
    return Statement(
        text=memory.content,
        kind=memory.kind,
        subject=memory.subject,
        subject_key=memory.subject_key,
        slot=slot,
        fold=memory.fold,
        gist=memory.gist,
        owner=memory.agent_id,
        trust=memory.trust,
        at=memory.created_at,
        request=request,
    )


def pending_from_memory(memory: Memory, *, by: str) -> PendingMemory:
    return PendingMemory(scope=scope_of_memory(memory), statement=statement_from_memory(memory), ref=memory.id, by=by)


async def apply_judgements_in_transaction(
    deps: MemoryDeps,
    transaction: Transaction,
    memory: Memory,
    compared: Sequence[CandidateComparison],
    *,
    by: str,
    kept: Mapping[MemoryId, UUID] | None = None,
) -> DecisionResult:
    """Apply judgements to a stored memory. The caller has locked its owner, and may have stored them."""
    space = memory.space_id
    ids = [memory.id, *(each.memory.id for each in compared)]
    present = await lock_memories(transaction, space, ids)
    memory = present[memory.id]
    if memory.status is not Status.ACTIVE:
        await _clear_pending(deps, transaction, memory)
        return DecisionResult(action=LearnAction.STORED, memory=memory)
    live = [replace(each, memory=present[each.memory.id]) for each in compared if present[each.memory.id].is_live]
    prepared = pending_from_memory(memory, by=by)
    kept = kept or await record_judgements(deps, transaction, prepared, live)
    decided = decide_statement(deps, prepared, live)
    by_id = {each.memory.id: each for each in live}
    return await _apply_late_decision(deps, transaction, prepared, memory, decided=decided, by_id=by_id, kept=kept)


async def _apply_late_decision(
    deps: MemoryDeps,
    transaction: Transaction,
    prepared: PendingMemory,
    memory: Memory,
    *,
    decided: LearnDecision,
    by_id: Mapping[MemoryId, CandidateComparison],
    kept: Mapping[MemoryId, UUID],
) -> DecisionResult:
    if decided.confirms is not None:
        return await _merge(deps, transaction, memory, by_id[MemoryId(decided.confirms)], kept, by=prepared.who)
    if decided.superseded_by is not None:
        newer = by_id[MemoryId(decided.superseded_by)].memory
        return await _supersede_by(deps, transaction, memory, newer, by=prepared.who, why=decided.why)
    waits = await _has_open_pairs(deps, transaction, memory) if not decided.conflicts else False
    changed = memory
    if decided.conflicts:
        changed = await update_state(transaction, memory, at=deps.clock(), status=Status.HELD, pending=False)
    elif memory.pending is not waits:
        await transaction.run(Q["set_pending"], space=memory.space_id, id=memory.id, pending=waits, at=deps.clock())
        changed = replace(memory, pending=waits)
    return await apply_decision(
        deps, transaction, prepared, changed, decided=decided, compared=by_id, judgements=kept, earlier=memory
    )


async def _merge(
    deps: MemoryDeps,
    transaction: Transaction,
    memory: Memory,
    duplicate: CandidateComparison,
    kept: Mapping[MemoryId, UUID],
    *,
    by: str,
) -> DecisionResult:
    """Handle a late `same`. Held or quarantined memories are not merged: that is up to a person."""
    if duplicate.memory.status is not Status.ACTIVE:
        await _clear_pending(deps, transaction, memory)
        return DecisionResult(action=LearnAction.STORED, memory=memory)
    stays, goes = order_survivor_first(duplicate.memory, memory)
    if stays.agent_id is not None and goes.agent_id is None:
        # A shared memory cannot be merged into one agent's private one.
        stays, goes = goes, stays
    judgement = duplicate.judgement
    merged, change = await merge_into(
        deps, transaction, stays, goes, by=by, reason=judgement.reasoning, judgement=kept.get(duplicate.memory.id)
    )
    return DecisionResult(action=LearnAction.CONFIRMED, memory=merged, change=change, judgement=judgement)


async def _supersede_by(
    deps: MemoryDeps, transaction: Transaction, memory: Memory, newer: Memory, *, by: str, why: str
) -> DecisionResult:
    _, change = await supersede_all(deps, transaction, newer, [memory], by=by, reason=why)
    return DecisionResult(action=LearnAction.STORED, memory=memory, change=change)


async def _has_open_pairs(deps: MemoryDeps, transaction: Transaction, memory: Memory) -> bool:
    waiting = await deps.panel.waiting(transaction, memory.space_id, memory.id)
    return any(each.new_ref == memory.id for each in waiting)


async def _clear_pending(deps: MemoryDeps, transaction: Transaction, memory: Memory) -> None:
    await deps.panel.drop(transaction, memory.space_id, memory.id)
    await transaction.run(Q["set_pending"], space=memory.space_id, id=memory.id, pending=False, at=deps.clock())


def build_comparison(memory: Memory, opinion: PairJudgement, *, similarity: float | None = None) -> CandidateComparison:
    return CandidateComparison(memory=memory, similarity=similarity, opinion=opinion)


POLL_SECONDS = 0.05


async def judge_pending_pairs(
    deps: MemoryDeps, space: SpaceId, memory: UUID, *, by: str = "judge"
) -> DecisionResult | None:
    """Judge the pending pairs of a memory and apply the result; None if nothing is pending."""
    async with deps.store.transaction() as transaction:
        waiting = await deps.panel.waiting(transaction, space, MemoryId(memory))
        found = await load_existing_memories(transaction, space, [memory, *(each.old_ref for each in waiting)])
    new = found.get(MemoryId(memory))
    if new is None or not new.pending:
        return None
    pairs = [build_memory_pair(found[old], new) for old in _list_older_ids(waiting, new) if old in found][:MOST_ASKED]
    answers = await deps.panel.with_model_all(space, pairs)
    compared = [
        build_comparison(
            found[MemoryId(pair.old_ref)],
            PairJudgement(pair=pair, judgement=drop_cross_subject_judgement(pair, judgement)),
        )
        for pair, judgement in zip(pairs, answers, strict=True)
    ]
    return await apply_judgements(deps, new, compared, by=by)


def _list_older_ids(waiting: Sequence[WaitingPair], new: Memory) -> list[MemoryId]:
    """Return what a memory waits to be compared with, without pairs in which it is the older one."""
    return [MemoryId(each.old_ref) for each in waiting if each.new_ref == new.id]


async def load_waiting_pair(deps: MemoryDeps, space: SpaceId, waiting: WaitingPair) -> StatementPair | None:
    """Load a waiting pair with its current memories; None if one of them no longer counts."""
    async with deps.store.transaction() as transaction:
        found = await load_existing_memories(transaction, space, [waiting.old_ref, waiting.new_ref])
    old, new = found.get(MemoryId(waiting.old_ref)), found.get(MemoryId(waiting.new_ref))
    if old is None or new is None or new.status is not Status.ACTIVE or not old.is_live:
        return None
    return build_memory_pair(old, new)


async def apply_pair_judgement(
    deps: MemoryDeps, space: SpaceId, pair: StatementPair, judgement: Judgement, *, by: str = "judge"
) -> DecisionResult | None:
    """Apply the final judgement of a pair that waited."""
    async with deps.store.transaction() as transaction:
        found = await load_existing_memories(transaction, space, [pair.old_ref, pair.new_ref])
    old, new = found.get(MemoryId(pair.old_ref)), found.get(MemoryId(pair.new_ref))
    if old is None or new is None:
        return None
    opinion = PairJudgement(pair=pair, judgement=drop_cross_subject_judgement(pair, judgement))
    return await apply_judgements(deps, new, [build_comparison(old, opinion)], by=by)


async def apply_judgements(
    deps: MemoryDeps, memory: Memory, compared: Sequence[CandidateComparison], *, by: str
) -> DecisionResult:
    """Apply judgements to a memory in a new transaction."""
    async with deps.store.transaction() as transaction:
        await lock_owners(transaction, memory.space_id, [memory.agent_id])
        return await apply_judgements_in_transaction(deps, transaction, memory, compared, by=by)


SETTLER = "job:settle"


async def settle_overdue_pairs(deps: MemoryDeps, space: SpaceId) -> int:
    """Settle pairs that have waited too long as independent; return how many memories no longer wait."""
    rows = await deps.store.all(Q["pending_memories"], space=space)
    return sum([await _settle_overdue(deps, space, row["id"]) for row in rows])


async def _settle_overdue(deps: MemoryDeps, space: SpaceId, memory_id: MemoryId) -> bool:
    """Settle the overdue pairs of one pending memory, and clear its mark if it then waits for nothing."""
    days = deps.terms(space).settle_days
    async with deps.store.transaction() as transaction:
        memory = await find_memory(transaction, space, memory_id)
        await lock_owners(transaction, space, [memory.agent_id])
        waiting = [
            each for each in await deps.panel.waiting(transaction, space, memory.id) if each.new_ref == memory.id
        ]
        before = deps.clock() - timedelta(days=days)
        overdue = {each.old_ref: each.current for each in waiting if days and time_of_id(each.id) <= before}
        if waiting and not overdue:
            return False
        olds = await load_existing_memories(transaction, space, overdue)
        for gone in (each for each in overdue if each not in olds):
            await deps.panel.drop(transaction, space, gone)
        settled = Judgement(
            relation=Relation.UNRELATED,
            confidence=0.5,
            judge=TIME,
            reasoning=f"No judge was sure for {days} days; both stay.",
        )
        compared = [
            build_comparison(
                old,
                PairJudgement(pair=build_memory_pair(old, memory), judgement=replace(settled, current=overdue[old.id])),
            )
            for old in olds.values()
        ]
        kept = dict(
            zip(olds, await deps.panel.keep(transaction, space, [each.opinion for each in compared]), strict=True)
        )
        done = await apply_judgements_in_transaction(deps, transaction, memory, compared, by=SETTLER, kept=kept)
        if kept:
            note = ChangeDraft(
                op=MemoryChangeOp.RELEASE,
                before={memory.id: {"pending": True}},
                after={memory.id: {"pending": done.memory.pending}},
                by=SETTLER,
                reason=settled.reasoning,
                judgement=next(iter(kept.values())),
                more={"settled": [str(old) for old in olds]},
            )
            await write_change(deps, transaction, space, note)
        return not done.memory.pending


def build_memory_pair(old: Memory, new: Memory, features: PairFeatures | None = None) -> StatementPair:
    """Build the pair of two memories for the judges."""
    known = features or PairFeatures(
        bars=SimilarityThresholds(), same_subject=has_same_subject(statement_from_memory(new), old)
    )
    return StatementPair(
        old_ref=old.id,
        new_ref=new.id,
        old=build_judge_statement(old, order=1),
        new=build_judge_statement(new, order=2),
        features=known,
    )


async def attach_settle_callback(deps: MemoryDeps, scope: Scope, learned: Learned) -> Learned:
    """Return the result with a way to wait for its final state."""
    if not learned.pending or learned.memory is None:
        return learned
    memory = learned.memory.id

    async def settle(timeout: float) -> Learned | None:
        until = deps.stopwatch() + timeout
        while True:
            async with deps.store.transaction() as transaction:
                present = await find_memory(transaction, scope.space, memory)
                if not present.pending:
                    return await _build_settled_result(transaction, learned, present)
            if deps.stopwatch() >= until:
                return replace(learned, memory=present)
            await asyncio.sleep(POLL_SECONDS)

    return replace(learned, _settle=settle)


async def _build_settled_result(transaction: Transaction, learned: Learned, memory: Memory) -> Learned:
    """Return what became of a statement once its judgements were in."""
    superseded = await find_linked_ids(transaction, memory.space_id, memory.id, MemoryRelation.SUPERSEDES)
    refined = await find_linked_ids(transaction, memory.space_id, memory.id, MemoryRelation.REFINES)
    action = LearnAction.SUPERSEDED if superseded else LearnAction.REFINED if refined else LearnAction.STORED
    if memory.status is Status.HELD:
        action = LearnAction.CONFLICTED
    if memory.status is Status.MERGED and memory.superseded_by:
        action, memory = LearnAction.CONFIRMED, await find_memory(transaction, memory.space_id, memory.superseded_by)
    return replace(
        learned,
        memory=memory,
        action=action,
        superseded=tuple(superseded),
        pending=False,
        said=describe_action(action, superseded=len(superseded)),
    )


BATCH = 100

Report = Callable[[int], Awaitable[None]]


async def recheck_memory(
    deps: MemoryDeps, space: SpaceId, memory: UUID, *, by: str = "recheck"
) -> DecisionResult | None:
    """Compare a memory with all others and apply the result; None if it is not active."""
    async with deps.store.transaction() as transaction:
        found = (await load_existing_memories(transaction, space, [memory])).get(MemoryId(memory))
    if found is None or found.status is not Status.ACTIVE:
        return None
    [vectors] = await embed_texts(deps, [build_embedding_input(found)])
    pending = replace(pending_from_memory(found, by=by), vectors=vectors)
    async with deps.store.transaction() as transaction:
        if vectors is not None:
            await store_vectors(deps, transaction, found, vectors)
        [duplicate] = await find_duplicates(deps, transaction, space, [pending.statement], other_than=found.id)
        await transaction.plan(PlanMode.KEPT)
        [pending] = await attach_candidates(deps, transaction, space, [pending])
    if duplicate is not None:
        older, newer = sorted((duplicate.memory, found), key=lambda each: each.seq)
        opinion = PairJudgement(pair=build_memory_pair(older, newer), judgement=duplicate.judgement)
        same = CandidateComparison(memory=duplicate.memory, similarity=1.0, opinion=opinion)
        return await apply_judgements(deps, found, [same], by=by)
    # Later memories were compared with this one when they came.
    others = tuple(each for each in pending.candidates if each.memory.seq < found.seq or not each.memory.is_live)
    [pending] = await compare(deps, space, [replace(pending, candidates=others)])
    return await apply_judgements(deps, found, pending.compared, by=by)


def build_embedding_input(memory: Memory) -> MemoryEmbeddingInput:
    return MemoryEmbeddingInput(text=memory.content, kind=memory.kind, stored_as=memory.content_contextualized)


async def store_vectors(deps: MemoryDeps, transaction: Transaction, memory: Memory, vectors: StatementVectors) -> None:
    """Store the vectors of a memory in place of those of its former wording."""
    await transaction.run(
        Q["put_vectors"], space=memory.space_id, memory=memory.id, at=deps.clock(), **vector_columns(vectors)
    )


async def null_progress(_done: int) -> None:
    """For callers that want no progress."""


async def embed_missing_memories(deps: MemoryDeps, space: SpaceId, *, report: Report = null_progress) -> int:
    """Embed memories without vectors in batches and recheck each; return how many."""
    embedder, done = deps.embedder(), 0
    if embedder is None:
        return 0
    while True:
        rows = await deps.store.all(Q["unembedded"], space=space, model=embedder.name, limit=BATCH)
        made = await _embed_batch(deps, rows)
        done += made
        await report(done)
        # A text that cannot be embedded now does not block others: the next run retries it.
        if not made or len(rows) < BATCH:
            return done


async def _embed_batch(deps: MemoryDeps, rows: Sequence[Mapping[str, Any]]) -> int:
    memories = [memory_from_row(row) for row in rows]
    vectors = await embed_texts(deps, [build_embedding_input(memory) for memory in memories])
    pairs = [(memory, made) for memory, made in zip(memories, vectors, strict=True) if made is not None]
    if not pairs:
        return 0
    async with deps.store.transaction() as transaction:
        for memory, made in pairs:
            await store_vectors(deps, transaction, memory, made)
    was_compared = {row["id"] for row in rows if row["was_compared"]}
    for memory, _ in reversed(pairs):
        if memory.id not in was_compared:
            await recheck_memory(deps, memory.space_id, memory.id)
    return len(pairs)
