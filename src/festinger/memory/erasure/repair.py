"""How is all taken back that came from somewhere?

A page turns out to be poisoned, a session hijacked, an agent broken: what came from there is locked away or
forgotten, and everything it did is undone. Memories that it replaced or swallowed stand again, conflicts that it
opened are closed, what others said too is computed again from what is left, summaries and insights that rest on it are
made again.
The numbers are then those that would stand if it had never been. Locked away, all of it is one change, and can be
undone; the rows are kept as they were for that.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.errors import BadInput, UndoBlocked
from festinger.ids import MemoryId, SpaceId
from festinger.memory.changes import Change, Link, Note, Op, changes_of, find_all, hold_known, write_change
from festinger.memory.deps import Desk
from festinger.memory.episodes.repair import LeftOut, bring_back, leave_out
from festinger.memory.erasure.erase import REMAKE, Eraser, Plan, forget_in, words_of
from festinger.memory.erasure.replay import REPAIRED, retell
from festinger.memory.erasure.selector import Reach, Selector, reach
from festinger.memory.learn.write import hold_owners
from festinger.memory.model import LIVE
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.text.blocks import cuts
from festinger.world.erase import return_conflicts, withdraw_memory_conflicts
from festinger.world.write import hold

Q = queries_of("festinger.memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenBack:
    """What another room took back of the same source."""

    rows: int = 0
    kept: Mapping[str, Any] = field(default_factory=dict)
    """By what the room gives it back, as JSON."""
    cited: tuple[UUID, ...] = ()
    """What of it is erased where all is forgotten."""
    erase: Callable[[], Awaitable[int]] | None = None
    """Erases what is left of it where all is forgotten, within the same transaction; how many rows."""


TakeBack = Callable[[Transaction, SpaceId, Selector, Collection[MemoryId]], Awaitable[TakenBack]]
"""Takes back what came from the same source and from memories that are bad, within the transaction."""


class Mode(StrEnum):
    QUARANTINE = "quarantine"
    FORGET = "forget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """What was taken back, or would be."""

    locked: tuple[MemoryId, ...] = ()
    """Memories that nobody else said."""
    restored: tuple[MemoryId, ...] = ()
    """They stand again: it had replaced, swallowed or disputed them."""
    retold: tuple[MemoryId, ...] = ()
    """Others said them too, or they had swallowed something of it: computed again from what is left."""
    remade: tuple[MemoryId, ...] = ()
    """They rest on it and on others: made again."""
    summaries: tuple[UUID, ...] = ()
    """Episodes of which a part came from there: summed up again without it."""
    conflicts: int = 0
    elsewhere: int = 0
    """Rows that other rooms took back."""
    change: UUID | None = None
    forgotten: Plan | None = None
    dry_run: bool = False

    @property
    def counts(self) -> dict[str, int]:
        counts = {name: len(getattr(self, name)) for name in _LISTS}
        return counts | {"conflicts": self.conflicts, "elsewhere": self.elsewhere}

    def as_json(self) -> dict[str, Any]:
        return {
            **{name: [str(each) for each in getattr(self, name)] for name in _LISTS},
            "conflicts": self.conflicts,
            "elsewhere": self.elsewhere,
            "change": str(self.change) if self.change else None,
            "forgotten": self.forgotten.as_json() if self.forgotten else None,
            "dry_run": self.dry_run,
        }


_LISTS = ("locked", "restored", "retold", "remade", "summaries")


@dataclass(slots=True, kw_only=True)
class _Repair:
    """One repair in progress."""

    desk: Desk
    transaction: Transaction
    space: SpaceId
    by: str
    bad: frozenset[MemoryId]
    restored: set[MemoryId] = field(default_factory=set)
    retold: set[MemoryId] = field(default_factory=set)
    undone: list[UUID] = field(default_factory=list)
    """Changes that count no more."""

    async def run(self, query: str, **parameters: Any) -> int:
        return await self.transaction.run(Q[query], space=self.space, **parameters)


class _OnlyPlanned(Exception):
    """Takes a transaction back that was made to see what it does."""


async def repair(
    eraser: Eraser,
    space: SpaceId,
    selector: Selector,
    *,
    by: str,
    mode: Mode = Mode.QUARANTINE,
    dry_run: bool = False,
    others: Mapping[str, TakeBack] | None = None,
) -> Repaired:
    """Take back all that came from a source, a session, an agent or an origin. Raises `BadInput`."""
    if selector.names_memories or not selector.checked().names_a_place:
        raise BadInput("Say from where: a source, a session, an agent or an origin.")
    done = Repaired()
    try:
        async with eraser.desk.store.transaction(patient=True) as transaction:
            done = await _repair(
                eraser, transaction, space, selector, by=by, mode=mode, others=others or {}, dry_run=dry_run
            )
            if dry_run:
                raise _OnlyPlanned
    except _OnlyPlanned:
        return _planned(done)
    return done


def _planned(done: Repaired) -> Repaired:
    forgotten = replace(done.forgotten, dry_run=True) if done.forgotten else None
    return replace(done, change=None, forgotten=forgotten, dry_run=True)


async def _repair(
    eraser: Eraser,
    transaction: Transaction,
    space: SpaceId,
    selector: Selector,
    *,
    by: str,
    mode: Mode,
    others: Mapping[str, TakeBack],
    dry_run: bool,
) -> Repaired:
    desk = eraser.desk
    await hold(transaction, space)
    await hold_owners(transaction, space, [None])
    meant = await reach(transaction, space, selector)
    bad, remade = await _reached(transaction, space, meant.whole)
    everybody = await _touched(transaction, space, [*bad, *remade, *meant.sightings])
    await hold_known(transaction, space, everybody)
    before = await _images(transaction, space, everybody)
    work = _Repair(desk=desk, transaction=transaction, space=space, by=by, bad=bad)
    await _undo_changes(work, everybody)
    conflicts = await withdraw_memory_conflicts(transaction, space, sorted(bad), by=by, at=desk.clock())
    await _stand_again(work, conflicts)
    sightings = [each for said in meant.sightings.values() for each in said]
    await work.run("take_back_sightings", ids=sightings, because=REPAIRED)
    await work.run(
        "take_back_confirmations", sightings=[str(each) for each in sightings], at=desk.clock(), by=by
    )
    await _lock_away(work, sorted(bad), sorted(remade))
    work.retold |= {each for each in meant.trimmed if each not in bad}
    for memory in sorted(work.retold - bad):
        await retell(desk, transaction, space, memory)
    await _calm(work, everybody)
    elsewhere = {name: await take(transaction, space, selector, bad) for name, take in others.items()}
    done = Repaired(
        locked=tuple(sorted(bad)),
        restored=tuple(sorted(work.restored - bad)),
        retold=tuple(sorted(work.retold - bad)),
        remade=tuple(sorted(remade)),
        conflicts=len(conflicts),
        elsewhere=sum(each.rows for each in elsewhere.values()),
    )
    if mode is Mode.FORGET:
        cited = frozenset(id_ for each in elsewhere.values() for id_ in each.cited)
        gone = replace(meant, whole=bad, cited=cited)
        erased = {name: await each.erase() for name, each in elsewhere.items() if each.erase}
        return await _forget(eraser, work, done, gone=gone, elsewhere=erased, dry_run=dry_run)
    left_out = await _leave_out(work, selector)
    more = {
        "conflicts": [str(each) for each in conflicts],
        "elsewhere": {name: dict(each.kept) for name, each in elsewhere.items() if each.rows},
        "left_out": left_out.as_json(),
    }
    done = replace(done, summaries=left_out.summaries)
    return await _write_down(work, done, before, more=more, selector=selector)


async def _reached(
    transaction: Transaction, space: SpaceId, whole: Iterable[MemoryId]
) -> tuple[frozenset[MemoryId], frozenset[MemoryId]]:
    """All that rests on nothing else, and what rests on others too. What says the same stays what others said."""
    gone: frozenset[MemoryId] = frozenset(whole)
    while True:
        rows = await transaction.all(Q["derived_from_these"], space=space, memories=sorted(gone))
        with_it = {row["id"] for row in rows if row["others"] == 0}
        if with_it <= gone:
            return gone, frozenset(row["id"] for row in rows) - gone
        gone |= with_it


async def _touched(
    transaction: Transaction, space: SpaceId, memories: Iterable[MemoryId]
) -> frozenset[MemoryId]:
    """These, and every memory that something was done to together with one of them."""
    rows = await transaction.all(Q["neighbours"], space=space, memories=sorted(set(memories)))
    return frozenset(memories) | frozenset(row["id"] for row in rows)


async def _images(
    transaction: Transaction, space: SpaceId, memories: Iterable[MemoryId]
) -> dict[str, list[dict[str, Any]]]:
    """Rows as they are, for putting back."""
    ids = sorted(memories)
    return {
        name: [row["image"] for row in await transaction.all(Q[query], space=space, memories=ids)]
        for name, query in (
            ("memory", "image_memories"),
            ("sighting", "image_sightings"),
            ("link", "image_links"),
        )
    }


async def _undo_changes(work: _Repair, memories: Iterable[MemoryId]) -> None:
    """Undo what the bad ones did to others, the last first."""
    changes = await changes_of(work.transaction, work.space, sorted(memories))
    for change in reversed([each for each in changes if each.undone_at is None]):
        if change.op is Op.SUPERSEDE and _id(change, "new") in work.bad:
            await _unseat(work, change)
        elif change.op is Op.MERGE and {_id(change, "into"), _id(change, "from")} & work.bad:
            await _part(work, change)
        else:
            continue
        work.undone.append(change.id)
    await work.run("undo_changes", changes=work.undone, at=work.desk.clock(), by=work.by)


async def _unseat(work: _Repair, change: Change) -> None:
    """Let what a bad memory replaced stand again, or be replaced by what replaced the bad one."""
    new = MemoryId(UUID(change.after["new"]))
    for old in (MemoryId(UUID(each)) for each in change.after["old"]):
        heir = await _heir(work, new) or await _said_anew(work, old)
        if heir is not None and heir != old:
            await work.run("inherit", id=old, heir=heir)
        else:
            await _as_before(work, change, old)
        await work.run("erase_link", **{"from": new}, to=old, relation=Link.SUPERSEDES.value)
        work.restored.add(old)


async def _heir(work: _Repair, bad: MemoryId) -> MemoryId | None:
    """What stands in place of a bad memory and is not bad itself."""
    rows = await work.transaction.all(Q["chain_on"], space=work.space, memory=bad, depth=1000)
    return next((row["id"] for row in rows if row["id"] not in work.bad), None)


async def _said_anew(work: _Repair, old: MemoryId) -> MemoryId | None:
    """The memory in which somebody else said the same again meanwhile: two of the same words cannot both stand."""
    row = await work.transaction.maybe(Q["said_anew"], space=work.space, id=old, bad=sorted(work.bad))
    return MemoryId(row["id"]) if row else None


async def _part(work: _Repair, change: Change) -> None:
    """Take a merge apart: each keeps what was said of it."""
    into, twin = MemoryId(UUID(change.after["into"])), MemoryId(UUID(change.after["from"]))
    await work.run("move_sightings_back", into=into, twin=twin, change=change.id)
    await work.run("erase_link", **{"from": twin}, to=into, relation=Link.SAME_AS.value)
    await _as_before(work, change, twin)
    work.retold |= {into, twin}
    work.restored.add(twin)


async def _as_before(work: _Repair, change: Change, memory: MemoryId) -> None:
    """Put a memory back into the state in which the change found it, as if nothing had been."""
    state = change.before.get("memories", {}).get(str(memory), {})
    await work.run("rewind_state", id=memory, state=json.dumps(state), at=work.desk.clock())


async def _stand_again(work: _Repair, conflicts: Sequence[UUID]) -> None:
    """Let those stand that were only held against something bad."""
    rows = await work.transaction.all(
        Q["stand_again"], space=work.space, memories=sorted(work.bad), at=work.desk.clock()
    )
    freed = {row["id"] for row in rows} - work.bad
    work.restored |= freed
    work.retold |= freed


async def _lock_away(work: _Repair, bad: Sequence[MemoryId], remade: Sequence[MemoryId]) -> None:
    for memory in bad:
        await work.desk.panel.drop(work.transaction, work.space, memory)
    await work.run("lock_repaired", memories=[*bad, *remade], at=work.desk.clock())
    for memory in remade:
        await work.desk.ask(work.transaction, REMAKE, space=work.space, memory=str(memory))


async def _leave_out(work: _Repair, selector: Selector) -> LeftOut:
    """Have episodes summed up without what came from there and what it taught."""
    said = await words_of(work.transaction, work.space, sorted(work.bad))
    wordings = list(cuts(wording for each in said for wording in each["wordings"]))
    return await leave_out(work.desk, work.transaction, work.space, selector, wordings)


async def _calm(work: _Repair, memories: Iterable[MemoryId]) -> None:
    """Let those wait no more about which nobody is asked."""
    found = await find_all(work.transaction, work.space, memories)
    for memory in (each for each in found.values() if each.pending):
        if not await work.desk.panel.waiting(work.transaction, work.space, memory.id):
            await work.run("set_pending", id=memory.id, pending=False, at=work.desk.clock())


async def _forget(
    eraser: Eraser,
    work: _Repair,
    done: Repaired,
    *,
    gone: Reach,
    elsewhere: Mapping[str, int],
    dry_run: bool,
) -> Repaired:
    """Erase the memories of it, and of what others said too only what was said there."""
    plan = await forget_in(
        eraser, work.transaction, work.space, gone, reason="repair", by=work.by, dry_run=dry_run
    )
    rows = {name: count for name, count in elsewhere.items() if count}
    return await _told(work, replace(done, forgotten=replace(plan, rows={**plan.rows, **rows})))


async def _write_down(
    work: _Repair,
    done: Repaired,
    before: Mapping[str, Any],
    *,
    more: Mapping[str, Any],
    selector: Selector,
) -> Repaired:
    """Keep the rows as they were, so that all of it can be undone as one change."""
    touched = [*done.locked, *done.restored, *done.retold, *done.remade]
    note = Note(
        op=Op.REPAIR,
        before={},
        after={memory: {} for memory in dict.fromkeys(touched)},
        by=work.by,
        reason=json.dumps(selector.as_json()),
        more={
            "images": before,
            "undone": [str(each) for each in work.undone],
            **more,
            "after": await _versions(work.transaction, work.space, touched),
        },
    )
    change = await write_change(work.desk, work.transaction, work.space, note)
    return await _told(work, replace(done, change=change))


async def _told(work: _Repair, done: Repaired) -> Repaired:
    await work.desk.outbox.emit(
        work.transaction,
        "memory_repaired",
        space=work.space,
        subject="memories",
        payload={"change": str(done.change) if done.change else None, "counts": done.counts},
    )
    return done


async def _versions(transaction: Transaction, space: SpaceId, memories: Iterable[MemoryId]) -> dict[str, str]:
    """By what it is seen whether somebody changed a memory since."""
    found = await find_all(transaction, space, dict.fromkeys(memories))
    return {
        str(id_): f"{memory.status} {memory.version} {memory.confirmation_count}"
        for id_, memory in found.items()
    }


async def undo_repair(desk: Desk, transaction: Transaction, space: SpaceId, change: Change) -> None:
    """Put every row back as a repair found it, here and in the other rooms."""
    if not await is_as_repaired(transaction, space, change):
        raise UndoBlocked("Something was done since that stands on this repair.", changes=[])
    await bring_back(desk, transaction, space, change.after.get("left_out", {}), change=change.id)
    images = change.after["images"]
    # What was history goes back first, so that two of the same words never stand at once.
    images["memory"].sort(key=lambda image: image["status"] in LIVE)
    for name, query in (
        ("memory", "put_back_memory"),
        ("sighting", "put_back_sighting"),
        ("link", "put_back_link"),
    ):
        rows = [{"space": space, "image": json.dumps(image)} for image in images[name]]
        if rows:
            await transaction.run_many(Q[query], rows)
    await transaction.run(Q["redo_changes"], space=space, changes=change.after["undone"])
    await transaction.run(
        Q["redo_confirmations"],
        space=space,
        sightings=[row["id"] for row in images["sighting"]],
        at=change.at,
    )
    await return_conflicts(transaction, space, [UUID(each) for each in change.after["conflicts"]])
    await desk.give_back(transaction, space, change.after.get("elsewhere", {}))


async def is_as_repaired(transaction: Transaction, space: SpaceId, change: Change) -> bool:
    """Whether nobody has changed what a repair touched."""
    kept: Mapping[str, str] = change.after["after"]
    return await _versions(transaction, space, [MemoryId(UUID(each)) for each in kept]) == dict(kept)


def _id(change: Change, name: str) -> MemoryId:
    return MemoryId(UUID(change.after[name]))
