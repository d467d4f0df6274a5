"""Withdraws everything that came from a bad source: a poisoned page, a hijacked session, a broken agent.

Its memories are quarantined or erased and their effects undone: memories they replaced or absorbed become
active again, conflicts they opened are closed, what others said too is recomputed from the rest, and
summaries and insights built on them are rebuilt. The numbers are then as if it had never been there. In
quarantine mode all of it is one change that can be undone; the original rows are kept for that.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.errors import BadInput, UndoBlocked
from festinger.ids import MemoryId, SpaceId
from festinger.memory.changes import (
    Change,
    ChangeDraft,
    MemoryChangeOp,
    MemoryRelation,
    changes_of,
    load_existing_memories,
    lock_memories_in_order,
    lock_owners,
    write_change,
)
from festinger.memory.deps import MemoryDeps
from festinger.memory.episodes.repair import TurnExclusionResult, exclude_turns, reinstate_turns
from festinger.memory.erasure.erase import ErasureDeps, ErasureReport, forget_in_transaction, list_wordings
from festinger.memory.erasure.replay import REPAIRED, replay_memory
from festinger.memory.erasure.selector import ErasureSelector, ErasureTargets, find_erasure_targets
from festinger.memory.jobs import REMAKE
from festinger.memory.model import LIVE
from festinger.records import record_json
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.text.blocks import build_erasure_patterns
from festinger.world.erase import reopen_withdrawn_conflicts, withdraw_memory_conflicts
from festinger.world.write import lock_world

Q = load_queries("festinger.memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceWithdrawalResult:
    """What another package withdrew of the same source."""

    rows: int = 0
    kept: Mapping[str, Any] = field(default_factory=dict)
    """JSON from which the package reinstates it."""
    cited: tuple[UUID, ...] = ()
    """Ids to erase in forget mode."""
    erase: Callable[[], Awaitable[int]] | None = None
    """In forget mode, erases the rest in the same transaction; returns the row count."""


TakeBack = Callable[[Transaction, SpaceId, ErasureSelector, Collection[MemoryId]], Awaitable[SourceWithdrawalResult]]
"""Withdraws, in the transaction, what came from the same source and from the bad memories."""


class RepairMode(StrEnum):
    QUARANTINE = "quarantine"
    FORGET = "forget"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairReport:
    """What was withdrawn, or would be."""

    locked: tuple[MemoryId, ...] = ()
    """Memories that nobody else said."""
    restored: tuple[MemoryId, ...] = ()
    """Active again: the source had replaced, absorbed or disputed them."""
    retold: tuple[MemoryId, ...] = ()
    """Recomputed: others said them too, or they had absorbed part of the source."""
    remade: tuple[MemoryId, ...] = ()
    """Reworded: they derive from the source and from others."""
    summaries: tuple[UUID, ...] = ()
    """Episodes partly from the source: summarized again without it."""
    conflicts: int = 0
    elsewhere: int = 0
    """Rows that other packages withdrew."""
    change: UUID | None = None
    forgotten: ErasureReport | None = None
    dry_run: bool = False

    @property
    def counts(self) -> dict[str, int]:
        counts = {name: len(getattr(self, name)) for name in _LISTS}
        return counts | {"conflicts": self.conflicts, "elsewhere": self.elsewhere}

    def as_json(self) -> dict[str, Any]:
        return record_json(self)


_LISTS = ("locked", "restored", "retold", "remade", "summaries")


@dataclass(slots=True, kw_only=True)
class _MemoryRepair:
    """One repair in progress."""

    deps: MemoryDeps
    transaction: Transaction
    space: SpaceId
    by: str
    bad: frozenset[MemoryId]
    restored: set[MemoryId] = field(default_factory=set)
    retold: set[MemoryId] = field(default_factory=set)
    undone: list[UUID] = field(default_factory=list)
    """Changes that no longer count."""

    async def run(self, query: str, **parameters: Any) -> int:
        return await self.transaction.run(Q[query], space=self.space, **parameters)


class _RepairDryRun(Exception):
    """Rolls back a dry run."""


async def repair(
    eraser: ErasureDeps,
    space: SpaceId,
    selector: ErasureSelector,
    *,
    by: str,
    mode: RepairMode = RepairMode.QUARANTINE,
    dry_run: bool = False,
    others: Mapping[str, TakeBack] | None = None,
) -> RepairReport:
    """Withdraw everything from a source, session, agent or origin. Raises `BadInput`."""
    if selector.names_memories or not selector.checked().has_provenance:
        raise BadInput("Say from where: a source, a session, an agent or an origin.")
    done = RepairReport()
    try:
        async with eraser.deps.store.transaction(patient=True) as transaction:
            done = await _withdraw_by_source(
                eraser, transaction, space, selector, by=by, mode=mode, others=others or {}, dry_run=dry_run
            )
            if dry_run:
                raise _RepairDryRun
    except _RepairDryRun:
        return _to_dry_run(done)
    return done


def _to_dry_run(done: RepairReport) -> RepairReport:
    forgotten = replace(done.forgotten, dry_run=True) if done.forgotten else None
    return replace(done, change=None, forgotten=forgotten, dry_run=True)


async def _withdraw_by_source(
    eraser: ErasureDeps,
    transaction: Transaction,
    space: SpaceId,
    selector: ErasureSelector,
    *,
    by: str,
    mode: RepairMode,
    others: Mapping[str, TakeBack],
    dry_run: bool,
) -> RepairReport:
    deps = eraser.deps
    await lock_world(transaction, space)
    await lock_owners(transaction, space, [None])
    meant = await find_erasure_targets(transaction, space, selector)
    bad, remade = await _find_dependents(transaction, space, meant.whole)
    everybody = await _find_affected_ids(transaction, space, [*bad, *remade, *meant.sightings])
    await lock_memories_in_order(transaction, space, everybody)
    before = await _copy_rows(transaction, space, everybody)
    work = _MemoryRepair(deps=deps, transaction=transaction, space=space, by=by, bad=bad)
    await _undo_changes(work, everybody)
    conflicts = await withdraw_memory_conflicts(transaction, space, sorted(bad), by=by, at=deps.clock())
    await _release_held_memories(work, conflicts)
    sightings = [each for group in meant.sightings.values() for each in group]
    await work.run("take_back_sightings", ids=sightings, because=REPAIRED)
    confirmed = {"sightings": [str(each) for each in sightings], "at": deps.clock(), "by": by}
    work.undone += [row["id"] for row in await transaction.all(Q["take_back_confirmations"], space=space, **confirmed)]
    await _quarantine(work, sorted(bad), sorted(remade))
    work.retold |= {each for each in meant.trimmed if each not in bad}
    for memory in sorted(work.retold - bad):
        await replay_memory(deps, transaction, space, memory)
    await _clear_pending(work, everybody)
    elsewhere = {name: await take(transaction, space, selector, bad) for name, take in others.items()}
    done = RepairReport(
        locked=tuple(sorted(bad)),
        restored=tuple(sorted(work.restored - bad)),
        retold=tuple(sorted(work.retold - bad)),
        remade=tuple(sorted(remade)),
        conflicts=len(conflicts),
        elsewhere=sum(each.rows for each in elsewhere.values()),
    )
    if mode is RepairMode.FORGET:
        cited = frozenset(id_ for each in elsewhere.values() for id_ in each.cited)
        gone = replace(meant, whole=bad, cited=cited)
        erased = {name: await each.erase() for name, each in elsewhere.items() if each.erase}
        return await _forget(eraser, work, done, gone=gone, elsewhere=erased, dry_run=dry_run)
    left_out = await _exclude_turns(work, selector)
    more = {
        "conflicts": [str(each) for each in conflicts],
        "elsewhere": {name: dict(each.kept) for name, each in elsewhere.items() if each.rows},
        "left_out": left_out.as_json(),
    }
    done = replace(done, summaries=left_out.summaries)
    return await _record_change(work, done, before, more=more, selector=selector)


async def _find_dependents(
    transaction: Transaction, space: SpaceId, whole: Iterable[MemoryId]
) -> tuple[frozenset[MemoryId], frozenset[MemoryId]]:
    """Return what derives only from these and the turns that said them, and what has other sources too.

    Others' duplicates stay.
    """
    gone: frozenset[MemoryId] = frozenset(whole)
    while True:
        rows = await transaction.all(Q["standing_on"], space=space, memories=sorted(gone))
        with_it = {row["id"] for row in rows if row["others"] == 0}
        if with_it <= gone:
            return gone, frozenset(row["id"] for row in rows) - gone
        gone |= with_it


async def _find_affected_ids(
    transaction: Transaction, space: SpaceId, memories: Iterable[MemoryId]
) -> frozenset[MemoryId]:
    """Return these and every memory that shares a change with one of them."""
    rows = await transaction.all(Q["neighbours"], space=space, memories=sorted(set(memories)))
    return frozenset(memories) | frozenset(row["id"] for row in rows)


async def _copy_rows(
    transaction: Transaction, space: SpaceId, memories: Iterable[MemoryId]
) -> dict[str, list[dict[str, Any]]]:
    """Copy the rows for undo."""
    ids = sorted(memories)
    return {
        name: [row["image"] for row in await transaction.all(Q[query], space=space, memories=ids)]
        for name, query in (("memory", "image_memories"), ("sighting", "image_sightings"), ("link", "image_links"))
    }


async def _undo_changes(work: _MemoryRepair, memories: Iterable[MemoryId]) -> None:
    """Undo what the bad memories did to others, last change first."""
    changes = await changes_of(work.transaction, work.space, sorted(memories))
    for change in reversed([each for each in changes if each.undone_at is None]):
        if change.op is MemoryChangeOp.SUPERSEDE and _id(change, "new") in work.bad:
            await _undo_supersession(work, change)
        elif change.op is MemoryChangeOp.MERGE and {_id(change, "into"), _id(change, "from")} & work.bad:
            await _undo_merge(work, change)
        else:
            continue
        work.undone.append(change.id)
    await work.run("undo_changes", changes=work.undone, at=work.deps.clock(), by=work.by)


async def _undo_supersession(work: _MemoryRepair, change: Change) -> None:
    """Reactivate what a bad memory replaced, or point it to what replaced the bad one."""
    new = MemoryId(UUID(change.after["new"]))
    for old in (MemoryId(UUID(each)) for each in change.after["old"]):
        heir = await _find_replacement(work, new) or await _find_restatement(work, old)
        if heir is not None and heir != old:
            await work.run("inherit", id=old, heir=heir)
        else:
            await _rewind_state(work, change, old)
        await work.run("erase_link", **{"from": new}, to=old, relation=MemoryRelation.SUPERSEDES.value)
        work.restored.add(old)


async def _find_replacement(work: _MemoryRepair, bad: MemoryId) -> MemoryId | None:
    """Return the first good memory that replaced a bad one."""
    rows = await work.transaction.all(Q["chain_on"], space=work.space, memory=bad, depth=1000)
    return next((row["id"] for row in rows if row["id"] not in work.bad), None)


async def _find_restatement(work: _MemoryRepair, old: MemoryId) -> MemoryId | None:
    """Find a memory in which others restated it since: two with the same words cannot both be active."""
    row = await work.transaction.maybe(Q["said_anew"], space=work.space, id=old, bad=sorted(work.bad))
    return MemoryId(row["id"]) if row else None


async def _undo_merge(work: _MemoryRepair, change: Change) -> None:
    """Take a merge apart; each side keeps its own sightings."""
    into, duplicate = MemoryId(UUID(change.after["into"])), MemoryId(UUID(change.after["from"]))
    await work.run("move_sightings_back", into=into, duplicate=duplicate, change=change.id)
    await work.run("erase_link", **{"from": duplicate}, to=into, relation=MemoryRelation.SAME_AS.value)
    await _rewind_state(work, change, duplicate)
    work.retold |= {into, duplicate}
    work.restored.add(duplicate)


async def _rewind_state(work: _MemoryRepair, change: Change, memory: MemoryId) -> None:
    """Restore the state that a memory had before the change."""
    state = change.before.get("memories", {}).get(str(memory), {})
    await work.run("rewind_state", id=memory, state=json.dumps(state), at=work.deps.clock())


async def _release_held_memories(work: _MemoryRepair, conflicts: Sequence[UUID]) -> None:
    """Activate memories that were held only because of something bad."""
    rows = await work.transaction.all(
        Q["stand_again"], space=work.space, memories=sorted(work.bad), at=work.deps.clock()
    )
    freed = {row["id"] for row in rows} - work.bad
    work.restored |= freed
    work.retold |= freed


async def _quarantine(work: _MemoryRepair, bad: Sequence[MemoryId], remade: Sequence[MemoryId]) -> None:
    for memory in bad:
        await work.deps.panel.drop(work.transaction, work.space, memory)
    await work.run("lock_repaired", memories=[*bad, *remade], at=work.deps.clock())
    for memory in remade:
        await work.deps.ask(work.transaction, REMAKE, space=work.space, memory=str(memory))


async def _exclude_turns(work: _MemoryRepair, selector: ErasureSelector) -> TurnExclusionResult:
    """Rebuild episode summaries without the source and what it taught."""
    rows = await list_wordings(work.transaction, work.space, sorted(work.bad))
    wordings = list(build_erasure_patterns(wording for each in rows for wording in each["wordings"]))
    return await exclude_turns(work.deps, work.transaction, work.space, selector, wordings)


async def _clear_pending(work: _MemoryRepair, memories: Iterable[MemoryId]) -> None:
    """Clear the pending flag of memories without waiting pairs."""
    found = await load_existing_memories(work.transaction, work.space, memories)
    for memory in (each for each in found.values() if each.pending):
        if not await work.deps.panel.waiting(work.transaction, work.space, memory.id):
            await work.run("set_pending", id=memory.id, pending=False, at=work.deps.clock())


async def _forget(
    eraser: ErasureDeps,
    work: _MemoryRepair,
    done: RepairReport,
    *,
    gone: ErasureTargets,
    elsewhere: Mapping[str, int],
    dry_run: bool,
) -> RepairReport:
    """Erase the bad memories, and only the selected sightings of those that others said too."""
    plan = await forget_in_transaction(
        eraser, work.transaction, work.space, gone, reason="repair", by=work.by, dry_run=dry_run
    )
    rows = {name: count for name, count in elsewhere.items() if count}
    told = replace(
        done,
        locked=plan.erased,
        restored=tuple(each for each in done.restored if each not in plan.erased),
        retold=tuple(each for each in done.retold if each not in plan.erased),
        remade=plan.remade,
        forgotten=replace(plan, rows={**plan.rows, **rows}),
    )
    return await _emit_repaired(work, told)


async def _record_change(
    work: _MemoryRepair,
    done: RepairReport,
    before: Mapping[str, Any],
    *,
    more: Mapping[str, Any],
    selector: ErasureSelector,
) -> RepairReport:
    """Store the original rows, so that everything can be undone as one change."""
    touched = [*done.locked, *done.restored, *done.retold, *done.remade]
    note = ChangeDraft(
        op=MemoryChangeOp.REPAIR,
        before={},
        after={memory: {} for memory in dict.fromkeys(touched)},
        by=work.by,
        reason=json.dumps(selector.as_json()),
        more={
            "images": before,
            "undone": [str(each) for each in work.undone],
            **more,
            "after": await _load_state_fingerprints(work.transaction, work.space, touched),
        },
    )
    change = await write_change(work.deps, work.transaction, work.space, note)
    return await _emit_repaired(work, replace(done, change=change))


async def _emit_repaired(work: _MemoryRepair, done: RepairReport) -> RepairReport:
    await work.deps.outbox.emit(
        work.transaction,
        "memory_repaired",
        space=work.space,
        subject="memories",
        payload={"change": str(done.change) if done.change else None, "counts": done.counts},
    )
    return done


async def _load_state_fingerprints(
    transaction: Transaction, space: SpaceId, memories: Iterable[MemoryId]
) -> dict[str, str]:
    """Return fingerprints that reveal whether a memory changed since."""
    found = await load_existing_memories(transaction, space, dict.fromkeys(memories))
    return {str(id_): f"{memory.status} {memory.version} {memory.confirmation_count}" for id_, memory in found.items()}


async def undo_repair(deps: MemoryDeps, transaction: Transaction, space: SpaceId, change: Change) -> None:
    """Restore every row that a repair changed, here and in other packages."""
    if not await is_unchanged_since_repair(transaction, space, change):
        raise UndoBlocked("Something was done since that stands on this repair.", changes=[])
    await reinstate_turns(deps, transaction, space, change.after.get("left_out", {}), change=change.id)
    images = change.after["images"]
    # Inactive ones first, so that two memories with the same words are never active at once.
    images["memory"].sort(key=lambda image: image["status"] in LIVE)
    for name, query in (("memory", "put_back_memory"), ("sighting", "put_back_sighting"), ("link", "put_back_link")):
        rows = [{"space": space, "image": json.dumps(image)} for image in images[name]]
        if rows:
            await transaction.run_many(Q[query], rows)
    await transaction.run(Q["redo_changes"], space=space, changes=change.after["undone"])
    await reopen_withdrawn_conflicts(transaction, space, [UUID(each) for each in change.after["conflicts"]])
    await deps.give_back(transaction, space, change.after.get("elsewhere", {}))


async def is_unchanged_since_repair(transaction: Transaction, space: SpaceId, change: Change) -> bool:
    """Whether nothing that a repair touched has changed since."""
    kept: Mapping[str, str] = change.after["after"]
    return await _load_state_fingerprints(transaction, space, [MemoryId(UUID(each)) for each in kept]) == dict(kept)


def _id(change: Change, name: str) -> MemoryId:
    return MemoryId(UUID(change.after[name]))
