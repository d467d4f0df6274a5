"""How is a memory computed anew from its logs?

Reads both logs of memories that the caller holds locked and goes through them again: without an outcome that
another stands in place of, without those of a source that is taken back, or only to see whether what is stored is
what the logs say.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.ids import MemoryId, Origin, SpaceId
from festinger.memory.belief import Effect, apply_effects, hold_known
from festinger.memory.changes import Change, Op, changes_of
from festinger.memory.memory import Memory, belief_columns
from festinger.memory.selector import Selector
from festinger.memory.trust import rounded
from festinger.outcomes.desk import Desk
from festinger.outcomes.effects import State
from festinger.outcomes.replay import Changed, Entry, replay, start_of, told_of
from festinger.outcomes.stored import at_birth, keep_states, load_states
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.outcomes")

PAGE = 500
FIRST = UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """A memory of which the store holds something else than its logs say."""

    memory: MemoryId
    column: str
    stored: Any
    replayed: Any

    def as_json(self) -> dict[str, Any]:
        return {
            "memory": str(self.memory),
            "column": self.column,
            "stored": self.stored,
            "replayed": self.replayed,
        }


async def replayed(
    desk: Desk,
    transaction: Transaction,
    space: SpaceId,
    memories: Mapping[MemoryId, Memory],
    *,
    without: frozenset[UUID] = frozenset(),
) -> dict[MemoryId, State]:
    """The state of each memory as its logs give it, leaving out some outcomes."""
    terms = desk.terms(space)
    cap = desk.memory.terms(space).memory.untrusted_confidence_cap
    stored = await load_states(transaction, space, memories, terms=terms)
    logs = await _logs(transaction, space, list(memories))
    found = {}
    for id_, memory in memories.items():
        entries = [replace(each, stands=each.stands and each.id not in without) for each in logs[id_]]
        start = at_birth(stored[id_])
        touched = replace(start.rhythm, last_touched=memory.created_at)
        belief = start_of(entries, immutable=memory.immutable)
        found[id_] = replay(replace(start, belief=belief, rhythm=touched), entries, terms=terms, cap=cap)
    return found


async def _logs(
    transaction: Transaction, space: SpaceId, memories: Sequence[MemoryId]
) -> dict[MemoryId, list[Entry]]:
    logs: dict[MemoryId, list[Entry]] = {memory: [] for memory in memories}
    for row in await transaction.all(Q["log_of"], space=space, memories=list(memories)):
        logs[row["memory_id"]].append(told_of(row))
    changes = await changes_of(transaction, space, memories)
    words = await _words(transaction, space, changes)
    for change in changes:
        for memory in change.memory_ids:
            if memory in logs:
                logs[memory] += _entries(change, memory, words)
    return logs


async def _words(
    transaction: Transaction, space: SpaceId, changes: Sequence[Change]
) -> dict[str, tuple[float, Origin]]:
    ids = [UUID(change.after["sighting"]) for change in changes if change.after.get("sighting")]
    rows = await transaction.all(Q["sightings"], space=space, ids=ids) if ids else []
    return {str(row["id"]): (rounded(row["trust"]), Origin(row["origin"])) for row in rows}


MOVED = frozenset({"weight_alpha", "confidence", "confidence_ceiling", "weight_ceiling"})
"""Columns by which a change shows that it moved what is held."""


def _entries(change: Change, memory: MemoryId, words: Mapping[str, tuple[float, Origin]]) -> list[Entry]:
    """What a change did to what is held of a memory; nothing if it was only about its state."""
    if change.op is Op.MERGE:
        return _merged(change, memory)
    before = dict(change.before.get("memories", {}).get(str(memory), {}))
    after = dict(change.touched(memory))
    if MOVED.isdisjoint(after):
        return []
    trust, origin = words.get(str(change.after.get("sighting")), (None, None))
    stands = change.undone_at is None
    return [
        Changed(
            id=change.id,
            at=change.at,
            before=before,
            after=after,
            trust=trust,
            origin=origin,
            stands=stands,
        )
    ]


def _merged(change: Change, memory: MemoryId) -> list[Entry]:
    """What a merge gave the memory that stayed, and took again when it was undone."""
    weights = change.after.get("weights")
    if weights is None or change.after["into"] != str(memory):
        return []
    entries: list[Entry] = [
        Changed(id=change.id, at=change.at, before=weights["before"], after=weights["after"])
    ]
    if change.undone_at is not None:
        gained = {name: change.after["gained"][name] for name in weights["before"]}
        nothing = dict.fromkeys(gained, 0.0)
        entries.append(Changed(id=change.id, at=change.undone_at, before=gained, after=nothing))
    return entries


async def recompute(
    desk: Desk, transaction: Transaction, space: SpaceId, memories: Mapping[MemoryId, Memory], *, at: datetime
) -> dict[MemoryId, State]:
    """Keep what the logs of locked memories give."""
    before = await load_states(transaction, space, memories, terms=desk.terms(space))
    after = await replayed(desk, transaction, space, memories)
    effects = [Effect(memory=id_, belief=state.belief) for id_, state in after.items()]
    await apply_effects(transaction, space, effects, at=at)
    await keep_states(transaction, space, [(id_, before[id_], after[id_]) for id_ in after])
    return after


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """Outcomes that count no more, and the memories that were computed anew."""

    outcomes: tuple[UUID, ...]
    memories: tuple[MemoryId, ...]


async def take_back(desk: Desk, transaction: Transaction, space: SpaceId, selector: Selector) -> Withdrawn:
    """Let what a session, an agent or an origin reported count no more.

    Where memories were told anew without what was taken back, their outcomes are put on top again.
    """
    retold = await transaction.all(Q["retold"], space=space)
    rows: Sequence[Mapping[str, Any]] = ()
    if selector.session or selector.agent or selector.origin:
        rows = await transaction.all(Q["take_back_outcomes"], space=space, **selector.place_and_time)
    held = await hold_known(transaction, space, {row["memory_id"] for row in (*retold, *rows)})
    await recompute(desk, transaction, space, held, at=desk.clock())
    return Withdrawn(outcomes=tuple(row["id"] for row in rows), memories=tuple(sorted(held)))


async def give_back(desk: Desk, transaction: Transaction, space: SpaceId, outcomes: Sequence[UUID]) -> None:
    """Let outcomes count again that were taken back."""
    rows = await transaction.all(Q["give_back_outcomes"], space=space, ids=list(outcomes))
    held = await hold_known(transaction, space, {row["memory_id"] for row in rows})
    await recompute(desk, transaction, space, held, at=desk.clock())


async def verify(desk: Desk, space: SpaceId) -> tuple[int, list[Mismatch]]:
    """Compare every memory that has outcomes with its logs: how many were looked at, and what differs."""
    wrong: list[Mismatch] = []
    seen, after = 0, FIRST
    while True:
        async with desk.store.transaction() as transaction:
            rows = await transaction.all(Q["memories_with_outcomes"], space=space, after=after, limit=PAGE)
            if not rows:
                return seen, wrong
            held = await hold_known(transaction, space, [row["memory_id"] for row in rows])
            found = await replayed(desk, transaction, space, held)
        seen, after = seen + len(held), rows[-1]["memory_id"]
        wrong += [each for id_, memory in held.items() for each in _differences(memory, found[id_])]


def _differences(memory: Memory, state: State) -> list[Mismatch]:
    stored, computed = belief_columns(memory.belief), belief_columns(state.belief)
    return [
        Mismatch(memory=memory.id, column=name, stored=stored[name], replayed=computed[name])
        for name in stored
        if stored[name] != computed[name]
    ]
