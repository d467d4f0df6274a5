"""How does a statement come into the tables?

One transaction: the owner is locked, what others stored since is looked at, the decision is made over all of it, and
everything that follows is written with its events. Only this module stores new memories. Judges and embedders were
asked before; what still needs one is asked for within the same transaction and done later.

What does a new memory do to those that stand?

It replaces them, gives way to one that is newer, or is set against some and held until somebody decides; it may add
to some beside all that. Everything within the transaction that stores it.

Who waits for whom, so that nobody waits in a ring?

Whoever holds several of these takes them in this order, and lets go of all when the transaction ends:

    1. the world of the space        `world.writing.hold`: who decides, repairs, forgets, carries out what was approved,
                                     or changes memories and edges at once
    2. owners of memories            `hold_owners`: who stores new memories, or must know that nobody else does
    3. memories, by their ids        `states.lock`, `belief.hold_known`: who changes some
    4. what hangs on memories        their changes, conflicts, episodes, and proposals that cite them

What is said again counts one more sighting of its conflict while it holds the memory, and does not hold the world.
So a conflict is read without being locked, and who decides one locks its memories before writing to it: that nobody
else decides it is kept by the world.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from festinger.errors import StoreDown
from festinger.ids import AgentId, MemoryId, Origin, SpaceId
from festinger.judge.model import Judgement, Opinion, Relation
from festinger.memory.changes import Link, Note, Op, join, lock, lock_all, write_change
from festinger.memory.deps import Desk
from festinger.memory.learn.candidates import Candidate, look_again
from festinger.memory.learn.compare import (
    BURST_WINDOW,
    LITTLE_TRUST,
    MOST_ASKED,
    Compared,
    Prepared,
    Suspicion,
    compare_by_rules,
    echo_of,
    find_twin,
    is_burst,
    is_spike,
    newcomer,
)
from festinger.memory.learn.confirm import Repeat, confirm
from festinger.memory.learn.decision import Action, Decided, decide
from festinger.memory.learn.result import Learned, Match, tell, tell_learned, told
from festinger.memory.learn.store import put
from festinger.memory.learn.supersede import born_superseded, supersede_all
from festinger.memory.model import Memory, Status
from festinger.observability.metrics import MEMORY_JUDGED
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.world.conflicts import DELIBERATE, open_memory_conflict

Judgements = Mapping[MemoryId, UUID]
"""What was judged of each candidate, where it is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consequences:
    memory: Memory
    superseded: tuple[MemoryId, ...] = ()
    change: UUID | None = None
    conflict: UUID | None = None


