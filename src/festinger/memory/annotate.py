"""Adds notes beside what a memory says: a short form, a context, its utility, tags, metadata and further sources.

The words of the memory stay as they are. One call writes one change, which can be undone.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from festinger.errors import BadInput
from festinger.ids import SpaceId
from festinger.memory.changes import (
    Change,
    ChangeDraft,
    MemoryChangeOp,
    MemoryRelation,
    add_links,
    find_linked_ids,
    lock_memory,
    mark_links_undone,
    write_change,
)
from festinger.memory.deps import MemoryDeps
from festinger.memory.jobs import EMBED
from festinger.memory.model import Memory, memory_from_row
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.memory")

CONTEXT = "content_contextualized"
NOTES = (CONTEXT, "compressed", "utility_score", "tags", "metadata")
"""The columns that hold notes."""


async def annotate(
    deps: MemoryDeps,
    transaction: Transaction,
    space: SpaceId,
    memory: UUID,
    *,
    by: str,
    reason: str = "",
    cites: Sequence[UUID] = (),
    **notes: Any,
) -> tuple[Memory, UUID | None]:
    """Set notes and add sources; return the memory and the change, None if nothing differs.

    `notes` are columns of `NOTES`; `metadata` is merged into what is there.
    """
    if unknown := set(notes) - set(NOTES):
        raise BadInput(f"`{min(unknown)}` is no note of a memory.")
    old = await lock_memory(transaction, space, memory)
    if "metadata" in notes:
        notes["metadata"] = {**old.metadata, **notes["metadata"]}
    if "tags" in notes:
        notes["tags"] = tuple(notes["tags"])
    after = {name: value for name, value in notes.items() if getattr(old, name) != value}
    known = await find_linked_ids(transaction, space, old.id, MemoryRelation.DERIVES_FROM)
    added = [each for each in dict.fromkeys(cites) if each not in known and each != old.id]
    if not after and not added:
        return old, None
    new = await _write_notes(deps, transaction, old, after)
    await add_links(transaction, space, old.id, MemoryRelation.DERIVES_FROM, to=added, at=deps.clock())
    note = ChangeDraft(
        op=MemoryChangeOp.ANNOTATE,
        before={old.id: {name: getattr(old, name) for name in after}},
        after={old.id: after},
        by=by,
        reason=reason,
        more={"cites": [str(each) for each in added]},
    )
    return new, await write_change(deps, transaction, space, note)


async def undo_annotation(deps: MemoryDeps, transaction: Transaction, memory: Memory, change: Change) -> None:
    """Undo an annotation of a locked memory."""
    before: Mapping[str, Any] = change.before["memories"].get(str(memory.id), {})
    await _write_notes(deps, transaction, memory, before)
    cited = [UUID(each) for each in change.after.get("cites", [])]
    await mark_links_undone(
        transaction, memory.space_id, memory.id, MemoryRelation.DERIVES_FROM, to=cited, at=deps.clock()
    )


async def _write_notes(deps: MemoryDeps, transaction: Transaction, old: Memory, notes: Mapping[str, Any]) -> Memory:
    columns = {name: getattr(old, name) for name in NOTES} | dict(notes)
    columns |= {"tags": list(columns["tags"]), "metadata": json.dumps(dict(columns["metadata"]))}
    row = await transaction.one(Q["annotate"], space=old.space_id, id=old.id, at=deps.clock(), **columns)
    if CONTEXT in notes:
        await deps.ask(transaction, EMBED, space=old.space_id)
    return memory_from_row(row)
