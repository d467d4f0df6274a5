"""When is a memory looked at again, and how do missing vectors come?

After an edit, a merge, a late vector or a restore a memory is held against all others, as if it were learnt now: a
twin that nobody could see before is merged, what it replaces becomes history. Vectors that were missing are made in
batches, newest first; whoever gets one is looked at again.
"""

from collections.abc import Awaitable, Callable
from uuid import UUID

from festinger.ids import MemoryId, SpaceId
from festinger.judge.model import Judgement, Opinion
from festinger.memory.candidates import Candidate, look
from festinger.memory.comparing import Compared, compare
from festinger.memory.desk import Desk
from festinger.memory.kinds import Status
from festinger.memory.late import Followed, compared_with, said_of
from festinger.memory.memory import Memory, memory_of
from festinger.memory.pairs import follow_up, pair_between
from festinger.memory.states import find_all
from festinger.memory.twins import find_twin
from festinger.memory.vectors import Embedded, Words, embed, embed_one, vector_columns
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.memory")

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
