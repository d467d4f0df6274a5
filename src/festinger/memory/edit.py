"""Edits memories on behalf of people: reword, supersede, merge, split, archive, restore, release.

Every operation writes one change, emits an event and can be undone. Reworded or restored memories are
rechecked as if they were just learned. The parts of a split are learned like any statement, derive from the
source and keep its origin; the source is archived. Only a person releases a memory from quarantine: others
repeating it never does.
A released memory takes all the steps of a new statement, with its old cause; a rejected one is archived.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from festinger.errors import BadInput, Refused, Stale
from festinger.ids import Cause, MemoryId, SpaceId
from festinger.memory.changes import (
    ChangeDraft,
    MemoryChangeOp,
    diff_state,
    find_memory,
    lock_memories,
    lock_memory,
    update_state,
    write_change,
)
from festinger.memory.deps import MemoryDeps
from festinger.memory.jobs import RECHECK
from festinger.memory.late_judgements import recheck_memory
from festinger.memory.learn.candidates import PendingMemory
from festinger.memory.learn.intake import parse_learn_request
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.result import Learned
from festinger.memory.learn.statement import (
    LearnRequest,
    Statement,
    build_statement,
    normalize_learn_request,
    strip_blocks_and_secrets,
)
from festinger.memory.learn.supersede import check_no_cycle, merge_into, order_survivor_first, supersede_all
from festinger.memory.learn.write import write_statement
from festinger.memory.model import LIVE, Memory, Status, memory_from_row, scope_of_memory
from festinger.records import record_json
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.memory")

WORDS = ("content", "subject", "subject_key", "attribute_key", "value_key")
"""The columns that an edit changes, besides the hashes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEditResult:
    """A memory after a change, and the change."""

    memory: Memory
    change: UUID | None

    def as_json(self) -> dict[str, Any]:
        return record_json(self)


async def edit(
    deps: MemoryDeps, space: SpaceId, memory: UUID, content: str, *, by: str, version: int | None = None
) -> MemoryEditResult:
    """Reword a memory. Raises `Stale` if `version` is not the current one."""
    async with deps.store.transaction() as transaction:
        old = await lock_memory(transaction, space, memory)
        check_version(old, version)
        if old.immutable:
            raise immutable_error(old)
        redact = deps.terms(space).redact
        request = normalize_learn_request(
            LearnRequest(text=content, subject=old.subject, kind=old.kind, origin=old.origin), redact=redact
        )
        clean = strip_blocks_and_secrets(request.text, deps.without_blocks, redact=redact)
        if not clean.text:
            raise BadInput("There is nothing left of these words to keep.")
        statement = build_statement(request, clean, owner=old.agent_id, trust=old.trust, at=deps.clock())
        row = await transaction.one(
            Q["reword"],
            space=space,
            id=old.id,
            content=statement.text,
            fold=statement.fold,
            gist=statement.gist,
            subject=statement.subject,
            subject_key=statement.subject_key,
            attribute_key=statement.slot.attribute if statement.slot else None,
            value_key=statement.slot.value if statement.slot else None,
            at=deps.clock(),
        )
        new = memory_from_row(row)
        note = ChangeDraft(
            op=MemoryChangeOp.EDIT, before={old.id: wording_columns(old)}, after={old.id: wording_columns(new)}, by=by
        )
        change = await write_change(deps, transaction, space, note)
        await emit_memory_event(deps, transaction, new, "memory_edited", change=str(change))
        await deps.ask(transaction, RECHECK, space=space, memory=str(new.id))
    return MemoryEditResult(memory=new, change=change)


async def archive(deps: MemoryDeps, space: SpaceId, memory: UUID, *, by: str, reason: str = "") -> MemoryEditResult:
    """Archive a memory: it is no longer recalled."""
    async with deps.store.transaction() as transaction:
        old = await lock_memory(transaction, space, memory)
        if old.status is Status.ARCHIVED:
            return MemoryEditResult(memory=old, change=None)
        if old.status not in LIVE:
            raise Refused(f"This memory is {old.status.value} already.", status=old.status.value)
        return await archive_in_transaction(deps, transaction, old, by=by, reason=reason)


