"""Recomputes a memory as if some of its sightings had never happened.

The remaining sightings are replayed in order of time: the first founds the memory, later ones count by the
same rules as when they came, merges add what the duplicate had gathered, and shifts by a person or the night
are applied again.
The arithmetic is that of learning. For a memory with outcomes, whoever keeps their log replays it over the
sightings that count here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any
from uuid import UUID

from festinger.ids import MemoryId, Origin, SpaceId
from festinger.memory.changes import Change, MemoryChangeOp, changes_of, lock_memory
from festinger.memory.confidence import (
    FRESH,
    IMMUTABLE,
    START,
    Belief,
    CauseCounts,
    SightingUncountedReason,
    Weight,
    corroborate_belief,
    find_founding_sighting,
    find_uncounted_reason,
    merge_weights,
    round_trust,
)
from festinger.memory.deps import MemoryDeps
from festinger.memory.learn.statement import fold_hash, gist_hash, parse_slot, subject_key
from festinger.memory.model import Memory, Status, belief_columns
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.memory")

REPAIRED = SightingUncountedReason.REPAIRED.value
FIXED = frozenset(
    {
        SightingUncountedReason.OWN_DERIVATION.value,
        SightingUncountedReason.INTERNAL.value,
        SightingUncountedReason.UNDONE.value,
        REPAIRED,
    }
)
"""Reasons that hold regardless of the other sightings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SightingToReplay:
    """One sighting to replay."""

    id: UUID
    at: datetime
    agent: str
    session: str
    day: date
    origin: Origin
    trust: float
    because: str | None = None
    """Why it did not count."""
    moved_by: UUID | None = None
    """The merge that brought it from a duplicate."""

    @property
    def cause(self) -> tuple[str, str, date, Origin]:
        return self.agent, self.session, self.day, self.origin


@dataclass(frozen=True, slots=True, kw_only=True)
class BeliefShift:
    """A change of belief by a person or the night, as columns before and after."""

    at: datetime
    before: Mapping[str, Any]
    after: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayMerge:
    """A duplicate that was merged in, with what it had gathered by then."""

    id: UUID
    at: datetime
    duplicate: "MemoryReplayResult"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReplayResult:
    """The belief and counts after replaying the remaining sightings."""

    belief: Belief
    causes: int = 1
    confirmations: int = 0
    last_confirmed: datetime | None = None
    uncounted: Mapping[UUID, str | None] = field(default_factory=dict)
    """Why each sighting does not count; None where it does."""


def replay_belief(
    voices: Sequence[SightingToReplay],
    *,
    status: Status,
    immutable: bool,
    cap: float,
    first: UUID | None = None,
    moves: Sequence[BeliefShift] = (),
    merges: Sequence[ReplayMerge] = (),
) -> MemoryReplayResult:
    """Replay everything. `cap` is the highest confidence that causes with little trust reach.

    The sighting `first` founds the memory, by default the oldest.
    """
    start = Belief(confidence=START, weight=IMMUTABLE if immutable else FRESH, immutable=immutable)
    own = sorted(
        (each for each in voices if each.moved_by is None), key=lambda each: (each.id != first, each.at, each.id)
    )
    result = MemoryReplayResult(belief=start, uncounted={each.id: each.because for each in own[:1]})
    heard = [each for each in own[:1] if each.because is None]
    happened: list[tuple[datetime, int, SightingToReplay | BeliefShift | ReplayMerge]] = [
        *((each.at, 1, each) for each in own[1:]),
        *((each.at, 2, each) for each in moves),
        *((each.at, 0, each) for each in merges),
    ]
    for _, _, each in sorted(happened, key=lambda entry: entry[:2]):
        if isinstance(each, SightingToReplay):
            result = _add_sighting(result, each, heard, status=status, cap=cap)
        elif isinstance(each, ReplayMerge):
            result = _add_merge(result, each, immutable=immutable)
            heard += [voice for voice in voices if voice.moved_by == each.id and voice.because is None]
        else:
            result = replace(result, belief=apply_belief_shift(result.belief, each))
    return result


