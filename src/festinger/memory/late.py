"""What follows when a judge's word about a memory comes late?

A model that answered, a person, a vector that arrived: the memory stands already, so the same decision as at
learning is carried out on it. Twins are merged, what it replaces becomes history, what it cannot stand beside holds
it; what is still open keeps waiting.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from festinger.ids import DEFAULT_AGENT, AgentId, MemoryId
from festinger.judge.model import Judgement, Opinion, Slot
from festinger.memory.candidates import Candidate
from festinger.memory.comparing import Compared, newcomer
from festinger.memory.consequences import bring_about
from festinger.memory.decision import Action, Decided, decide
from festinger.memory.desk import Desk
from festinger.memory.given import Given, Said
from festinger.memory.kinds import Status
from festinger.memory.memory import NO_SESSION, Memory, Place
from festinger.memory.merge import merge_into, survivor
from festinger.memory.prepared import Prepared
from festinger.memory.states import lock, restate
from festinger.memory.supersede import supersede_all
from festinger.memory.writing import keep
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
