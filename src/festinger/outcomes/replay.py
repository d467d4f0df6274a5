"""Recomputes memories from their logs, without outcomes that no longer count.

Everything that moved confidence and weight is in two logs: outcomes with their raw amounts, and changes by
corroboration, merging, people and sleep. Replayed in order they give what is stored, bit for bit; an outcome
left out leaves no trace. Which corroborations count is read from the sightings, as memory counted them last.
Used when an outcome is replaced or a source is withdrawn, and to verify the store against the logs. The
caller holds the memories locked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.ids import MemoryId, Origin, SpaceId
from festinger.memory.changes import (
    BeliefUpdate,
    Change,
    MemoryChangeOp,
    apply_belief_updates,
    changes_of,
    load_existing_memories,
    lock_memories_in_order,
)
from festinger.memory.confidence import (
    FRESH,
    IMMUTABLE,
    START,
    Belief,
    Weight,
    corroborate_belief,
    find_founding_sighting,
    round_trust,
)
from festinger.memory.erasure.selector import ErasureSelector
from festinger.memory.model import Memory, belief_columns
from festinger.observability.checks import Check, Report, failed_check, ok_check
from festinger.outcomes.effects import OutcomeDelta, OutcomeState, apply_delta
from festinger.outcomes.model import OutcomeDeps
from festinger.outcomes.store import load_outcome_states, reset_to_declared, save_changed_rhythms
from festinger.records import JsonRecord, row_mapper
from festinger.settings.memory_sections import OutcomesSettings
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

Columns = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeEntry:
    id: UUID
    at: datetime
    move: OutcomeDelta
    confidence_before: float
    weight_before: Weight
    stands: bool
    """Whether it counted and was not replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeEntry:
    """Another logged change: columns before and after, and the trust and origin of a corroboration."""

    id: UUID
    at: datetime
    before: Columns
    after: Columns
    trust: float | None = None
    origin: Origin | None = None
    stands: bool = True


Entry = OutcomeEntry | ChangeEntry


_map_delta = row_mapper(OutcomeDelta)


def outcome_entry_of(row: Mapping[str, Any]) -> OutcomeEntry:
    return OutcomeEntry(
        id=row["id"],
        at=row["at"],
        move=_map_delta(row),
        confidence_before=row["confidence_before"],
        weight_before=Weight(alpha=row["alpha_before"], beta=row["beta_before"]),
        stands=row["counted"] and row["replaced_by"] is None,
    )


