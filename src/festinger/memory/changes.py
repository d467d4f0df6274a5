"""What was done to memories, and what was there before?

Every deed that changes a memory's state or words writes one change: the columns that it touched, before and after.
That is enough to undo it, to see whether something later stands on it, and to say what was believed at any moment.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.clock import iso
from festinger.errors import BadInput, NotFound
from festinger.ids import AgentId, Cause, MemoryId, SpaceId
from festinger.memory.desk import Desk
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.memory")

Columns = Mapping[str, Any]
States = Mapping[MemoryId, Columns]
"""Some columns of some memories."""


class Op(StrEnum):
    CONFIRM = "confirm"
    MERGE = "merge"
    SPLIT = "split"
    SUPERSEDE = "supersede"
    RESTORE = "restore"
    ARCHIVE = "archive"
    EDIT = "edit"
    QUARANTINE = "quarantine"
    RELEASE = "release"
    WEIGHT = "weight"
    REPAIR = "repair"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    id: UUID
    op: Op
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
        """What the change left in a memory."""
        return dict(self.after.get("memories", {}).get(str(memory), {}))

    def as_json(self) -> dict[str, Any]:
        return {
            "id": str(self.id),
            "op": self.op.value,
            "memory_ids": [str(each) for each in self.memory_ids],
            "before": self.before,
            "after": self.after,
            "reason": self.reason,
            "by": self.by,
            "cause": self.cause,
            "judgement": str(self.judgement_id) if self.judgement_id else None,
            "at": iso(self.at),
            "undone_at": iso(self.undone_at) if self.undone_at else None,
            "undone_by": self.undone_by,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A change that is to be written down."""

    op: Op
    before: States
    after: States
    by: str
    reason: str = ""
    cause: Cause | None = None
    judgement: UUID | None = None
    more: Mapping[str, Any] | None = None
    """What undoing needs beside columns."""


async def write_change(desk: Desk, transaction: Transaction, space: SpaceId, note: Note) -> UUID:
    change = desk.new_uuid()
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
        at=desk.clock(),
    )
    return change


def _json(states: States, more: Mapping[str, Any] | None) -> str:
    body = {"memories": {str(memory): dict(columns) for memory, columns in states.items()}, **(more or {})}
    return json.dumps(body, default=_plain)


def _plain(value: Any) -> str:
    return iso(value) if isinstance(value, datetime) else str(value)


def same_columns(present: Columns, written: Columns) -> bool:
    """Whether a memory still is as a change left it."""
    return all(_comparable(present.get(name)) == value for name, value in written.items())


def _comparable(value: Any) -> Any:
    plain = value if value is None or isinstance(value, bool | int | float | str) else _plain(value)
    return str(plain) if isinstance(plain, StrEnum) else plain


async def find_change(transaction: Transaction, space: SpaceId, change: UUID) -> Change:
    return _need(await transaction.maybe(Q["find_change"], space=space, id=change), change)


async def lock_change(transaction: Transaction, space: SpaceId, change: UUID) -> Change:
    """One change, kept from changing until the transaction ends."""
    return _need(await transaction.maybe(Q["lock_change"], space=space, id=change), change)


def _need(row: Mapping[str, Any] | None, change: UUID) -> Change:
    if row is None:
        raise NotFound(f"There is no change `{change}`.")
    return change_of(row)


async def changes_of(transaction: Transaction, space: SpaceId, memories: Iterable[UUID]) -> list[Change]:
    """Every change of these memories, oldest first."""
    rows = await transaction.all(Q["changes_of"], space=space, memories=list(memories))
    return [change_of(row) for row in rows]


async def list_changes(
    desk: Desk,
    space: SpaceId,
    *,
    ops: Sequence[Op] = (),
    memory: UUID | None = None,
    agent: AgentId | None = None,
    before: tuple[datetime, UUID] | None = None,
    limit: int = 50,
) -> list[Change]:
    """What was done, newest first; with an agent, what that agent may see of it."""
    rows = await desk.store.all(
        Q["changes"],
        space=space,
        ops=[op.value for op in ops] or None,
        memory=memory,
        agent=agent,
        at=before[0] if before else None,
        after=before[1] if before else None,
        limit=limit,
    )
    return [change_of(row) for row in rows]


def change_of(row: Mapping[str, Any]) -> Change:
    values = {name: value for name, value in row.items() if name != "space_id"}
    return Change(**values | {"op": Op(row["op"]), "memory_ids": tuple(row["memory_ids"])})


def op_of(name: str) -> Op:
    """The kind of change that is meant."""
    try:
        return Op(name)
    except ValueError as error:
        known = ", ".join(f"`{each}`" for each in Op)
        raise BadInput(f"`{name[:40]}` is no kind of change.", hint=f"Say {known}.") from error
