"""Turns approved advice into tasks for people.

Approving plain advice creates a task and changes nothing else; a person does it and closes it. An agent never
carries one out by itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.errors import AlreadyDecided, NotFound
from festinger.ids import SpaceId
from festinger.proposals.deps import (
    Afterwards,
    EffectContext,
    EffectPreview,
    EffectResult,
    ProposalDeps,
    null_follow_up,
)
from festinger.proposals.model import Author, ProposalId
from festinger.proposals.verdicts.reviewers import require_reviewer
from festinger.records import JsonRecord, row_mapper
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.proposals")


class TaskState(StrEnum):
    OPEN = "open"
    DONE = "done"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(JsonRecord):
    id: UUID
    proposal_id: ProposalId
    title: str
    body: str
    state: TaskState
    at: datetime
    closed_at: datetime | None
    closed_by: str | None


task_of = row_mapper(Task)


async def list_tasks(
    deps: ProposalDeps, space: SpaceId, *, state: TaskState | None = TaskState.OPEN, limit: int = 50
) -> list[Task]:
    """List tasks, oldest first; all of them if `state` is None."""
    rows = await deps.store.all(Q["tasks"], space=space, state=state, limit=limit)
    return [task_of(row) for row in rows]


async def close_task(
    deps: ProposalDeps, space: SpaceId, task: UUID, *, author: Author, state: TaskState = TaskState.DONE
) -> Task:
    """Close a task as done or dropped. Raises `NotFound`, `NotAuthorised`, `AlreadyDecided`."""
    reviewer = await require_reviewer(deps, space, author)
    async with deps.store.transaction() as transaction:
        found = await _lock_task(transaction, space, task)
        if found.state is not TaskState.OPEN:
            raise AlreadyDecided(f"This task is {found.state.value} already.", state=found.state.value)
        return await _save_closed_task(deps, transaction, space, task, by=reviewer.name, state=state)


class AdviceEffect:
    """The effect of approving plain advice: creates a task."""

    def __init__(self, deps: ProposalDeps) -> None:
        self._deps = deps

    def check(self, payload: Mapping[str, Any]) -> None:
        """Advice needs nothing besides its text."""

    async def look(self, operation: EffectContext) -> EffectPreview:
        return EffectPreview(payload=operation.payload, says="Makes a task for a person; nothing else changes.")

    async def apply(self, operation: EffectContext) -> EffectResult:
        row = await operation.transaction.one(
            Q["add_task"],
            space=operation.space,
            id=self._deps.new_id(),
            proposal=operation.proposal.id,
            title=operation.proposal.what,
            body="\n\n".join(text for text in (operation.proposal.why, operation.proposal.how) if text),
            at=self._deps.clock(),
        )
        return EffectResult(after={"task": str(row["id"]), "state": row["state"]})

    async def undo(self, operation: EffectContext, applied: EffectResult) -> Afterwards:
        task = await _lock_task(operation.transaction, operation.space, UUID(applied.after["task"]))
        if task.state is TaskState.OPEN:
            await _save_closed_task(
                self._deps, operation.transaction, operation.space, task.id, by=operation.by, state=TaskState.DROPPED
            )
        return null_follow_up


async def _lock_task(transaction: Transaction, space: SpaceId, task: UUID) -> Task:
    return task_of(await transaction.one(Q["hold_task"], NotFound(f"There is no task `{task}`."), space=space, id=task))


async def _save_closed_task(
    deps: ProposalDeps, transaction: Transaction, space: SpaceId, task: UUID, *, by: str, state: TaskState
) -> Task:
    row = await transaction.one(Q["close_task"], space=space, id=task, state=state, at=deps.clock(), by=by)
    return task_of(row)