def _add_sighting(
    result: MemoryReplayResult, voice: SightingToReplay, heard: list[SightingToReplay], *, status: Status, cap: float
) -> MemoryReplayResult:
    because = _find_uncounted_reason(voice, heard, status)
    result = replace(result, uncounted={**result.uncounted, voice.id: because})
    if because == SightingUncountedReason.QUARANTINED and status is not Status.QUARANTINED:
        return result
    result = replace(result, confirmations=result.confirmations + 1, last_confirmed=voice.at)
    if because is not None:
        return result
    heard.append(voice)
    belief = corroborate_belief(result.belief, trust=voice.trust, origin=voice.origin, cap=cap)
    return replace(result, belief=belief, causes=result.causes + 1)


def _find_uncounted_reason(voice: SightingToReplay, heard: Sequence[SightingToReplay], status: Status) -> str | None:
    if voice.because in FIXED or voice.because == SightingUncountedReason.QUARANTINED:
        return voice.because
    if status is Status.HELD and voice.because == SightingUncountedReason.HELD:
        return voice.because
    today = [each for each in heard if each.cause[::2] == voice.cause[::2] and each.origin == voice.origin]
    same = sum(each.cause == voice.cause for each in heard)
    return find_uncounted_reason(CauseCounts(of_cause=same, of_agent_today=len(today)))


def _add_merge(result: MemoryReplayResult, merged: ReplayMerge, *, immutable: bool) -> MemoryReplayResult:
    duplicate = merged.duplicate
    weight = merge_weights(result.belief.weight, duplicate.belief.weight, immutable=immutable)
    return replace(
        result,
        belief=replace(result.belief, weight=weight),
        causes=result.causes + duplicate.causes,
        confirmations=result.confirmations + duplicate.confirmations + 1,
    )


def apply_belief_shift(belief: Belief, moved: BeliefShift) -> Belief:
    """Apply a recorded shift to another belief, by the same difference."""
    held = belief_columns(belief)
    for name, after in moved.after.items():
        before = moved.before.get(name)
        if name not in held:
            continue
        if name in ("confidence_ceiling", "weight_ceiling") or None in (before, after, held[name]):
            held[name] = after
        else:
            held[name] += after - before
    weight = Weight(alpha=held.pop("weight_alpha"), beta=held.pop("weight_beta"))
    confidence = min(max(held.pop("confidence"), 0.0), 1.0)
    return replace(belief, weight=weight, confidence=confidence, **held)


async def replay_memory(deps: MemoryDeps, transaction: Transaction, space: SpaceId, memory: UUID) -> Memory:
    """Recompute a memory from its remaining sightings; the caller has removed the others."""
    found = await lock_memory(transaction, space, memory)
    rows = await transaction.all(Q["voices_of"], space=space, memory=memory)
    first = find_founding_sighting(found.id, rows)
    result = await _replay_sightings(deps, transaction, found, rows, first=first["id"] if first else None)
    if first is not None and first["id"] != found.id:
        await _reset_first_sighting(transaction, found, first)
    await _refill_details(transaction, found, rows)
    changed = [
        {"space": space, "id": id_, "counted": because is None, "because": because}
        for id_, because in result.uncounted.items()
        if any(row["id"] == id_ and row["because"] != because for row in rows)
    ]
    if changed:
        await transaction.run_many(Q["recount_sighting"], changed)
    await transaction.run(
        Q["put_retold"],
        space=space,
        id=memory,
        causes=result.causes,
        confirmations=result.confirmations,
        last_confirmed=result.last_confirmed,
        at=deps.clock(),
        **belief_columns(result.belief),
    )
    await deps.replay_outcomes(transaction, space, found.id)
    return await lock_memory(transaction, space, memory)


