"""What becomes of pairs that no judge at hand was sure of?

They wait, marked, until the whole cascade has had its word: in a job, or at once if the caller waits. Asking twice
changes nothing: a pair that is decided waits no more.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from festinger.ids import MemoryId, SpaceId
from festinger.judge.model import Bars, Features, Judgement, Opinion, Pair, Waiting
from festinger.memory.comparing import MOST_ASKED, Compared, known_subjects, statement_of, within_subject
from festinger.memory.desk import Desk
from festinger.memory.holding import hold_owners
from festinger.memory.kinds import Status
from festinger.memory.late import Followed, compared_with, follow, said_of
from festinger.memory.learned import Learned
from festinger.memory.memory import Memory, Place
from festinger.memory.states import find, find_all

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
