"""Writes the statements of a batch in one transaction.

Duplicates within a batch are found, because earlier writes of the same transaction are visible. Most statements
are simply new and affect nothing else. `BatchWriter` decides those one by one, also against the ones before
them, and writes them together in a handful of queries. The rest are written one by one, each in a savepoint.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from festinger.errors import FestingerError, StoreDown
from festinger.ids import MemoryId, Scope
from festinger.memory.changes import lock_existing_memories, lock_owners
from festinger.memory.deps import MemoryDeps
from festinger.memory.learn.candidates import (
    DIGITS,
    CandidateComparison,
    LearnCandidate,
    PendingMemory,
    find_newer_candidates,
    load_newest_seqs,
)
from festinger.memory.learn.compare import LITTLE_TRUST, MOST_ASKED, compare_by_rules, find_echo
from festinger.memory.learn.decision import LearnDecision
from festinger.memory.learn.intake import LearnRefusal
from festinger.memory.learn.result import Learned, build_error_result, build_learned_event, build_result
from festinger.memory.learn.statement import Statement
from festinger.memory.learn.store import build_unsaved_memory, store_memories
from festinger.memory.learn.write import (
    add_newer_comparisons,
    decide_statement,
    find_deciding_judgement,
    is_worth_recording,
    may_be_affected,
    record_pair_judgements,
    refresh_comparisons,
    try_write_learn_item,
)
from festinger.memory.model import Memory
from festinger.memory.vectors import StatementVectors
from festinger.store.pool import Transaction


class BatchWriter:
    """Writes the simply new statements of one batch together. Their owners are locked."""

    def __init__(
        self,
        deps: MemoryDeps,
        transaction: Transaction,
        scope: Scope,
        *,
        judged: Mapping[MemoryId, Sequence[CandidateComparison]],
        present: Mapping[MemoryId, Memory],
    ) -> None:
        self._deps, self._transaction, self._scope = deps, transaction, scope
        self._judged, self._present = judged, present
        self._stored: list[tuple[Memory, NDArray[np.float32]]] = []
        """What the batch has stored so far, or is about to, with unit vectors."""
        self._changed: set[MemoryId] = set()
        self._accepted: list[tuple[PendingMemory, LearnDecision]] = []

    def accept_if_new(self, prepared: PendingMemory) -> bool:
        """Accept a statement if it is simply new."""
        judged, vectors = self._judged.get(prepared.ref), prepared.vectors
        if judged is None or vectors is None:
            return False
        # What this transaction stores is as it was judged: nobody else can see it.
        company = compare_by_rules(self._deps, prepared, self._find_stored(prepared.statement, vectors))
        compared = [*refresh_comparisons(self._deps, prepared, judged, self._present), *company]
        if find_echo(prepared, compared) or any(each.memory.id in self._changed for each in compared):
            return False
        decided = decide_statement(self._deps, prepared, compared)
        if not decided.is_simply_new:
            return False
        self._accepted.append((replace(prepared, compared=tuple(compared)), decided))
        self._stored.append(
            (build_unsaved_memory(self._deps, prepared, pending=bool(decided.waits_for)), _unit(vectors))
        )
        return True

    def note(self, learned: Learned, prepared: PendingMemory | None) -> None:
        """Record the result of a statement written separately, so that later ones are compared with it."""
        self._changed.update(learned.superseded)
        if learned.memory is None:
            return
        if prepared is not None and prepared.vectors is not None and learned.memory.id == prepared.ref:
            self._stored.append((learned.memory, _unit(prepared.vectors)))
        else:
            self._changed.add(learned.memory.id)

    async def write_accepted(self) -> dict[MemoryId, PendingMemory | Learned]:
        """Write what was accepted since the last call; if the store rejects the group, each separately."""
        accepted, self._accepted = self._accepted, []
        if not accepted:
            return {}
        try:
            async with self._transaction.savepoint():
                return await self._write_group(accepted)
        except StoreDown:
            raise
        except FestingerError:
            return {each.ref: await self.write_alone(each) for each, _ in accepted}

    async def write_alone(self, item: PendingMemory | LearnRefusal | Learned) -> PendingMemory | Learned:
        if isinstance(item, Learned):
            return item
        try:
            async with self._transaction.savepoint():
                return await try_write_learn_item(self._deps, self._transaction, self._scope, item, locked=True)
        except StoreDown:
            raise
        except FestingerError as error:
            return build_error_result(error)

    async def _write_group(
        self, accepted: Sequence[tuple[PendingMemory, LearnDecision]]
    ) -> dict[MemoryId, PendingMemory | Learned]:
        deps, transaction, space = self._deps, self._transaction, self._scope.space
        found = await store_memories(deps, transaction, [(each, bool(made.waits_for)) for each, made in accepted])
        memories = [memory for memory in found if memory is not None]
        if len(memories) < len(accepted):
            # Last guard: a writer that no lock kept out stored the same words. One by one they get confirmed.
            raise StoreDown("The same statement is being learnt by another.", hint="Try again.", kind="busy")
        opinions = [
            compared.opinion
            for each, decided in accepted
            for compared in each.compared
            if is_worth_recording(compared, decided.waits_for[:MOST_ASKED])
        ]
        await record_pair_judgements(deps, transaction, space, opinions)
        stored = [(*each, memory) for each, memory in zip(accepted, memories, strict=True)]
        events = [build_learned_event(each, memory, decided.action) for each, decided, memory in stored]
        # Nobody else knows of new memories before they are committed: there is nothing to lock.
        await deps.outbox.emit_all(transaction, events, space=space, held={each.subject for each in events})
        return {memory.id: _build_new_result(each, decided, memory) for each, decided, memory in stored}

    def _find_stored(self, statement: Statement, vectors: StatementVectors) -> list[LearnCandidate]:
        """Return the memories of this batch that are visible to the speaker, with their cosine."""
        if not self._stored:
            return []
        kinds = statement.comparable_kinds
        cosines = np.stack([unit for _, unit in self._stored]) @ _unit(vectors)
        return [
            LearnCandidate(memory=memory, similarity=round(float(cosine), DIGITS))
            for (memory, _), cosine in zip(self._stored, cosines, strict=True)
            if memory.kind in kinds and memory.agent_id in (None, statement.owner)
        ]


def _unit(vectors: StatementVectors) -> NDArray[np.float32]:
    values: NDArray[np.float32] = vectors.compare.vector.to_numpy().astype(np.float32)
    return values / max(float(np.linalg.norm(values)), 1e-12)


def _build_new_result(prepared: PendingMemory, decided: LearnDecision, memory: Memory) -> Learned:
    judgement = find_deciding_judgement(decided, {each.memory.id: each for each in prepared.compared})
    learned = build_result(decided.action, prepared, memory, compared=prepared.compared, judgement=judgement)
    return replace(learned, pending=bool(decided.waits_for))


async def prepare_batch_writer(
    deps: MemoryDeps, transaction: Transaction, scope: Scope, pending: Sequence[PendingMemory]
) -> BatchWriter:
    """Compare with what came since these were judged, and lock what they affect. Owners are locked."""
    fit = [each for each in pending if can_write_in_batch(deps, each)]
    owners = {each.statement.owner: None for each in fit}
    horizons = {owner: await load_newest_seqs(transaction, scope.space, owner) for owner in owners}
    judged = {}
    for each in fit:
        came = horizons[each.statement.owner] != each.seen
        newer = await find_newer_candidates(transaction, scope.space, each) if came else []
        judged[each.ref] = add_newer_comparisons(deps, each, newer)
    touched = [each.memory.id for many in judged.values() for each in many if may_be_affected(each)]
    present = await lock_existing_memories(transaction, scope.space, touched)
    return BatchWriter(deps, transaction, scope, judged=judged, present=present)


def can_write_in_batch(deps: MemoryDeps, prepared: PendingMemory) -> bool:
    """Whether only its candidates can affect a statement.

    That takes no idempotency key, no sources, no doubt about the speaker, and a vector.
    """
    statement, request = prepared.statement, prepared.request
    is_free = statement.trust >= LITTLE_TRUST or request.imported
    is_trusted = is_free or not deps.terms(prepared.scope.space).memory.quarantine
    is_tied = request.key is not None or bool(request.derived_from or request.turns)
    return prepared.vectors is not None and is_trusted and not is_tied and not statement.suspicions


async def write_batch(
    deps: MemoryDeps, transaction: Transaction, scope: Scope, items: Sequence[PendingMemory | LearnRefusal | Learned]
) -> list[PendingMemory | Learned]:
    """Write in order: simply new statements together, the others separately."""
    pending = [each for each in items if isinstance(each, PendingMemory)]
    await lock_owners(transaction, scope.space, [each.statement.owner for each in pending])
    writer = await prepare_batch_writer(deps, transaction, scope, pending)
    alone: dict[int, PendingMemory | Learned] = {}
    together: dict[MemoryId, PendingMemory | Learned] = {}
    for number, each in enumerate(items):
        statement = each if isinstance(each, PendingMemory) else None
        if statement is not None and writer.accept_if_new(statement):
            continue
        together |= await writer.write_accepted()
        written = alone[number] = await writer.write_alone(each)
        if isinstance(written, Learned):
            writer.note(written, statement)
    together |= await writer.write_accepted()
    return [
        alone[number] if number in alone or not isinstance(each, PendingMemory) else together[each.ref]
        for number, each in enumerate(items)
    ]
