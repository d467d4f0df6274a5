"""Learns many statements at once, in batches of a hundred.

A batch is classified in one transaction, embedded in one call, looked up in one transaction, judged together,
and written in another transaction. Duplicates within a batch are found, because earlier writes of the same
transaction are visible. A bad item returns its own error and stops no other; finished batches stay.
Most statements are simply new and affect nothing else. `BatchWriter` decides those one by one, also against
the ones before them, and writes them together in a handful of queries. The rest are written one by one, each
in a savepoint.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from festinger.clock import Stopwatch
from festinger.errors import FestingerError, StoreDown, TooLarge
from festinger.ids import MemoryId, SpaceId
from festinger.memory.changes import lock_existing_memories
from festinger.memory.deps import MemoryDeps, refresh_statistics
from festinger.memory.late_judgements import attach_settle
from festinger.memory.learn.candidates import (
    DIGITS,
    LearnCandidate,
    find_candidates_for_all,
    find_horizon,
    find_newer_candidates,
)
from festinger.memory.learn.compare import (
    LITTLE_TRUST,
    MOST_ASKED,
    CandidateComparison,
    CompareRequest,
    PendingMemory,
    build_newcomer,
    compare_all,
    compare_by_rules,
    find_echo,
)
from festinger.memory.learn.decision import Action, LearnDecision, decide
from festinger.memory.learn.pipeline import (
    DuplicateStatement,
    Known,
    apply_early_result,
    classify_requests,
    count_result,
    learn,
    load_possible_echoes,
    to_embedding_input,
    write_idempotent,
    write_with_retries,
)
from festinger.memory.learn.result import Learned, build_fact_event, build_result
from festinger.memory.learn.statement import LearnRequest, ParsedStatement
from festinger.memory.learn.store import preview_memory, store_memories
from festinger.memory.learn.write import (
    add_newer_comparisons,
    find_deciding_judgement,
    is_affected,
    is_worth_recording,
    lock_owners,
    record_opinions,
    refresh_comparisons,
)
from festinger.memory.model import Memory, Scope, comparable_kinds
from festinger.memory.vectors import StatementVectors, embed_texts
from festinger.store.pool import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class NewStatement:
    """A statement that is simply new."""

    prepared: PendingMemory
    compared: Sequence[CandidateComparison]
    decided: LearnDecision

    @property
    def waits_for(self) -> tuple[MemoryId, ...]:
        return tuple(map(MemoryId, self.decided.waits_for[:MOST_ASKED]))

    def become(self, memory: Memory) -> Learned:
        """Build the result for the caller from the stored memory."""
        by_id = {each.memory.id: each for each in self.compared}
        learned = build_result(
            self.decided.action,
            self.prepared,
            memory,
            compared=self.compared,
            judgement=find_deciding_judgement(self.decided, by_id),
        )
        return replace(learned, pending=bool(self.waits_for))


@dataclass(slots=True)
class BatchStoredMemories:
    """What a batch has stored so far, or is about to."""

    memories: list[Memory] = field(default_factory=list)
    _directions: list[NDArray[np.float32]] = field(default_factory=list)

    def add(self, memory: Memory, vectors: StatementVectors) -> None:
        self.memories.append(memory)
        self._directions.append(_direction(vectors))

    def seen_by(self, said: ParsedStatement, vectors: StatementVectors) -> list[LearnCandidate]:
        """Return the memories visible to this speaker, with their cosine."""
        if not self.memories:
            return []
        kinds = comparable_kinds(said.kind)
        cosines = np.stack(self._directions) @ _direction(vectors)
        return [
            LearnCandidate(memory=memory, similarity=round(float(cosine), DIGITS))
            for memory, cosine in zip(self.memories, cosines, strict=True)
            if memory.kind in kinds and memory.agent_id in (None, said.owner)
        ]


def _direction(vectors: StatementVectors) -> NDArray[np.float32]:
    values: NDArray[np.float32] = vectors.compare.vector.to_numpy().astype(np.float32)
    return values / max(float(np.linalg.norm(values)), 1e-12)


class BatchWriter:
    """Writes the simply new statements of one batch together. Their owners are locked."""

    def __init__(
        self,
        deps: MemoryDeps,
        space: SpaceId,
        *,
        judged: Mapping[MemoryId, Sequence[CandidateComparison]],
        present: Mapping[MemoryId, Memory],
    ) -> None:
        self._deps, self._space = deps, space
        self._judged, self._present = judged, present
        self._company = BatchStoredMemories()
        self._changed: set[MemoryId] = set()
        self.arrivals: list[NewStatement] = []

    def takes(self, prepared: PendingMemory) -> bool:
        """Accept a statement if it is simply new."""
        judged, vectors = self._judged.get(prepared.ref), prepared.vectors
        if judged is None or vectors is None:
            return False
        company = compare_by_rules(
            self._deps, prepared.said, self._company.seen_by(prepared.said, vectors), ref=prepared.ref, vectors=vectors
        )
        # What this transaction stores is as it was judged: nobody else can see it.
        compared = [*refresh_comparisons(self._deps, prepared, judged, self._present), *company]
        if find_echo(prepared, compared) or any(each.memory.id in self._changed for each in compared):
            return False
        limits = self._deps.terms(self._space).limits
        decided = decide(build_newcomer(prepared.said), [each.judged for each in compared], limits)
        if not decided.is_simply_new:
            return False
        arrival = NewStatement(prepared=prepared, compared=compared, decided=decided)
        self.arrivals.append(arrival)
        self._company.add(preview_memory(self._deps, prepared, pending=bool(arrival.waits_for)), vectors)
        return True

    def note(self, learned: Learned, prepared: PendingMemory | None) -> None:
        """Record the result of a statement written separately, so that later ones are compared with it."""
        self._changed.update(learned.superseded)
        if learned.memory is None:
            return
        if prepared is not None and prepared.vectors is not None and learned.memory.id == prepared.ref:
            self._company.add(learned.memory, prepared.vectors)
        else:
            self._changed.add(learned.memory.id)

    async def write(self, transaction: Transaction) -> dict[MemoryId, Learned]:
        """Write the statements accepted since the last call; return the results by memory id."""
        arrivals, self.arrivals = self.arrivals, []
        found = await store_memories(
            self._deps, transaction, [(each.prepared, bool(each.waits_for)) for each in arrivals]
        )
        memories = [memory for memory in found if memory is not None]
        if len(memories) < len(arrivals):
            # Last guard: a writer that no lock kept out stored the same words. One by one they get confirmed.
            raise StoreDown("The same statement is being learnt by another.", hint="Try again.", kind="busy")
        opinions = [
            compared.opinion
            for each in arrivals
            for compared in each.compared
            if is_worth_recording(compared, each.waits_for)
        ]
        await record_opinions(self._deps, transaction, self._space, opinions)
        told_of = [
            build_fact_event(each.prepared, memory, each.decided.action)
            for each, memory in zip(arrivals, memories, strict=True)
        ]
        await self._deps.outbox.emit_all(transaction, told_of, space=self._space)
        return {memory.id: each.become(memory) for each, memory in zip(arrivals, memories, strict=True)}


async def build_recheck(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, prepared: Sequence[PendingMemory]
) -> BatchWriter:
    """Compare with what came since these were judged, and lock what they affect. Owners are locked."""
    fit = [each for each in prepared if can_write_in_batch(deps, each)]
    far = {owner: await find_horizon(transaction, space, owner) for owner in {each.said.owner: None for each in fit}}
    judged = {}
    for each in fit:
        came = far[each.said.owner] != each.seen
        newer = (
            await find_newer_candidates(transaction, space, each.said, seen=each.seen, vectors=each.vectors)
            if came
            else []
        )
        judged[each.ref] = add_newer_comparisons(deps, each, newer)
    touched = [each.memory.id for many in judged.values() for each in many if is_affected(each)]
    return BatchWriter(deps, space, judged=judged, present=await lock_existing_memories(transaction, space, touched))


def can_write_in_batch(deps: MemoryDeps, prepared: PendingMemory) -> bool:
    """Whether only its candidates can affect a statement.

    That takes no idempotency key, no sources, no doubt about the speaker, and a vector.
    """
    said, given = prepared.said, prepared.said.given
    is_free = said.trust >= LITTLE_TRUST or given.imported
    is_trusted = is_free or not deps.terms(prepared.place.space).memory.quarantine
    is_tied = given.key is not None or bool(given.derived_from or given.turns)
    return prepared.vectors is not None and is_trusted and not is_tied and not said.suspicions


BATCH = 100
MOST_ITEMS = 10_000
REPORT_SECONDS = 0.5

Progress = Callable[[int, int, Mapping[str, int]], None]


async def learn_many(
    deps: MemoryDeps, place: Scope, items: Sequence[LearnRequest], *, progress: Progress | None = None
) -> list[Learned]:
    """Learn statements in order, one result each. Called again with the same keys, it resumes."""
    if len(items) > MOST_ITEMS:
        raise TooLarge(f"A batch has at most {MOST_ITEMS:,} items; this one has {len(items):,}.")
    done: list[Learned] = []
    report = _Reporter(progress, deps.stopwatch, total=len(items))
    for start in range(0, len(items), BATCH):
        done += await _learn_batch(deps, place, items[start : start + BATCH])
        report.tell(done)
    return done


class _Reporter:
    """Reports progress at most twice a second and at the end."""

    def __init__(self, progress: Progress | None, stopwatch: Stopwatch, *, total: int) -> None:
        self._progress = progress
        self._stopwatch = stopwatch
        self._total = total
        self._told: float | None = None

    def tell(self, done: Sequence[Learned]) -> None:
        now = self._stopwatch()
        is_due = self._told is None or now - self._told >= REPORT_SECONDS or len(done) == self._total
        if self._progress is not None and is_due:
            self._told = now
            self._progress(len(done), self._total, Counter(each.action.value for each in done))


async def _learn_batch(deps: MemoryDeps, place: Scope, items: Sequence[LearnRequest]) -> list[Learned]:
    surfaced = await load_possible_echoes(deps, place, items)
    async with deps.store.transaction() as transaction:
        known = await classify_requests(deps, transaction, place, items, surfaced=surfaced)
    ready = await _prepare_batch(deps, place, known)
    return [
        await _learn_alone(deps, place, item) if each is None else count_result(await attach_settle(deps, place, each))
        for each, item in zip(await _write_batch(deps, place, ready), items, strict=True)
    ]


async def _prepare_batch(deps: MemoryDeps, place: Scope, known: Sequence[Known]) -> list[Known]:
    """Add vectors, candidates and judgements to the pending statements."""
    new = [each for each in known if isinstance(each, PendingMemory)]
    vectors = await embed_texts(deps, [to_embedding_input(each.said) for each in new])
    await refresh_statistics(deps.store, deps.sizing, more=len(new))
    statements = [(each.said, vector) for each, vector in zip(new, vectors, strict=True)]
    async with deps.store.transaction() as transaction:
        found = await find_candidates_for_all(deps, transaction, place.space, statements)
    asked = [
        CompareRequest(said=each.said, candidates=seen.candidates, ref=each.ref, vectors=vector)
        for each, seen, vector in zip(new, found, vectors, strict=True)
    ]
    ready = iter(
        replace(each, vectors=vector, seen=seen.seen, compared=tuple(compared))
        for each, vector, seen, compared in zip(
            new, vectors, found, await compare_all(deps, place.space, asked), strict=True
        )
    )
    return [next(ready) if isinstance(each, PendingMemory) else each for each in known]


async def _write_batch(deps: MemoryDeps, place: Scope, ready: Sequence[Known]) -> list[Learned | None]:
    """Write all in one transaction; if other writers interfere, one by one."""
    try:
        async with deps.store.transaction() as transaction:
            await lock_owners(transaction, place.space, [each.said.owner for each in map(_find_pending, ready) if each])
            return await _write_all(deps, transaction, place, ready)
    except StoreDown as error:
        if error.details.get("kind") != "busy":
            raise
    return [await write_with_retries(deps, each) if isinstance(each, PendingMemory) else None for each in ready]


def _find_pending(known: Known) -> PendingMemory | None:
    return (
        known.prepared if isinstance(known, DuplicateStatement) else known if isinstance(known, PendingMemory) else None
    )


async def _write_all(
    deps: MemoryDeps, transaction: Transaction, place: Scope, ready: Sequence[Known]
) -> list[Learned | None]:
    """Write in order: simply new statements together, the others separately."""
    new = [each for each in ready if isinstance(each, PendingMemory)]
    gathering = await build_recheck(deps, transaction, place.space, new)
    alone: dict[int, Learned | None] = {}
    together: dict[MemoryId, Learned] = {}
    for number, each in enumerate(ready):
        if isinstance(each, PendingMemory) and gathering.takes(each):
            continue
        together |= await _flush_writer(deps, transaction, place, gathering)
        learned = alone[number] = await _write_item(deps, transaction, place, each)
        if learned is not None:
            gathering.note(learned, each if isinstance(each, PendingMemory) else None)
    together |= await _flush_writer(deps, transaction, place, gathering)
    return [
        together[each.ref] if isinstance(each, PendingMemory) and each.ref in together else alone[number]
        for number, each in enumerate(ready)
    ]


async def _flush_writer(
    deps: MemoryDeps, transaction: Transaction, place: Scope, gathering: BatchWriter
) -> dict[MemoryId, Learned]:
    """Write the collected statements; if the store rejects the group, write each separately."""
    arrivals = list(gathering.arrivals)
    if not arrivals:
        return {}
    try:
        async with transaction.savepoint():
            return await gathering.write(transaction)
    except StoreDown:
        raise
    except FestingerError:
        written = [await _write_item(deps, transaction, place, each.prepared) for each in arrivals]
    return {each.prepared.ref: learned for each, learned in zip(arrivals, written, strict=True) if learned}


async def _write_item(deps: MemoryDeps, transaction: Transaction, place: Scope, known: Known) -> Learned | None:
    """Write one item; None if it must be learned alone because what it repeats has changed."""
    if isinstance(known, FestingerError):
        return build_error_result(known)
    if isinstance(known, Learned):
        return known
    try:
        async with transaction.savepoint():
            if isinstance(known, PendingMemory):
                return await write_idempotent(deps, transaction, known, locked=True)
            done = await apply_early_result(deps, transaction, place, known)
            return done if isinstance(done, Learned) else None
    except StoreDown:
        raise
    except FestingerError as error:
        return build_error_result(error)


async def _learn_alone(deps: MemoryDeps, place: Scope, item: LearnRequest) -> Learned:
    try:
        return await learn(deps, place, item)
    except StoreDown:
        raise
    except FestingerError as error:
        return build_error_result(error)


def build_error_result(error: FestingerError) -> Learned:
    """Return the result of an item that could not be learned."""
    return Learned(memory=None, action=Action.REFUSED, reasons=(error.name,), said=error.message, error=error)
