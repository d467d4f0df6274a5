"""What becomes of pairs that no judge at hand was sure of?

They wait, marked, until the whole cascade has had its word: in a job, or at once if the caller waits. Asking twice
changes nothing: a pair that is decided waits no more.

What follows when a judge's word about a memory comes late?

A model that answered, a person, a vector that arrived: the memory stands already, so the same decision as at
learning is carried out on it. Twins are merged, what it replaces becomes history, what it cannot stand beside holds
it; what is still open keeps waiting.

When is a memory looked at again, and how do missing vectors come?

After an edit, a merge, a late vector or a restore a memory is held against all others, as if it were learnt now: a
twin that nobody could see before is merged, what it replaces becomes history. Vectors that were missing are made in
batches, newest first; whoever gets one is looked at again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from festinger.ids import DEFAULT_AGENT, AgentId, MemoryId, SpaceId
from festinger.judge.model import Bars, Features, Judgement, Opinion, Pair, Slot, Waiting
from festinger.memory.changes import find, find_all, lock, restate
from festinger.memory.deps import Desk
from festinger.memory.learn.candidates import Candidate, look
from festinger.memory.learn.compare import (
    MOST_ASKED,
    Compared,
    Prepared,
    compare,
    find_twin,
    known_subjects,
    newcomer,
    statement_of,
    within_subject,
)
from festinger.memory.learn.decision import Action, Decided, decide
from festinger.memory.learn.result import Learned
from festinger.memory.learn.statement import Given, Said
from festinger.memory.learn.supersede import merge_into, supersede_all, survivor
from festinger.memory.learn.write import bring_about, hold_owners, keep
from festinger.memory.model import NO_SESSION, Memory, Place, Status, memory_of
from festinger.memory.vectors import Embedded, Words, embed, embed_one, vector_columns
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """What a late word did."""

    action: Action
    memory: Memory
    change: UUID | None = None
    conflict: UUID | None = None
    superseded: tuple[MemoryId, ...] = ()
    judgement: Judgement | None = None


def said_of(memory: Memory) -> Said:
    """A memory as if it were said now, by whoever said it first."""
    given = Given(
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
    return Said(
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
        given=given,
    )


def prepared_of(memory: Memory, *, by: str) -> Prepared:
    place = Place(
        space=memory.space_id,
        agent=memory.agent_id or AgentId(DEFAULT_AGENT),
        session=memory.session_id or NO_SESSION,
    )
    return Prepared(place=place, said=said_of(memory), ref=memory.id, by=by)


async def follow(
    desk: Desk,
    transaction: Transaction,
    memory: Memory,
    compared: Sequence[Compared],
    *,
    by: str,
    kept: Mapping[MemoryId, UUID] | None = None,
) -> Followed:
    """Carry out what the judgements mean for a memory that stands. The caller has locked its owner, and may have
    kept what was said already."""
    space = memory.space_id
    ids = [memory.id, *(each.memory.id for each in compared)]
    present = await lock(transaction, space, ids)
    memory = present[memory.id]
    if memory.status is not Status.ACTIVE:
        await _wait_no_more(desk, transaction, memory)
        return Followed(action=Action.STORED, memory=memory)
    live = [
        replace(each, candidate=replace(each.candidate, memory=present[each.memory.id]))
        for each in compared
        if present[each.memory.id].is_live
    ]
    prepared = prepared_of(memory, by=by)
    kept = kept or await keep(desk, transaction, prepared, live)
    limits = desk.terms(space).limits
    decided = decide(newcomer(prepared.said), [each.judged for each in live], limits)
    by_id = {each.memory.id: each for each in live}
    return await _carry_out(desk, transaction, prepared, memory, decided=decided, by_id=by_id, kept=kept)


async def _carry_out(
    desk: Desk,
    transaction: Transaction,
    prepared: Prepared,
    memory: Memory,
    *,
    decided: Decided,
    by_id: Mapping[MemoryId, Compared],
    kept: Mapping[MemoryId, UUID],
) -> Followed:
    if decided.confirms is not None:
        return await _merge(
            desk, transaction, memory, by_id[MemoryId(decided.confirms)], kept, by=prepared.who
        )
    if decided.superseded_by is not None:
        newer = by_id[MemoryId(decided.superseded_by)].memory
        return await _give_way(desk, transaction, memory, newer, by=prepared.who, why=decided.why)
    waits = await _still_waits(desk, transaction, memory) if not decided.conflicts else False
    changed = memory
    if decided.conflicts:
        changed = await restate(transaction, memory, at=desk.clock(), status=Status.HELD, pending=False)
    elif memory.pending is not waits:
        await transaction.run(
            Q["set_pending"], space=memory.space_id, id=memory.id, pending=waits, at=desk.clock()
        )
        changed = replace(memory, pending=waits)
    done = await bring_about(
        desk,
        transaction,
        prepared,
        changed,
        decided=decided,
        compared=by_id,
        judgements=kept,
        earlier=memory,
    )
    deciding = _deciding(decided, by_id)
    return Followed(
        action=decided.action,
        memory=done.memory,
        change=done.change,
        conflict=done.conflict,
        superseded=done.superseded,
        judgement=deciding,
    )


async def _merge(
    desk: Desk,
    transaction: Transaction,
    memory: Memory,
    twin: Compared,
    kept: Mapping[MemoryId, UUID],
    *,
    by: str,
) -> Followed:
    """A late `same`. With what waits or is locked away nothing is merged: that is for a person."""
    if twin.memory.status is not Status.ACTIVE:
        await _wait_no_more(desk, transaction, memory)
        return Followed(action=Action.STORED, memory=memory)
    stays, goes = survivor(twin.memory, memory)
    if stays.agent_id is not None and goes.agent_id is None:
        # What is everybody's cannot be folded into one agent's own.
        stays, goes = goes, stays
    judgement = twin.opinion.judgement
    merged, change = await merge_into(
        desk,
        transaction,
        stays,
        goes,
        by=by,
        reason=judgement.reasoning,
        judgement=kept.get(twin.memory.id),
    )
    return Followed(action=Action.CONFIRMED, memory=merged, change=change, judgement=judgement)


async def _give_way(
    desk: Desk, transaction: Transaction, memory: Memory, newer: Memory, *, by: str, why: str
) -> Followed:
    _, change = await supersede_all(desk, transaction, newer, [memory], by=by, reason=why)
    return Followed(action=Action.STORED, memory=memory, change=change)


async def _still_waits(desk: Desk, transaction: Transaction, memory: Memory) -> bool:
    waiting = await desk.panel.waiting(transaction, memory.space_id, memory.id)
    return any(each.new_ref == memory.id for each in waiting)


async def _wait_no_more(desk: Desk, transaction: Transaction, memory: Memory) -> None:
    await desk.panel.drop(transaction, memory.space_id, memory.id)
    await transaction.run(
        Q["set_pending"], space=memory.space_id, id=memory.id, pending=False, at=desk.clock()
    )


def _deciding(decided: Decided, by_id: Mapping[MemoryId, Compared]) -> Judgement | None:
    piles = (decided.conflicts, decided.supersedes, decided.waits_for, decided.refines)
    chosen = next((pile[0] for pile in piles if pile), None)
    return by_id[MemoryId(chosen)].opinion.judgement if chosen else None


def compared_with(memory: Memory, opinion: Opinion, *, similarity: float | None = None) -> Compared:
    return Compared(candidate=Candidate(memory=memory, similarity=similarity), opinion=opinion)


JUDGE = "judge_pairs"
"""The job that asks a model of what waits."""

POLL_SECONDS = 0.05


async def judge_pairs(desk: Desk, space: SpaceId, memory: UUID, *, by: str = "judge") -> Followed | None:
    """Have the pairs of a memory judged that wait, and do what follows; none if nothing waits."""
    async with desk.store.transaction() as transaction:
        waiting = await desk.panel.waiting(transaction, space, MemoryId(memory))
        found = await find_all(transaction, space, [memory, *(each.old_ref for each in waiting)])
    new = found.get(MemoryId(memory))
    if new is None or not new.pending:
        return None
    pairs = [pair_between(found[old], new) for old in _olds(waiting, new) if old in found][:MOST_ASKED]
    answers = await desk.panel.with_model_all(space, pairs)
    compared = [
        compared_with(found[MemoryId(pair.old_ref)], Opinion(pair=pair, judgement=within_subject(pair, said)))
        for pair, said in zip(pairs, answers, strict=True)
    ]
    return await follow_up(desk, new, compared, by=by)


def _olds(waiting: Sequence[Waiting], new: Memory) -> list[MemoryId]:
    """What a memory waits to be compared with; pairs in which it is the older one are the other's matter."""
    return [MemoryId(each.old_ref) for each in waiting if each.new_ref == new.id]