def merge_sighting_details(details: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Derive subject, time and tags from the sightings in order: first value wins, tags are united."""
    kept: dict[str, Any] = {}
    for name in ("subject", "subject_key", "event_time"):
        kept[name] = next((each[name] for each in details if each[name] is not None), None)
    tags = list(details[0]["tags"]) if details else []
    later = {tag for each in details[1:] for tag in each["tags"]}
    # Learning keeps the order of the first sighting's tags; later sightings sort them.
    return kept | {"tags": sorted({*tags, *later}) if details[1:] else tags}


async def _refill_details(transaction: Transaction, memory: Memory, rows: Sequence[Mapping[str, Any]]) -> None:
    """Drop details that only removed sightings gave. What a person edited since stays."""
    left = [row for row in rows if row["moved_by"] is None and row["because"] != REPAIRED]
    changes = await changes_of(transaction, memory.space_id, [memory.id])
    is_edited = any(each.op is MemoryChangeOp.EDIT and each.undone_at is None for each in changes)
    if not left or is_edited or any(row["told"] is None for row in left):
        return
    details = [row["told"] for row in left if row["because"] != SightingUncountedReason.QUARANTINED or row is left[0]]
    await transaction.run(Q["refill"], space=memory.space_id, id=memory.id, **merge_sighting_details(details))


async def _reset_first_sighting(transaction: Transaction, memory: Memory, first: Mapping[str, Any]) -> None:
    """Make the first remaining sighting the one that founded the memory."""
    wording = first["wording"]
    slot = parse_slot(wording, None, said_at=first["at"])
    subject = slot.subject.replace("_", " ") if slot else memory.subject
    await transaction.run(
        Q["found_anew"],
        space=memory.space_id,
        id=memory.id,
        content=wording,
        fold=fold_hash(wording, subject),
        gist=gist_hash(wording, subject),
        subject=subject,
        subject_key=subject_key(subject),
        attribute_key=slot.attribute if slot else None,
        value_key=slot.value if slot else None,
        origin=first["origin"],
        trust=first["trust"],
        source=first["source"],
        session=first["session_id"],
        at=first["at"],
    )
    await transaction.run(Q["erase_vectors"], space=memory.space_id, memories=[memory.id])


async def _replay_sightings(
    deps: MemoryDeps, transaction: Transaction, memory: Memory, rows: Sequence[Mapping[str, Any]], *, first: UUID | None
) -> MemoryReplayResult:
    space, cap = memory.space_id, deps.terms(memory.space_id).memory.untrusted_confidence_cap
    changes = [each for each in await changes_of(transaction, space, [memory.id]) if each.undone_at is None]
    voices = [sighting_from_row(row) for row in rows]
    merges = [
        await _build_merge(deps, transaction, space, each, voices)
        for each in changes
        if each.op is MemoryChangeOp.MERGE and each.after["into"] == str(memory.id) and "forgotten" not in each.after
    ]
    return replay_belief(
        [voice for voice in voices if voice.because != REPAIRED],
        status=memory.status,
        immutable=memory.immutable,
        cap=cap,
        first=first,
        moves=[_build_shift(each, memory.id) for each in changes if each.op is MemoryChangeOp.WEIGHT],
        merges=merges,
    )


async def _build_merge(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, change: Change, voices: Sequence[SightingToReplay]
) -> ReplayMerge:
    """Replay what a duplicate had gathered, from the sightings it brought along."""
    duplicate = MemoryId(UUID(change.after["from"]))
    earlier = [each for each in await changes_of(transaction, space, [duplicate]) if each.undone_at is None]
    mine = [
        replace(voice, moved_by=None) for voice in voices if voice.moved_by == change.id and voice.because != REPAIRED
    ]
    cap = deps.terms(space).memory.untrusted_confidence_cap
    moves = [
        _build_shift(each, duplicate) for each in earlier if each.op is MemoryChangeOp.WEIGHT and each.at <= change.at
    ]
    result = replay_belief(mine, status=Status.ACTIVE, immutable=False, cap=cap, moves=moves)
    return ReplayMerge(id=change.id, at=change.at, duplicate=result)


def _build_shift(change: Change, memory: MemoryId) -> BeliefShift:
    before = change.before.get("memories", {}).get(str(memory), {})
    return BeliefShift(at=change.at, before=before, after=change.touched(memory))


def sighting_from_row(row: Mapping[str, Any]) -> SightingToReplay:
    return SightingToReplay(
        id=row["id"],
        at=row["at"],
        agent=row["agent_id"],
        session=row["session_id"],
        day=row["day"],
        origin=Origin(row["origin"]),
        trust=round_trust(row["trust"]),
        because=row["because"],
        moved_by=row["moved_by"],
    )