def sort_entries(entries: Sequence[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: (entry.at, entry.id))


def initial_belief(entries: Sequence[Entry], *, immutable: bool) -> Belief:
    """Return the belief before anything moved it: as the first entry found it, whatever became of that."""
    fresh = Belief(confidence=START, weight=IMMUTABLE if immutable else FRESH, immutable=immutable)
    if not entries:
        return fresh
    first = sort_entries(entries)[0]
    if isinstance(first, OutcomeEntry):
        return replace(fresh, confidence=first.confidence_before, weight=first.weight_before)
    return _replace_belief_columns(fresh, first.before)


def replay_entries(
    start: OutcomeState, entries: Sequence[Entry], *, terms: OutcomesSettings, cap: float
) -> OutcomeState:
    """Apply all entries that stand. `cap` is the highest confidence that untrusted causes can give."""
    state = start
    for entry in sort_entries(entries):
        if not entry.stands:
            continue
        if isinstance(entry, ChangeEntry):
            state = replace(state, belief=_apply_change(state.belief, entry, cap))
        else:
            state = _apply_outcome(state, entry, terms)
    return state


def _apply_outcome(state: OutcomeState, entry: OutcomeEntry, terms: OutcomesSettings) -> OutcomeState:
    after = apply_delta(state, entry.move, at=entry.at, terms=terms)
    # Ignore the outcome for a cycle that was declared later.
    cycles = tuple(
        old if old.declared_at is not None and entry.at < old.declared_at else new
        for old, new in zip(state.cycles, after.cycles, strict=True)
    )
    declared = state.rhythm.pressure_declared_at
    if declared is not None and entry.at < declared:
        resolved = state.rhythm.pressure_resolved_at
        after = replace(after, rhythm=replace(after.rhythm, pressure_resolved_at=resolved))
    return replace(after, cycles=cycles)


def _apply_change(belief: Belief, entry: ChangeEntry, cap: float) -> Belief:
    """Apply a change: set what it left if it finds what it found; otherwise apply its difference."""
    held = belief_columns(belief)
    known = {name: value for name, value in entry.before.items() if name in held}
    if entry.after and all(held[name] == value for name, value in known.items()):
        return _replace_belief_columns(belief, entry.after)
    if entry.trust is not None and entry.origin is not None:
        return corroborate_belief(belief, trust=entry.trust, origin=entry.origin, cap=cap)
    return _replace_belief_columns(belief, {name: _shift_column(name, held, entry) for name in known})


def _shift_column(name: str, held: Columns, entry: ChangeEntry) -> Any:
    before, after, now = entry.before[name], entry.after.get(name, entry.before[name]), held[name]
    if before is None or after is None or now is None:
        return after
    moved_to = now + (after - before)
    return min(max(moved_to, 0.0), 1.0) if name == "confidence" else moved_to


def _replace_belief_columns(belief: Belief, columns: Columns) -> Belief:
    held = belief_columns(belief)
    held |= {name: value for name, value in columns.items() if name in held}
    weight = Weight(alpha=held.pop("weight_alpha"), beta=held.pop("weight_beta"))
    return replace(belief, weight=weight, **held)


Q = load_queries("festinger.outcomes")

PAGE = 500
FIRST = UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeMismatch(JsonRecord):
    """A memory whose stored value differs from its logs."""

    memory: MemoryId
    column: str
    stored: Any
    replayed: Any


async def replay_states(
    deps: OutcomeDeps,
    transaction: Transaction,
    space: SpaceId,
    memories: Mapping[MemoryId, Memory],
    *,
    without: frozenset[UUID] = frozenset(),
) -> dict[MemoryId, OutcomeState]:
    """Replay the logs of each memory, leaving out some outcomes."""
    terms = deps.terms(space)
    cap = deps.memory.terms(space).memory.untrusted_confidence_cap
    stored = await load_outcome_states(transaction, space, memories, terms=terms)
    logs = await _load_logs(transaction, space, list(memories))
    found = {}
    for id_, memory in memories.items():
        entries = [replace(each, stands=each.stands and each.id not in without) for each in logs[id_]]
        start = reset_to_declared(stored[id_])
        touched = replace(start.rhythm, last_touched=memory.created_at)
        belief = initial_belief(entries, immutable=memory.immutable)
        found[id_] = replay_entries(replace(start, belief=belief, rhythm=touched), entries, terms=terms, cap=cap)
    return found


async def _load_logs(
    transaction: Transaction, space: SpaceId, memories: Sequence[MemoryId]
) -> dict[MemoryId, list[Entry]]:
    logs: dict[MemoryId, list[Entry]] = {memory: [] for memory in memories}
    for row in await transaction.all(Q["log_of"], space=space, memories=list(memories)):
        logs[row["memory_id"]].append(outcome_entry_of(row))
    changes = await changes_of(transaction, space, memories)
    sightings = await _load_sightings(transaction, space, memories, changes)
    for change in changes:
        for memory in change.memory_ids:
            if memory in logs:
                logs[memory] += _entries(change, memory, sightings)
    told = {change.after.get("sighting") for change in changes}
    for id_, row in sightings.items():
        if row["corroborates"] and id_ not in told:
            logs[row["memory_id"]].append(
                ChangeEntry(id=row["id"], at=row["at"], before={}, after={}, **_trust_and_origin(row))
            )
    return logs


async def _load_sightings(
    transaction: Transaction, space: SpaceId, memories: Sequence[MemoryId], changes: Sequence[Change]
) -> dict[str, dict[str, Any]]:
    """Return the sightings of memories and changes, with whether each corroborates the memory that it was of first."""
    ids = [UUID(change.after["sighting"]) for change in changes if change.after.get("sighting")]
    rows = await transaction.all(Q["sightings"], space=space, memories=list(memories), ids=ids)
    firsts = {
        memory: find_founding_sighting(memory, [row for row in rows if row["memory_id"] == memory])
        for memory in memories
    }
    return {
        str(row["id"]): {
            **row,
            "corroborates": row["counted"] and row["moved_by"] is None and row is not firsts.get(row["memory_id"]),
        }
        for row in rows
    }


def _trust_and_origin(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"trust": round_trust(row["trust"]), "origin": Origin(row["origin"])}


MOVED = frozenset({"weight_alpha", "confidence", "confidence_ceiling", "weight_ceiling"})
"""Columns that show that a change moved the belief."""


def _entries(change: Change, memory: MemoryId, sightings: Mapping[str, Mapping[str, Any]]) -> list[Entry]:
    """Return what a change did to the belief of a memory; nothing if it concerned only its state."""
    if change.op is MemoryChangeOp.MERGE:
        return _entries_of_merge(change, memory)
    before = dict(change.before.get("memories", {}).get(str(memory), {}))
    after = dict(change.touched(memory))
    if MOVED.isdisjoint(after):
        return []
    entry = ChangeEntry(id=change.id, at=change.at, before=before, after=after, stands=change.undone_at is None)
    if (sighting := change.after.get("sighting")) is None:
        return [entry]
    row = sightings.get(sighting)
    if row is None:  # It was erased.
        return [replace(entry, stands=False)]
    # What a merge moved away since counts as it did.
    counts = row["corroborates"] or row["moved_by"] is not None
    return [replace(entry, stands=entry.stands and counts, **_trust_and_origin(row))]


def _entries_of_merge(change: Change, memory: MemoryId) -> list[Entry]:
    """Return what a merge gave the surviving memory, and took back when undone."""
    weights = change.after.get("weights")
    if weights is None or change.after["into"] != str(memory):
        return []
    entries: list[Entry] = [ChangeEntry(id=change.id, at=change.at, before=weights["before"], after=weights["after"])]
    if change.undone_at is not None:
        gained = {name: change.after["gained"][name] for name in weights["before"]}
        nothing = dict.fromkeys(gained, 0.0)
        entries.append(ChangeEntry(id=change.id, at=change.undone_at, before=gained, after=nothing))
    return entries


async def recompute_and_save_states(
    deps: OutcomeDeps, transaction: Transaction, space: SpaceId, memories: Mapping[MemoryId, Memory], *, at: datetime
) -> dict[MemoryId, OutcomeState]:
    """Save what the logs of locked memories give."""
    before = await load_outcome_states(transaction, space, memories, terms=deps.terms(space))
    after = await replay_states(deps, transaction, space, memories)
    effects = [BeliefUpdate(memory=id_, belief=state.belief) for id_, state in after.items()]
    await apply_belief_updates(transaction, space, effects, at=at)
    await save_changed_rhythms(transaction, space, [(id_, before[id_], after[id_]) for id_ in after])
    return after


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeWithdrawalResult:
    """Outcomes that no longer count, and the memories that were recomputed."""

    outcomes: tuple[UUID, ...]
    memories: tuple[MemoryId, ...]


async def withdraw_outcomes(
    deps: OutcomeDeps, transaction: Transaction, space: SpaceId, selector: ErasureSelector
) -> OutcomeWithdrawalResult:
    """Stop counting what a session, an agent or an origin reported."""
    if not (selector.session or selector.agent or selector.origin):
        return OutcomeWithdrawalResult(outcomes=(), memories=())
    rows = await transaction.all(Q["take_back_outcomes"], space=space, **selector.provenance_parameters)
    held = await lock_memories_in_order(transaction, space, {row["memory_id"] for row in rows})
    await recompute_and_save_states(deps, transaction, space, held, at=deps.clock())
    return OutcomeWithdrawalResult(outcomes=tuple(row["id"] for row in rows), memories=tuple(sorted(held)))


async def replay_outcomes(deps: OutcomeDeps, transaction: Transaction, space: SpaceId, memory: MemoryId) -> None:
    """Recompute a memory whose sightings changed, if it has outcomes; without any, the sightings say it all."""
    if await transaction.all(Q["log_of"], space=space, memories=[memory]):
        held = await lock_memories_in_order(transaction, space, [memory])
        await recompute_and_save_states(deps, transaction, space, held, at=deps.clock())


async def reinstate_outcomes(
    deps: OutcomeDeps, transaction: Transaction, space: SpaceId, outcomes: Sequence[UUID]
) -> None:
    """Count withdrawn outcomes again."""
    rows = await transaction.all(Q["give_back_outcomes"], space=space, ids=list(outcomes))
    held = await lock_memories_in_order(transaction, space, {row["memory_id"] for row in rows})
    await recompute_and_save_states(deps, transaction, space, held, at=deps.clock())


async def compare_memories_with_logs(
    deps: OutcomeDeps, space: SpaceId, report: Report = lambda _done, _total, _note: None
) -> tuple[int, list[OutcomeMismatch]]:
    """Compare every memory that has outcomes with its logs; return the number checked and what differs."""
    wrong: list[OutcomeMismatch] = []
    seen, after = 0, FIRST
    while True:
        # Of one moment, so that nobody's outcome is in the log and not yet in the memory.
        async with deps.store.transaction(snapshot=True) as transaction:
            rows = await transaction.all(Q["memories_with_outcomes"], space=space, after=after, limit=PAGE)
            if not rows:
                return seen, wrong
            held = await load_existing_memories(transaction, space, [row["memory_id"] for row in rows])
            found = await replay_states(deps, transaction, space, held)
        seen, after = seen + len(held), rows[-1]["memory_id"]
        wrong += [each for id_, memory in held.items() for each in _find_mismatches(memory, found[id_])]
        report(seen, None, "memories replayed")


async def check_replay(deps: OutcomeDeps, spaces: Sequence[SpaceId], report: Report) -> Check:
    """Check that the logs give what is stored of every memory that has outcomes."""
    compared = [await compare_memories_with_logs(deps, space, report) for space in spaces]
    wrong = [each.as_json() for _, those in compared for each in those]
    said = f"{sum(seen for seen, _ in compared):,} memories with outcomes were replayed; {len(wrong)} numbers differ."
    remedy = "Make a backup (`festinger backup`), then report this; `festinger outcomes verify` names them all."
    return (
        failed_check("outcomes.replay", said, remedy, wrong=wrong[:20]) if wrong else ok_check("outcomes.replay", said)
    )


def _find_mismatches(memory: Memory, state: OutcomeState) -> list[OutcomeMismatch]:
    stored, computed = belief_columns(memory.belief), belief_columns(state.belief)
    return [
        OutcomeMismatch(memory=memory.id, column=name, stored=stored[name], replayed=computed[name])
        for name in stored
        if stored[name] != computed[name]
    ]