async def archive_in_transaction(
    deps: MemoryDeps, transaction: Transaction, old: Memory, *, by: str, reason: str
) -> MemoryEditResult:
    """Archive a memory that the caller holds locked, in the caller's transaction."""
    new = await update_state(transaction, old, at=deps.clock(), status=Status.ARCHIVED, pending=False)
    before, after = diff_state(old, new)
    note = ChangeDraft(op=MemoryChangeOp.ARCHIVE, before={old.id: before}, after={old.id: after}, by=by, reason=reason)
    change = await write_change(deps, transaction, old.space_id, note)
    await deps.panel.drop(transaction, old.space_id, old.id)
    await emit_memory_event(deps, transaction, new, "memory_archived", reason=reason[:200])
    return MemoryEditResult(memory=new, change=change)


async def restore(deps: MemoryDeps, space: SpaceId, memory: UUID, *, by: str, reason: str = "") -> MemoryEditResult:
    """Restore an archived or superseded memory."""
    async with deps.store.transaction() as transaction:
        old = await lock_memory(transaction, space, memory)
        if old.status is Status.ACTIVE:
            return MemoryEditResult(memory=old, change=None)
        if old.status not in (Status.ARCHIVED, Status.SUPERSEDED):
            raise Refused(
                f"What is {old.status.value} cannot be brought back like this.",
                hint="Undo the merge, decide the conflict, or release it from quarantine.",
                status=old.status.value,
            )
        new = await update_state(
            transaction,
            old,
            at=deps.clock(),
            status=Status.ACTIVE,
            superseded_by=None,
            superseded_at=None,
            valid_to=None,
        )
        before, after = diff_state(old, new)
        note = ChangeDraft(
            op=MemoryChangeOp.RESTORE, before={old.id: before}, after={old.id: after}, by=by, reason=reason
        )
        change = await write_change(deps, transaction, space, note)
        await emit_memory_event(deps, transaction, new, "memory_restored", change=str(change))
        await deps.ask(transaction, RECHECK, space=space, memory=str(new.id))
    return MemoryEditResult(memory=new, change=change)


async def supersede(
    deps: MemoryDeps, space: SpaceId, old: UUID, new: UUID, *, by: str, reason: str = "", cause: Cause | None = None
) -> MemoryEditResult:
    """Replace one memory by another; a memory already replaced is left as it is.

    `cause` is that of a new one learned for this purpose: undoing puts it away.
    """
    async with deps.store.transaction() as transaction:
        found = await lock_memories(transaction, space, [old, new])
        older, newer = found[MemoryId(old)], found[MemoryId(new)]
        if older.status not in LIVE:
            return MemoryEditResult(memory=newer, change=None)
        await check_no_cycle(transaction, space, old=older, new=newer)
        if newer.status is not Status.ACTIVE:
            raise Refused(f"What is {newer.status.value} cannot replace anything.", status=newer.status.value)
        fresh, change = await supersede_all(deps, transaction, newer, [older], by=by, reason=reason, cause=cause)
    return MemoryEditResult(memory=fresh, change=change)


async def merge(
    deps: MemoryDeps, space: SpaceId, memories: Sequence[UUID], *, by: str, reason: str = ""
) -> MemoryEditResult:
    """Merge memories that say the same."""
    wanted = list(dict.fromkeys(memories))
    if len(wanted) < 2:
        raise BadInput("Two memories at least can be merged.")
    async with deps.store.transaction() as transaction:
        found = await lock_memories(transaction, space, wanted)
        stays, change = found[MemoryId(wanted[0])], None
        for other in wanted[1:]:
            goes = found[MemoryId(other)]
            if Status.ACTIVE not in (stays.status, goes.status) or goes.status not in LIVE:
                raise Refused("Only memories that stand can be merged.")
            first, second = order_survivor_first(stays, goes)
            stays, change = await merge_into(deps, transaction, first, second, by=by, reason=reason)
        await deps.ask(transaction, RECHECK, space=space, memory=str(stays.id))
    return MemoryEditResult(memory=stays, change=change)


def wording_columns(memory: Memory) -> dict[str, Any]:
    marks = {"fold": memory.fold.hex(), "gist": memory.gist.hex()}
    return {name: getattr(memory, name) for name in WORDS} | marks


def check_version(memory: Memory, version: int | None) -> None:
    if version is not None and version != memory.version:
        raise Stale(f"This memory has version {memory.version} by now, not {version}.", version=memory.version)


def immutable_error(memory: Memory) -> Refused:
    return Refused(
        "This is held for good and cannot be changed.",
        hint="A person may forget it.",
        reason="immutable",
        memory=str(memory.id),
    )


