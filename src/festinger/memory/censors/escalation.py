"""Escalates censors that trigger often and handles false positives.

By default a due escalation is only proposed to a person; with `auto` it is applied, but never to censors made
by a model, tool, document or job, which would block turns for rules that nobody vouched for.
A person can report each trigger as a false positive once; it then no longer counts toward escalation. Nor do
the triggers that led to a block which a person undid: the count starts anew. A
warning that is mostly wrong is switched off (logged, undoable). A mostly wrong block stays until a person
decides.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog

from festinger.errors import NotFound
from festinger.events.catalogue import Event
from festinger.ids import SpaceId
from festinger.memory.censors.censor import (
    MAY_BLOCK,
    Censor,
    CensorAction,
    CensorTriggerRecord,
    censor_from_row,
    is_due_for_escalation,
    is_mostly_wrong,
    trigger_from_row,
)
from festinger.memory.censors.edit import CensorChangeNote, CensorChangeResult, CensorOp, change_censor, lock_censor
from festinger.memory.deps import MemoryDeps
from festinger.records import record_json
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

log = structlog.get_logger(room="memory")

BY = "festinger"
AUTO = "auto"


def is_warning_trigger(event: Event) -> bool:
    """Whether the trigger came from a warning, which may escalate."""
    return bool(event.payload["action"] == CensorAction.WARN.value)


async def escalate_if_due(deps: MemoryDeps, transaction: Transaction, event: Event) -> CensorChangeResult | None:
    """Handle `censor_triggered`: turn a due warning into a block if the settings say `auto`."""
    if deps.terms(event.space).memory.censor_escalation != AUTO:
        return None
    censor = await lock_censor(transaction, event.space, UUID(event.payload["censor"]))
    if not is_due_for_escalation(censor):
        return None
    if censor.origin not in MAY_BLOCK:
        log.info("censor stays a warning", censor=str(censor.id), why=f"made by {censor.origin}", by=AUTO)
        return None
    note = CensorChangeNote(op=CensorOp.ESCALATE, by=BY, reason=f"struck {censor.counted} times")
    return await change_censor(deps, transaction, censor, {"action": CensorAction.BLOCK}, note)


Q = load_queries("festinger.memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class FalsePositiveResult:
    """The result of reporting a false positive."""

    censor: Censor
    trigger: CensorTriggerRecord
    counted: bool
    """Whether this was the first report of this trigger."""
    change: UUID | None = None
    """The change that switched the censor off, if any."""

    @property
    def should_be_demoted(self) -> bool:
        """Whether a block is wrong so often that a person should be asked to make it a warning."""
        return self.censor.active and self.censor.action is CensorAction.BLOCK and is_mostly_wrong(self.censor)

    def as_json(self) -> dict[str, Any]:
        return record_json(self) | {"should_be_demoted": self.should_be_demoted}


async def mark_false_positive(deps: MemoryDeps, space: SpaceId, trigger: UUID, *, by: str) -> FalsePositiveResult:
    """Report a trigger as a false positive; idempotent. Raises `NotFound`."""
    async with deps.store.transaction() as transaction:
        row = await transaction.maybe(Q["find_trigger"], space=space, id=trigger)
        if row is None:
            raise NotFound(f"There is no strike `{trigger}`.")
        censor = await lock_censor(transaction, space, row["censor_id"])
        first = await transaction.maybe(Q["mark_misfire"], space=space, id=trigger)
        found = trigger_from_row(await transaction.one(Q["find_trigger"], space=space, id=trigger))
        if first is None:
            return FalsePositiveResult(censor=censor, trigger=found, counted=False)
        return await _count_misfire(deps, transaction, censor, found, by=by)


async def find_latest_trigger_id(deps: MemoryDeps, space: SpaceId, censor: UUID) -> UUID:
    """Return the latest trigger of a censor not reported as wrong. Raises `NotFound`."""
    row = await deps.store.maybe(Q["latest_trigger"], space=space, censor=censor)
    if row is None:
        raise NotFound("This censor has no strike that could be wrong.")
    return UUID(str(row["id"]))


async def _count_misfire(
    deps: MemoryDeps, transaction: Transaction, censor: Censor, trigger: CensorTriggerRecord, *, by: str
) -> FalsePositiveResult:
    row = await transaction.one(Q["count_misfire"], space=censor.space_id, id=censor.id)
    counted = censor_from_row(row)
    await deps.outbox.emit(
        transaction,
        "censor_false_positive",
        space=censor.space_id,
        subject=f"censor:{censor.id}",
        payload={"censor": str(censor.id), "trigger": str(trigger.id)},
    )
    change = None
    if counted.active and counted.action is CensorAction.WARN and is_mostly_wrong(counted):
        wrong = f"{counted.false_positive_count} of {counted.activation_count} strikes were wrong, said {by}"
        note = CensorChangeNote(op=CensorOp.DEACTIVATE, by=BY, reason=wrong)
        done = await change_censor(deps, transaction, counted, {"active": False}, note)
        counted, change = done.censor, done.change
    return FalsePositiveResult(censor=counted, trigger=trigger, counted=True, change=change)