async def load_pair(desk: Desk, space: SpaceId, waiting: Waiting) -> Pair | None:
    """A pair that waits, as its memories are now; nothing if one of them no longer counts."""
    async with desk.store.transaction() as transaction:
        found = await find_all(transaction, space, [waiting.old_ref, waiting.new_ref])
    old, new = found.get(MemoryId(waiting.old_ref)), found.get(MemoryId(waiting.new_ref))
    if old is None or new is None or new.status is not Status.ACTIVE or not old.is_live:
        return None
    return pair_between(old, new)


async def settle_pair(
    desk: Desk, space: SpaceId, pair: Pair, judgement: Judgement, *, by: str = "judge"
) -> Followed | None:
    """Carry out what was said at last of a pair that waited."""
    async with desk.store.transaction() as transaction:
        found = await find_all(transaction, space, [pair.old_ref, pair.new_ref])
    old, new = found.get(MemoryId(pair.old_ref)), found.get(MemoryId(pair.new_ref))
    if old is None or new is None:
        return None
    opinion = Opinion(pair=pair, judgement=within_subject(pair, judgement))
    return await follow_up(desk, new, [compared_with(old, opinion)], by=by)


async def follow_up(desk: Desk, memory: Memory, compared: list[Compared], *, by: str) -> Followed:
    """Carry out what was judged of a memory, in a transaction of its own."""
    async with desk.store.transaction() as transaction:
        await hold_owners(transaction, memory.space_id, [memory.agent_id])
        return await follow(desk, transaction, memory, compared, by=by)


