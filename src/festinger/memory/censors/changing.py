"""How is a censor changed, and how is that taken back?

By a person: other words, another reach, a warning or a stop, off or on again. Each change is logged with what was
there before, told, and can be undone as long as nothing later stands on it. Nothing is deleted here; that is
forgetting. Who may do it is found out by the door; that only a person or the system may make one stop something
holds here too.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.errors import BadInput, NotFound, Refused, UndoBlocked
from festinger.ids import Origin, SpaceId
from festinger.memory.censors.censor import MAY_BLOCK, Censor, Force, censor_of, force_of, where_of
from festinger.memory.censors.watch import tell_of_change
from festinger.memory.desk import Desk
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.text.regex import checked_pattern

Q = queries_of("festinger.memory")

COLUMNS = ("reason", "pattern", "meaning", "domain", "applies_to", "action", "escalation_threshold", "active")
"""What of a censor can be changed."""
LONGEST_WORDS = 1_000
MOST_STRIKES = 10_000


class Op(StrEnum):
    ADD = "add"
    UPDATE = "update"
    ESCALATE = "escalate"
    DEMOTE = "demote"
    DEACTIVATE = "deactivate"
    ACTIVATE = "activate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A censor as it is now, and the change that can be taken back; none if there was nothing to do."""

    censor: Censor
    change: UUID | None = None

    def as_json(self) -> dict[str, Any]:
        return {"censor": self.censor.as_json(), "change": str(self.change) if self.change else None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Who changes a censor, how and why."""

    op: Op
    by: str
    reason: str = ""


async def update(
    desk: Desk,
    space: SpaceId,
    censor: UUID,
    *,
    by: str,
    reason: str = "",
    origin: Origin = Origin.PERSON,
    **values: Any,
) -> Changed:
    """Change what is named, of `reason_shown`, `pattern`, `meaning`, `domain`, `on`, `action`, `threshold` and
    `active`. Raises `NotFound`, `BadInput`, `Refused`."""
    columns = checked_columns(values)
    needs_person(columns.get("action"), origin)
    note = Note(op=Op.UPDATE, by=by, reason=reason)
    async with desk.store.transaction() as transaction:
        found = await lock_censor(transaction, space, censor)
        if not (columns.get("pattern", found.pattern) or columns.get("meaning", found.meaning)):
            raise BadInput("A censor needs a pattern or a meaning.", hint="Deactivate it instead.")
        return await restate(desk, transaction, found, columns, note)


async def escalate(desk: Desk, space: SpaceId, censor: UUID, *, by: str, reason: str = "") -> Changed:
    """Let a censor stop what it only warned of."""
    return await _set(
        desk, space, censor, {"action": Force.BLOCK}, Note(op=Op.ESCALATE, by=by, reason=reason)
    )


async def demote(desk: Desk, space: SpaceId, censor: UUID, *, by: str, reason: str = "") -> Changed:
    """Let a censor warn of what it stopped."""
    return await _set(desk, space, censor, {"action": Force.WARN}, Note(op=Op.DEMOTE, by=by, reason=reason))


async def deactivate(desk: Desk, space: SpaceId, censor: UUID, *, by: str, reason: str = "") -> Changed:
    """Let a censor rest; it strikes no more."""
    return await _set(desk, space, censor, {"active": False}, Note(op=Op.DEACTIVATE, by=by, reason=reason))


async def activate(desk: Desk, space: SpaceId, censor: UUID, *, by: str, reason: str = "") -> Changed:
    """Let a censor that rested strike again."""
    return await _set(desk, space, censor, {"active": True}, Note(op=Op.ACTIVATE, by=by, reason=reason))


async def undo(desk: Desk, space: SpaceId, change: UUID, *, by: str) -> Changed:
    """Take a change back; twice is once. Raises `NotFound`, `UndoBlocked`."""
    async with desk.store.transaction() as transaction:
        row = await transaction.maybe(Q["lock_censor_change"], space=space, id=change)
        if row is None:
            raise NotFound(f"There is no change `{change}`.")
        found = await lock_censor(transaction, space, row["censor_id"])
        if row["undone_at"] is not None:
            return Changed(censor=found, change=change)
        if columns_of(found, row["after"]) != row["after"]:
            raise UndoBlocked("The censor was changed again since.", censor=str(found.id))
        put_back = row["before"] or {"active": False}
        restored = await _write(desk, transaction, found, put_back)
        await transaction.run(Q["mark_censor_undone"], space=space, id=change, at=desk.clock(), by=by)
        await tell_changed(
            desk, transaction, restored, was=found.standing, note=Note(op=Op.UPDATE, by=by, reason="undone")
        )
    return Changed(censor=restored, change=change)


async def lock_censor(transaction: Transaction, space: SpaceId, censor: UUID) -> Censor:
    """One censor, kept from changing until the transaction ends."""
    row = await transaction.maybe(Q["lock_censor"], space=space, id=censor)
    if row is None:
        raise NotFound(f"There is no censor `{censor}`.")
    return censor_of(row)


async def restate(
    desk: Desk, transaction: Transaction, censor: Censor, columns: Mapping[str, Any], note: Note
) -> Changed:
    """Change a censor that the caller holds locked, log it and tell of it; nothing if it is so already."""
    plain = {name: _plain(value) for name, value in columns.items()}
    before = columns_of(censor, plain)
    if before == plain:
        return Changed(censor=censor)
    changed = await _write(desk, transaction, censor, plain)
    change = await log_change(desk, transaction, changed, before=before, after=plain, note=note)
    await tell_changed(desk, transaction, changed, was=censor.standing, note=note)
    return Changed(censor=changed, change=change)


async def log_change(
    desk: Desk,
    transaction: Transaction,
    censor: Censor,
    *,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    note: Note,
) -> UUID:
    change = desk.new_uuid()
    await transaction.run(
        Q["write_censor_change"],
        space=censor.space_id,
        id=change,
        censor=censor.id,
        op=note.op.value,
        before=json.dumps(before),
        after=json.dumps(after),
        reason=note.reason[:500],
        by=note.by,
        at=desk.clock(),
    )
    return change


async def tell_changed(
    desk: Desk, transaction: Transaction, censor: Censor, *, was: str | None, note: Note
) -> None:
    """Tell of a change, and let every process load the censors again."""
    await tell_of_change(transaction, censor.space_id)
    await desk.outbox.emit(
        transaction,
        "censor_changed",
        space=censor.space_id,
        subject=f"censor:{censor.id}",
        payload={
            "censor": str(censor.id),
            "from": was,
            "to": censor.standing,
            "by": note.by[:200],
            "why": (note.reason or note.op.value)[:200],
        },
    )


def needs_person(action: object, origin: Origin) -> None:
    """Only a person or the system may make a censor stop something."""
    if action == Force.BLOCK and origin not in MAY_BLOCK:
        raise Refused(
            "Only a person may let a censor stop something.",
            hint="Make it a warning, or propose it to a person.",
            reason="needs_person",
        )


def checked_columns(values: Mapping[str, Any]) -> dict[str, Any]:
    """What is to be changed, as columns; what cannot be is `BadInput`."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if name not in _READERS:
            raise BadInput(f"`{name[:40]}` of a censor cannot be changed.")
        column, reader = _READERS[name]
        found[column] = reader(value)
    if not found:
        raise BadInput("There is nothing to change.", hint="Name what should be another.")
    return found


def words_of(text: str | None) -> str | None:
    """Words of a censor for people; empty is none."""
    plain = " ".join((text or "").split())
    if len(plain) > LONGEST_WORDS:
        raise BadInput(f"This has at most {LONGEST_WORDS:,} characters.")
    return plain or None


def threshold_of(number: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MOST_STRIKES:
        raise BadInput(f"A threshold is a whole number from 1 to {MOST_STRIKES:,}.")
    return number


def pattern_of(text: str | None) -> str | None:
    return checked_pattern(text) if text else None


def columns_of(censor: Censor, names: Iterable[str]) -> dict[str, Any]:
    """Some columns of a censor, as they are logged."""
    return {name: _plain(getattr(censor, name)) for name in names}


_READERS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "reason_shown": ("reason", lambda text: words_of(text) or ""),
    "pattern": ("pattern", pattern_of),
    "meaning": ("meaning", words_of),
    "domain": ("domain", words_of),
    "on": ("applies_to", where_of),
    "action": ("action", force_of),
    "threshold": ("escalation_threshold", threshold_of),
    "active": ("active", bool),
}


async def _set(desk: Desk, space: SpaceId, censor: UUID, columns: Mapping[str, Any], note: Note) -> Changed:
    async with desk.store.transaction() as transaction:
        found = await lock_censor(transaction, space, censor)
        return await restate(desk, transaction, found, columns, note)


async def _write(desk: Desk, transaction: Transaction, censor: Censor, columns: Mapping[str, Any]) -> Censor:
    row = await transaction.one(
        Q["restate_censor"],
        space=censor.space_id,
        id=censor.id,
        **columns_of(censor, COLUMNS) | dict(columns),
    )
    return censor_of(row)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [str(each) for each in value]
    return str(value) if isinstance(value, StrEnum) else value