async def emit_memory_event(
    deps: MemoryDeps, transaction: Transaction, memory: Memory, name: str, **payload: Any
) -> None:
    await deps.outbox.emit(
        transaction,
        name,
        space=memory.space_id,
        subject=f"memory:{memory.id}",
        payload={"memory": str(memory.id), **payload},
    )


MOST_PARTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitResult:
    source: Memory
    parts: tuple[Learned, ...]
    change: UUID

    def as_json(self) -> dict[str, Any]:
        return record_json(self)


async def split(deps: MemoryDeps, space: SpaceId, memory: UUID, texts: Sequence[str], *, by: str) -> SplitResult:
    """Learn each part of a memory separately and archive the memory."""
    if not 2 <= len(texts) <= MOST_PARTS:
        raise BadInput(f"A memory is parted into 2 to {MOST_PARTS} texts.")
    async with deps.store.transaction() as transaction:
        source = await find_memory(transaction, space, memory)
    if source.status not in LIVE or source.immutable:
        raise Refused("Only a memory that stands, and not for good, can be parted.", status=source.status.value)
    requests = [normalize_learn_request(build_split_request(source, text)) for text in texts]
    parts = [await learn(deps, scope_of_memory(source), each) for each in requests]
    async with deps.store.transaction() as transaction:
        old = await lock_memory(transaction, space, memory)
        new = await update_state(transaction, old, at=deps.clock(), status=Status.ARCHIVED, pending=False)
        before, after = diff_state(old, new)
        more = {
            "parts": [str(part.memory.id) for part in parts if part.memory],
            "created": [str(part.memory.id) for part in parts if part.memory and part.created],
            "changes": [str(part.change) for part in parts if part.change],
        }
        note = ChangeDraft(op=MemoryChangeOp.SPLIT, before={old.id: before}, after={old.id: after}, by=by, more=more)
        change = await write_change(deps, transaction, space, note)
    return SplitResult(source=new, parts=tuple(parts), change=change)


def build_split_request(source: Memory, text: str) -> LearnRequest:
    return LearnRequest(
        text=text,
        subject=source.subject,
        kind=source.kind,
        origin=source.origin,
        source=source.source,
        derived_from=(source.id,),
        by_model=False,
        tags=source.tags,
        shared=source.agent_id is None,
    )


async def learn_replacement_texts(
    deps: MemoryDeps, transaction: Transaction, sources: Sequence[Memory], texts: Sequence[str]
) -> list[Learned]:
    """Learn clearer texts in place of some memories, within the transaction that archives those.

    Vectors and judgements come later, from the job that fills in what is missing.
    """
    scope = scope_of_memory(sources[0])
    done: list[Learned] = []
    for text in texts:
        source = sources[min(len(done), len(sources) - 1)]
        statement = await parse_learn_request(deps, transaction, scope, build_split_request(source, text))
        if not isinstance(statement, Statement):
            raise BadInput(f"This cannot be kept: {statement.reason}.")
        prepared = PendingMemory(scope=scope, statement=statement, ref=deps.new_memory_id())
        done.append(await write_statement(deps, transaction, prepared))
    return done


async def release(deps: MemoryDeps, space: SpaceId, memory: UUID, *, by: str) -> MemoryEditResult:
    """Release a memory from quarantine and apply what follows."""
    async with deps.store.transaction() as transaction:
        old = _require_quarantine(await lock_memory(transaction, space, memory))
        new = await update_state(transaction, old, at=deps.clock(), status=Status.ACTIVE)
        before, after = diff_state(old, new)
        note = ChangeDraft(op=MemoryChangeOp.RELEASE, before={old.id: before}, after={old.id: after}, by=by)
        change = await write_change(deps, transaction, space, note)
        await transaction.run(Q["count_sighting"], space=space, id=old.id)
        await emit_memory_event(deps, transaction, new, "memory_released", by=by)
    followed = await recheck_memory(deps, space, new.id, by=by)
    return MemoryEditResult(memory=followed.memory if followed else replace(new), change=change)


async def reject(
    deps: MemoryDeps, space: SpaceId, memory: UUID, *, by: str, reason: str = "rejected"
) -> MemoryEditResult:
    """Archive a quarantined memory."""
    async with deps.store.transaction() as transaction:
        old = _require_quarantine(await lock_memory(transaction, space, memory))
        return await archive_in_transaction(deps, transaction, old, by=by, reason=reason)


def _require_quarantine(memory: Memory) -> Memory:
    if memory.status is not Status.QUARANTINED:
        raise Refused(f"This memory is not in quarantine: it is {memory.status.value}.")
    return memory