def pair_between(old: Memory, new: Memory, features: Features | None = None) -> Pair:
    """Two memories as the judges read them."""
    known = features or Features(bars=Bars(), same_subject=known_subjects(said_of(new), old))
    return Pair(
        old_ref=old.id,
        new_ref=new.id,
        old=statement_of(old, order=1),
        new=statement_of(new, order=2),
        features=known,
    )


async def settle_within(desk: Desk, place: Place, learned: Learned) -> Learned:
    """The result, which can be asked later what became of it."""
    if not learned.pending or learned.memory is None:
        return learned
    memory = learned.memory.id

    async def settle(timeout: float) -> Learned | None:
        until = desk.stopwatch() + timeout
        while True:
            async with desk.store.transaction() as transaction:
                present = await find(transaction, place.space, memory)
            if not present.pending or desk.stopwatch() >= until:
                return replace(learned, memory=present, pending=present.pending)
            await asyncio.sleep(POLL_SECONDS)

    return replace(learned, _settle=settle)


BATCH = 100

Report = Callable[[int], Awaitable[None]]


async def recheck(desk: Desk, space: SpaceId, memory: UUID, *, by: str = "recheck") -> Followed | None:
    """Hold a memory against all others, and do what follows; none if it does not stand."""
    async with desk.store.transaction() as transaction:
        found = (await find_all(transaction, space, [memory])).get(MemoryId(memory))
    if found is None or found.status is not Status.ACTIVE:
        return None
    vectors = await embed_one(desk, words_of(found))
    async with desk.store.transaction() as transaction:
        if vectors is not None:
            await put_vectors(desk, transaction, found, vectors)
        said = said_of(found)
        twin = await find_twin(desk, transaction, space, said, other_than=found.id)
        looked = await look(desk, transaction, space, said, vectors)
    if twin is not None:
        return await follow_up(desk, found, [_as_twin(twin.memory, found, twin.judgement)], by=by)
    others = [each for each in looked.candidates if each.memory.id != found.id]
    return await follow_up(desk, found, await _compared(desk, found, others, vectors), by=by)


def _as_twin(twin: Memory, memory: Memory, judgement: Judgement) -> Compared:
    older, newer = sorted((twin, memory), key=lambda each: each.seq)
    opinion = Opinion(pair=pair_between(older, newer), judgement=judgement)
    return compared_with(twin, opinion, similarity=1.0)


async def _compared(
    desk: Desk, memory: Memory, others: list[Candidate], vectors: Embedded | None
) -> list[Compared]:
    """Older ones as they stand to it. What came later was held against this one when it came."""
    older = [each for each in others if each.memory.seq < memory.seq or not each.memory.is_live]
    return await compare(desk, memory.space_id, said_of(memory), older, ref=memory.id, vectors=vectors)


def words_of(memory: Memory) -> Words:
    return Words(text=memory.content, kind=memory.kind, stored_as=memory.content_contextualized)


async def put_vectors(desk: Desk, transaction: Transaction, memory: Memory, vectors: Embedded) -> None:
    """Keep the vectors of a memory, in place of those of its former words."""
    await transaction.run(
        Q["put_vectors"],
        space=memory.space_id,
        memory=memory.id,
        at=desk.clock(),
        **vector_columns(vectors),
    )


async def nobody_asks(_done: int) -> None:
    """For a caller who wants no progress."""


async def embed_missing(desk: Desk, space: SpaceId, *, report: Report = nobody_asks) -> int:
    """Make the vectors that memories of a space lack, batch by batch, and look at each again; how many."""
    embedder, done = desk.embedder(), 0
    if embedder is None:
        return 0
    while True:
        rows = await desk.store.all(Q["unembedded"], space=space, model=embedder.name, limit=BATCH)
        made = await _embed_batch(desk, [memory_of(row) for row in rows])
        done += made
        await report(done)
        # A text that cannot be embedded now stays in the way of no other: it is tried by the next run.
        if not made or len(rows) < BATCH:
            return done


async def _embed_batch(desk: Desk, memories: list[Memory]) -> int:
    vectors = await embed(desk, [words_of(memory) for memory in memories])
    pairs = [(memory, made) for memory, made in zip(memories, vectors, strict=True) if made is not None]
    if not pairs:
        return 0
    async with desk.store.transaction() as transaction:
        for memory, made in pairs:
            await put_vectors(desk, transaction, memory, made)
    for memory, _ in reversed(pairs):
        await recheck(desk, memory.space_id, memory.id)
    return len(pairs)
