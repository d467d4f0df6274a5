"""Reads, locks and updates memories, and keeps the log of changes, links and beliefs.

Every operation that changes a memory's state or wording writes one change with the touched columns before and
after: enough to undo it, to detect later changes that build on it, and to reconstruct past beliefs.
Functions run in the caller's transaction; the caller decides what may move and emits the events. Only the
rule that immutable memories do not move is enforced here. For outcomes, callers lock the memories,
compute with `confidence`, and pass `BeliefUpdate`s back; whoever reports an outcome keeps its audit trail.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.clock import iso
from festinger.errors import NotFound, Refused
from festinger.ids import AgentId, Cause, MemoryId, SpaceId, pick, prefix, read_id
from festinger.memory.confidence import Belief
from festinger.memory.deps import MemoryDeps
from festinger.memory.model import Memory, belief_columns, memory_from_row
from festinger.records import parse_choice, record_json, row_mapper
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.memory")

LONGEST_CHAIN = 1000
"""Successors of a memory that are followed."""

Columns = Mapping[str, Any]
States = Mapping[MemoryId, Columns]
"""Some columns of some memories."""


class MemoryChangeOp(StrEnum):
    CONFIRM = "confirm"
    MERGE = "merge"
    SPLIT = "split"
    SUPERSEDE = "supersede"
    RESTORE = "restore"
    ARCHIVE = "archive"
    EDIT = "edit"
    ANNOTATE = "annotate"
    QUARANTINE = "quarantine"
    RELEASE = "release"
    WEIGHT = "weight"
    REPAIR = "repair"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    id: UUID
    op: MemoryChangeOp
    memory_ids: tuple[MemoryId, ...]
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    reason: str
    by: str
    cause: Mapping[str, Any] | None
    judgement_id: UUID | None
    at: datetime
    undone_at: datetime | None
    undone_by: str | None

    def touched(self, memory: MemoryId) -> Columns:
        """The columns that the change set on a memory."""
        return dict(self.after.get("memories", {}).get(str(memory), {}))

    def as_json(self) -> dict[str, Any]:
        return record_json(self, judgement_id="judgement")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeDraft:
    """A change to be written."""

    op: MemoryChangeOp
    before: States
    after: States
    by: str
    reason: str = ""
    cause: Cause | None = None
    judgement: UUID | None = None
    more: Mapping[str, Any] | None = None
    """Data beyond columns that undo needs."""


async def write_change(deps: MemoryDeps, transaction: Transaction, space: SpaceId, note: ChangeDraft) -> UUID:
    change = deps.new_uuid()
    await transaction.run(
        Q["write_change"],
        space=space,
        id=change,
        op=note.op.value,
        memories=list(dict.fromkeys([*note.after, *note.before])),
        before=_json(note.before, None),
        after=_json(note.after, note.more),
        reason=note.reason[:500],
        by=note.by,
        cause=json.dumps(asdict(note.cause), default=str) if note.cause else None,
        judgement=note.judgement,
        at=deps.clock(),
    )
    return change


def _json(states: States, more: Mapping[str, Any] | None) -> str:
    body = {"memories": {str(memory): dict(columns) for memory, columns in states.items()}, **(more or {})}
    return json.dumps(body, default=_plain)


def _plain(value: Any) -> str:
    return iso(value) if isinstance(value, datetime) else str(value)


def has_same_columns(present: Columns, written: Columns) -> bool:
    """Whether a memory is still as a change left it."""
    return all(_comparable(present.get(name)) == value for name, value in written.items())


def _comparable(value: Any) -> Any:
    if isinstance(value, Mapping | list | tuple):
        return dict(value) if isinstance(value, Mapping) else list(value)
    plain = value if value is None or isinstance(value, bool | int | float | str) else _plain(value)
    return str(plain) if isinstance(plain, StrEnum) else plain


async def find_change(transaction: Transaction, space: SpaceId, change: UUID) -> Change:
    return _require_change(await transaction.maybe(Q["find_change"], space=space, id=change), change)


async def lock_change(transaction: Transaction, space: SpaceId, change: UUID) -> Change:
    """Load one change and lock it until the transaction ends."""
    return _require_change(await transaction.maybe(Q["lock_change"], space=space, id=change), change)


def _require_change(row: Mapping[str, Any] | None, change: UUID) -> Change:
    if row is None:
        raise NotFound(f"There is no change `{change}`.")
    return change_from_row(row)


async def changes_of(transaction: Transaction, space: SpaceId, memories: Iterable[UUID]) -> list[Change]:
    """List every change of these memories, oldest first."""
    rows = await transaction.all(Q["changes_of"], space=space, memories=list(memories))
    return [change_from_row(row) for row in rows]


async def list_changes(
    deps: MemoryDeps,
    space: SpaceId,
    *,
    ops: Sequence[MemoryChangeOp] = (),
    memory: UUID | None = None,
    agent: AgentId | None = None,
    before: tuple[datetime, UUID] | None = None,
    limit: int = 50,
) -> list[Change]:
    """List changes, newest first; with an agent, only those visible to it."""
    rows = await deps.store.all(
        Q["changes"],
        space=space,
        ops=[op.value for op in ops or MemoryChangeOp],
        memory=memory,
        agent=agent,
        at=before[0] if before else None,
        after=before[1] if before else None,
        limit=limit,
    )
    return [change_from_row(row) for row in rows]


change_from_row = row_mapper(Change)


def parse_op(name: str) -> MemoryChangeOp:
    """Parse a kind of change. Raises `BadInput`."""
    return parse_choice(MemoryChangeOp, name, "kind of change")


STATE = ("status", "pending", "superseded_by", "superseded_at", "valid_from", "valid_to", "immutable")
"""The columns that make up the state of a memory."""


async def find_memory(transaction: Transaction, space: SpaceId, memory: UUID) -> Memory:
    row = await transaction.maybe(Q["find_memory"], space=space, id=memory)
    if row is None:
        raise NotFound(f"There is no memory `{memory}`.")
    return memory_from_row(row)


async def load_existing_memories(
    transaction: Transaction, space: SpaceId, memories: Iterable[UUID]
) -> dict[MemoryId, Memory]:
    """Load those of the given memories that exist."""
    wanted = list(memories)
    rows = await transaction.all(Q["load_existing_memories"], space=space, memories=wanted) if wanted else []
    return {row["id"]: memory_from_row(row) for row in rows}


async def lock_existing_memories(
    transaction: Transaction, space: SpaceId, memories: Iterable[UUID]
) -> dict[MemoryId, Memory]:
    """Load those of the given memories that exist and lock them until the transaction ends."""
    wanted = list(dict.fromkeys(memories))
    rows = await transaction.all(Q["lock_memories"], space=space, memories=wanted) if wanted else []
    return {row["id"]: memory_from_row(row) for row in rows}


async def lock_memories(transaction: Transaction, space: SpaceId, memories: Iterable[UUID]) -> dict[MemoryId, Memory]:
    """Load and lock the given memories. Raises `NotFound` if one is missing."""
    wanted = list(dict.fromkeys(memories))
    found = await lock_existing_memories(transaction, space, wanted)
    if missing := [memory for memory in wanted if memory not in found]:
        raise NotFound(f"There is no memory `{missing[0]}`.")
    return found


async def lock_owners(transaction: Transaction, space: SpaceId, owners: Iterable[AgentId | None]) -> None:
    """Lock these owners so that nobody else stores memories for them; None stands for shared memories."""
    for owner in sorted({owner or "" for owner in owners}):
        await transaction.run(Q["lock_owner"], space=space, owner=owner or None)


async def lock_memory(transaction: Transaction, space: SpaceId, memory: UUID) -> Memory:
    return (await lock_memories(transaction, space, [memory]))[MemoryId(memory)]


async def resolve_memory_id(deps: MemoryDeps, space: SpaceId, text: str | UUID) -> MemoryId:
    """Resolve a full id or an id prefix to a memory id."""
    if isinstance(text, UUID):
        return MemoryId(text)
    if len(text.strip().replace("-", "")) == 32:
        return MemoryId(read_id(text))
    rows = await deps.store.all(Q["ids_that_begin"], space=space, prefix=prefix(text))
    return MemoryId(pick(text, [row["id"] for row in rows]))


async def update_state(transaction: Transaction, memory: Memory, *, at: datetime, **changes: Any) -> Memory:
    """Move a memory to a new state. Raises `Refused` for immutable memories."""
    if memory.immutable and changes.get("immutable") is not False and "status" in changes:
        raise Refused(
            "This is held for good: it cannot be replaced, merged, archived or locked away.",
            hint="A person may forget it.",
            reason="immutable",
            memory=str(memory.id),
        )
    columns = state_columns(memory) | changes
    row = await transaction.one(Q["restate"], space=memory.space_id, id=memory.id, at=at, **columns)
    return memory_from_row(row)


def state_columns(memory: Memory) -> dict[str, Any]:
    return {name: getattr(memory, name) for name in STATE}


def diff_state(before: Memory, after: Memory, *, also: Sequence[str] = ()) -> tuple[Columns, Columns]:
    """Return the state columns that differ, before and after, always including those of `also`."""
    names = [name for name in STATE if name in also or getattr(before, name) != getattr(after, name)] + [
        name for name in also if name not in STATE
    ]
    return {name: getattr(before, name) for name in names}, {name: getattr(after, name) for name in names}


DEPTH = 10
"""Derivation depth followed for display."""
WHOLE_LINE = 1000
"""Derivation depth followed where trust depends on it."""


class MemoryRelation(StrEnum):
    DERIVES_FROM = "derives_from"
    """From an insight to its source."""
    SUPERSEDES = "supersedes"
    """From the current statement to the former one."""
    REFINES = "refines"
    CONTRADICTS = "contradicts"
    SAME_AS = "same_as"
    ABOUT = "about"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ancestor:
    """A memory or turn that a memory derives from; a turn has no trust of its own here."""

    id: UUID
    depth: int
    trust: float | None


async def add_links(
    transaction: Transaction,
    space: SpaceId,
    memory: UUID,
    relation: MemoryRelation,
    *,
    to: Iterable[UUID],
    at: datetime,
    judgements: Mapping[Any, UUID] | None = None,
) -> None:
    targets = list(dict.fromkeys(to))
    if targets:
        await transaction.run(
            Q["put_links"],
            **{"from": memory},
            space=space,
            to=targets,
            judgements=[(judgements or {}).get(target) for target in targets],
            relation=relation.value,
            at=at,
        )


async def mark_links_undone(
    transaction: Transaction,
    space: SpaceId,
    memory: UUID,
    relation: MemoryRelation,
    *,
    to: Sequence[UUID],
    at: datetime,
) -> None:
    """Mark links as undone; the rows stay."""
    await transaction.run(Q["undo_links"], **{"from": memory}, space=space, to=list(to), relation=relation.value, at=at)


async def find_linked_ids(
    transaction: Transaction, space: SpaceId, memory: UUID, relation: MemoryRelation
) -> list[MemoryId]:
    rows = await transaction.all(Q["links_from"], space=space, memory=memory, relation=relation.value)
    return [row["to_id"] for row in rows]


async def find_ancestors(
    transaction: Transaction, space: SpaceId, memories: Iterable[UUID], *, depth: int = WHOLE_LINE
) -> list[Ancestor]:
    """Return everything that these memories derive from; cycles are cut."""
    rows = await transaction.all(Q["derivation"], space=space, memories=list(memories), depth=depth)
    return [Ancestor(**row) for row in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class BeliefUpdate:
    """The new belief in a memory, and the times it was read and used."""

    memory: MemoryId
    belief: Belief
    accesses: tuple[datetime, ...] = ()


KEPT_ACCESSES = 100
"""Access times stored per memory."""


async def lock_memories_in_order(
    transaction: Transaction, space: SpaceId, memories: Iterable[UUID]
) -> dict[MemoryId, Memory]:
    """Lock those of the given memories that exist, in id order."""
    rows = await transaction.all(Q["lock_memories"], space=space, memories=sorted(set(memories)))
    return {row["id"]: memory_from_row(row) for row in rows}


async def apply_belief_updates(
    transaction: Transaction,
    space: SpaceId,
    effects: Sequence[BeliefUpdate],
    *,
    at: datetime,
    keep: int = KEPT_ACCESSES,
) -> None:
    """Store new beliefs for memories that the caller holds locked; the caller keeps the audit trail.

    Only the last `keep` access times are kept.
    """
    ordered = sorted(effects, key=lambda each: each.memory)
    held = [
        {"space": space, "id": each.memory, "causes": 0, "at": at, **belief_columns(each.belief)} for each in ordered
    ]
    read = [
        {"space": space, "id": each.memory, "times": list(each.accesses), "keep": keep}
        for each in ordered
        if each.accesses
    ]
    if held:
        await transaction.run_many(Q["revalue"], held)
    if read:
        await transaction.run_many(Q["note_accesses"], read)


async def adjust_belief(
    deps: MemoryDeps,
    transaction: Transaction,
    space: SpaceId,
    effect: BeliefUpdate,
    *,
    by: str,
    reason: str,
    evidence: Sequence[UUID] = (),
) -> UUID:
    """Change the belief in one memory for a reason other than an outcome, and log the change."""
    held = (await lock_memories(transaction, space, [effect.memory]))[effect.memory]
    before, after = belief_columns(held.belief), belief_columns(effect.belief)
    moved = [name for name in before if before[name] != after[name]]
    await apply_belief_updates(transaction, space, [effect], at=deps.clock())
    note = ChangeDraft(
        op=MemoryChangeOp.WEIGHT,
        before={effect.memory: {name: before[name] for name in moved}},
        after={effect.memory: {name: after[name] for name in moved}},
        by=by,
        reason=reason,
        more={"evidence": [str(each) for each in evidence]},
    )
    return await write_change(deps, transaction, space, note)