async def bring_about(
    desk: Desk,
    transaction: Transaction,
    prepared: Prepared,
    memory: Memory,
    *,
    decided: Decided,
    compared: Mapping[MemoryId, Compared],
    judgements: Judgements,
    earlier: Memory | None = None,
) -> Consequences:
    """Carry out what was decided. `earlier` is what the memory was before, if it was there already."""
    done = Consequences(memory=memory)
    if decided.superseded_by and earlier is None:
        by_memory = MemoryId(decided.superseded_by)
        change = await born_superseded(
            desk, transaction, memory, by_memory=by_memory, by=prepared.who, reason=decided.why
        )
        return replace(done, change=change)
    if decided.conflicts:
        against = [compared[MemoryId(each)] for each in decided.conflicts]
        conflict = await dispute(desk, transaction, prepared, memory, against=against, judgements=judgements)
        return replace(done, conflict=conflict)
    if decided.supersedes:
        olds = [compared[MemoryId(each)].memory for each in decided.supersedes]
        fresh, change = await supersede_all(
            desk,
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
    await join(
        transaction,
        memory.space_id,
        memory.id,
        Link.REFINES,
        to=refined,
        at=desk.clock(),
        judgements=judgements,
    )
    return done


async def dispute(
    desk: Desk,
    transaction: Transaction,
    prepared: Prepared,
    memory: Memory,
    *,
    against: Sequence[Compared],
    judgements: Judgements,
) -> UUID | None:
    """Put a held memory and each that it cannot stand beside into the one queue of conflicts; the first of them."""
    olds = [each.memory.id for each in against]
    at, is_deliberate = desk.clock(), prepared.said.given.asked and memory.origin is Origin.PERSON
    await join(
        transaction, memory.space_id, memory.id, Link.CONTRADICTS, to=olds, at=at, judgements=judgements
    )
    opened = []
    for each in against:
        conflict = await open_memory_conflict(
            desk.world,
            transaction,
            memory.space_id,
            old=each.memory.id,
            new=memory.id,
            judgement=judgements.get(each.memory.id),
            kind=each.opinion.judgement.relation.value,
            priority=DELIBERATE if is_deliberate else 0,
        )
        opened.append(conflict)
        told = {"against": str(each.memory.id), "conflict": str(conflict)}
        await tell(desk, transaction, prepared, "memory_held", memory, **told)
    return opened[0] if opened else None


Q = queries_of("festinger.memory")


async def hold_owners(transaction: Transaction, space: SpaceId, owners: Iterable[AgentId | None]) -> None:
    """Let nobody else store memories for these; what is shared is everybody's, and nobody's name."""
    for owner in sorted({owner or "" for owner in owners}):
        await transaction.run(Q["lock_owner"], space=space, owner=owner or None)


async def write(desk: Desk, transaction: Transaction, prepared: Prepared, *, locked: bool = False) -> Learned:
    """Write what follows from a statement, whatever others wrote meanwhile; `locked` if its owner is."""
    place, said = prepared.place, prepared.said
    if not locked:
        await hold_owners(transaction, place.space, [said.owner])
    desk.step("locked")
    newer = await look_again(transaction, place.space, said, seen=prepared.seen, vectors=prepared.vectors)
    compared = await _as_they_are(desk, transaction, prepared, newer)
    if (echo := echo_of(prepared, compared)) is not None:
        return told(Action.ECHOED, prepared, echo.memory, compared=[echo], judgement=echo.opinion.judgement)
    reasons = await _suspicions(desk, transaction, prepared, compared)
    if reasons:
        return await _lock_away(desk, transaction, prepared, compared, reasons=reasons)
    decided = decide(newcomer(said), [each.judged for each in compared], desk.terms(place.space).limits)
    desk.step("decided")
    if decided.confirms is not None:
        return await _say_again(desk, transaction, prepared, compared, decided)
    return await _store(desk, transaction, prepared, compared, decided)


async def _as_they_are(
    desk: Desk, transaction: Transaction, prepared: Prepared, newer: Sequence[Candidate]
) -> list[Compared]:
    """What was judged, over what is there now."""
    judged = with_newer(desk, prepared, newer)
    present = await lock_all(transaction, prepared.place.space, map(_id_of, filter(is_touched, judged)))
    return as_they_are(desk, prepared, judged, present)


def with_newer(desk: Desk, prepared: Prepared, newer: Sequence[Candidate]) -> list[Compared]:
    """What was judged before, and what rules say of memories that came since."""
    known = {each.memory.id for each in prepared.compared}
    fresh = [each for each in newer if each.memory.id not in known]
    return [
        *prepared.compared,
        *compare_by_rules(desk, prepared.said, fresh, ref=prepared.ref, vectors=prepared.vectors),
    ]


def is_touched(compared: Compared) -> bool:
    """Whether something may follow for a memory, which must not change until it does."""
    return compared.opinion.judgement.relation is not Relation.UNRELATED


def as_they_are(
    desk: Desk, prepared: Prepared, judged: Sequence[Compared], present: Mapping[MemoryId, Memory]
) -> list[Compared]:
    """What was judged, without what has gone, and judged anew where words changed; `present` is what is locked."""
    found = []
    for each in judged:
        now = present.get(each.memory.id) if is_touched(each) else each.memory
        if now is None or not now.is_live:
            continue
        if now.fold != each.memory.fold:
            changed = Candidate(memory=now, similarity=None)
            found += compare_by_rules(desk, prepared.said, [changed], ref=prepared.ref, vectors=None)
            continue
        found.append(replace(each, candidate=replace(each.candidate, memory=now)))
    return found


def _id_of(compared: Compared) -> MemoryId:
    return compared.memory.id


async def _suspicions(
    desk: Desk, transaction: Transaction, prepared: Prepared, compared: Sequence[Compared]
) -> tuple[str, ...]:
    """Why a statement is locked away; nothing if it is not."""
    said, terms = prepared.said, desk.terms(prepared.place.space).memory
    if not terms.quarantine or said.suspicions or said.trust >= LITTLE_TRUST:
        return said.suspicions
    if is_spike(said.trust, compared):
        return (Suspicion.SPIKE.value,)
    if said.given.imported or any(each.opinion.judgement.relation is Relation.SAME for each in compared):
        return ()
    births = await transaction.value(
        Q["births_of_cause"],
        space=prepared.place.space,
        session=prepared.place.session,
        agent=prepared.place.agent,
        origin=said.origin.value,
        since=said.at - BURST_WINDOW,
    )
    return (Suspicion.BURST.value,) if is_burst(said.trust, births=births, limit=terms.burst_limit) else ()


async def _say_again(
    desk: Desk,
    transaction: Transaction,
    prepared: Prepared,
    compared: Sequence[Compared],
    decided: Decided,
) -> Learned:
    """A sighting in place of a new memory."""
    target = next(each for each in compared if each.memory.id == decided.confirms)
    kept = await desk.panel.keep(
        transaction,
        prepared.place.space,
        [replace(target.opinion, pair=replace(target.opinion.pair, new_ref=target.memory.id))],
    )
    return await say_again(
        desk,
        transaction,
        prepared,
        target.memory,
        similarity=target.candidate.similarity,
        judgement=target.opinion.judgement,
        kept=kept[0] if kept else None,
    )


async def say_again(
    desk: Desk,
    transaction: Transaction,
    prepared: Prepared,
    memory: Memory,
    *,
    judgement: Judgement,
    similarity: float | None = None,
    kept: UUID | None = None,
) -> Learned:
    """Confirm a memory, which the caller holds locked."""
    repeat = Repeat(
        place=prepared.place,
        said=prepared.said,
        similarity=similarity,
        judgement=kept,
        suspicious=bool(prepared.said.suspicions),
    )
    done = await confirm(desk, transaction, memory, repeat)
    action = {Status.HELD: Action.CONFLICTED, Status.QUARANTINED: Action.QUARANTINED}.get(
        memory.status, Action.QUARANTINED if repeat.suspicious else Action.CONFIRMED
    )
    match = Match(
        id=memory.id, similarity=similarity, relation=judgement.relation, confidence=judgement.confidence
    )
    return replace(
        told(action, prepared, done.memory, judgement=judgement, reasons=prepared.said.suspicions),
        matched=(match,),
        counted=done.counted,
        change=done.change,
        conflict=done.conflict,
    )


async def _lock_away(
    desk: Desk,
    transaction: Transaction,
    prepared: Prepared,
    compared: Sequence[Compared],
    *,
    reasons: tuple[str, ...],
) -> Learned:
    """Store a statement where nobody recalls it; a second one of the same words is a sighting of the first."""
    suspect = replace(prepared, said=replace(prepared.said, suspicions=reasons))
    twin = await find_twin(desk, transaction, prepared.place.space, prepared.said)
    if twin is not None and twin.memory.fold == prepared.said.fold:
        present = await lock(transaction, prepared.place.space, [twin.memory.id])
        return await say_again(desk, transaction, suspect, present[twin.memory.id], judgement=twin.judgement)
    memory = await put(desk, transaction, prepared, status=Status.QUARANTINED, counted=False)
    if memory is None:
        return await _say_the_very_same(desk, transaction, suspect)
    note = Note(
        op=Op.QUARANTINE,
        before={},
        after={memory.id: {"status": Status.QUARANTINED}},
        by=prepared.who,
        reason=", ".join(reasons),
        cause=prepared.cause,
    )
    change = await write_change(desk, transaction, prepared.place.space, note)
    await tell_learned(desk, transaction, prepared, memory, Action.QUARANTINED)
    await tell(desk, transaction, prepared, "memory_quarantined", memory, reason=", ".join(reasons)[:200])
    learned = told(Action.QUARANTINED, prepared, memory, compared=compared, reasons=reasons)
    return replace(learned, change=change)


async def _store(
    desk: Desk,
    transaction: Transaction,
    prepared: Prepared,
    compared: Sequence[Compared],
    decided: Decided,
) -> Learned:
    """A new memory, and what it does to others."""
    by_id = {each.memory.id: each for each in compared}
    newer = by_id[MemoryId(decided.superseded_by)].memory if decided.superseded_by else None
    status = Status.HELD if decided.conflicts else Status.SUPERSEDED if newer else Status.ACTIVE
    waits = decided.waits_for[:MOST_ASKED] if status is Status.ACTIVE else ()
    memory = await put(desk, transaction, prepared, status=status, pending=bool(waits), superseded_by=newer)
    if memory is None:
        return await _say_the_very_same(desk, transaction, prepared)
    kept = await keep(desk, transaction, prepared, [each for each in compared if is_kept(each, waits)])
    done = await bring_about(
        desk, transaction, prepared, memory, decided=decided, compared=by_id, judgements=kept
    )
    await tell_learned(desk, transaction, prepared, done.memory, decided.action)
    learned = told(
        decided.action,
        prepared,
        done.memory,
        compared=compared,
        judgement=deciding(decided, by_id),
        superseded=-1 if newer else len(done.superseded),
    )
    return replace(
        learned,
        pending=bool(waits),
        superseded=done.superseded,
        change=done.change,
        conflict=done.conflict,
    )


async def _say_the_very_same(desk: Desk, transaction: Transaction, prepared: Prepared) -> Learned:
    """The last guard: the index knows a memory of the same words that nobody saw before."""
    twin = await find_twin(desk, transaction, prepared.place.space, prepared.said)
    if twin is None:
        raise StoreDown("The same statement is being learnt by another.", hint="Try again.", kind="busy")
    present = await lock(transaction, prepared.place.space, [twin.memory.id])
    return await say_again(desk, transaction, prepared, present[twin.memory.id], judgement=twin.judgement)


async def keep(
    desk: Desk, transaction: Transaction, prepared: Prepared, compared: Sequence[Compared]
) -> dict[MemoryId, UUID]:
    """Keep what the judges said of some pairs; where, by candidate."""
    ids = await keep_opinions(desk, transaction, prepared.place.space, [each.opinion for each in compared])
    return {each.memory.id: kept for each, kept in zip(compared, ids, strict=True)}


async def keep_opinions(
    desk: Desk, transaction: Transaction, space: SpaceId, opinions: Sequence[Opinion]
) -> list[UUID]:
    ids = await desk.panel.keep(transaction, space, opinions) if opinions else []
    for opinion in opinions:
        MEMORY_JUDGED.labels(_kind_of_judge(opinion.judgement), opinion.judgement.relation.value).inc()
    return ids


def _kind_of_judge(judgement: Judgement) -> str:
    """Without the names of models and people, which are no labels."""
    return judgement.judge.partition(":")[0].partition("@")[0]


def is_kept(compared: Compared, waits: Sequence[UUID]) -> bool:
    """Whether a judgement is worth keeping: what rules find unrelated they find so again."""
    judgement = compared.opinion.judgement
    if not judgement.final or judgement.relation is Relation.UNSURE:
        return compared.memory.id in waits
    return judgement.relation is not Relation.UNRELATED or not judgement.judge.startswith("rules")


def deciding(decided: Decided, compared: Mapping[MemoryId, Compared]) -> Judgement | None:
    """The judgement that what was done rests on."""
    piles = (decided.conflicts, decided.supersedes, decided.waits_for, decided.refines)
    chosen = decided.superseded_by or next((pile[0] for pile in piles if pile), None)
    return compared[MemoryId(chosen)].opinion.judgement if chosen else None
