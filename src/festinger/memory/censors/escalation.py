"""When does a warning become a stop?

When it has struck often enough. By default that is only told, and a person is asked; with `auto` it happens by
itself, but never to a censor that a model, a tool, a document or a job made: those would stop whole turns for rules
that nobody vouched for.

What if a censor strikes and should not have?

A person says so, once a strike. It then no longer speaks for making the censor stronger. A warning that is wrong more
often than right is switched off, which is logged and can be undone; a stop stays until a person decides, and is told.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog

from festinger.errors import NotFound
from festinger.events.event import Event
from festinger.ids import SpaceId
from festinger.memory.censors.censor import (
    MAY_BLOCK,
    Censor,
    Force,
    Trigger,
    censor_of,
    is_due,
    is_mostly_wrong,
    trigger_of,
)
from festinger.memory.censors.edit import Changed, Note, Op, lock_censor, restate
from festinger.memory.deps import Desk
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

log = structlog.get_logger(room="memory")

BY = "festinger"
AUTO = "auto"


def is_warning(event: Event) -> bool:
    """Whether a strike may make a censor stronger."""
    return bool(event.payload["action"] == Force.WARN.value)


async def escalate_censor(desk: Desk, transaction: Transaction, event: Event) -> Changed | None:
    """Make a censor that struck often enough stop things, if the settings say so. A subscriber of
    `censor_triggered`."""
    if desk.terms(event.space).memory.censor_escalation != AUTO:
        return None
    censor = await lock_censor(transaction, event.space, UUID(event.payload["censor"]))
    if not is_due(censor):
        return None
    if censor.origin not in MAY_BLOCK:
        log.info("censor stays a warning", censor=str(censor.id), why=f"made by {censor.origin}", by=AUTO)
        return None
    note = Note(op=Op.ESCALATE, by=BY, reason=f"struck {censor.counted} times")
    return await restate(desk, transaction, censor, {"action": Force.BLOCK}, note)


Q = queries_of("festinger.memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfire:
    """What came of calling a strike wrong."""

    censor: Censor
    trigger: Trigger
    counted: bool
    """Whether this was the first who said so."""
    change: UUID | None = None
    """The change that switched the censor off, if it did."""

    @property
    def should_be_demoted(self) -> bool:
        """Whether a stop is wrong so often that a person should be asked to make it a warning."""
        return self.censor.active and self.censor.action is Force.BLOCK and is_mostly_wrong(self.censor)

    def as_json(self) -> dict[str, Any]:
        return {
            "censor": self.censor.as_json(),
            "trigger": self.trigger.as_json(),
            "counted": self.counted,
            "change": str(self.change) if self.change else None,
            "should_be_demoted": self.should_be_demoted,
        }


async def false_positive(desk: Desk, space: SpaceId, trigger: UUID, *, by: str) -> Misfire:
    """Call a strike wrong; twice is once. Raises `NotFound`."""
    async with desk.store.transaction() as transaction:
        row = await transaction.maybe(Q["find_trigger"], space=space, id=trigger)
        if row is None:
            raise NotFound(f"There is no strike `{trigger}`.")
        censor = await lock_censor(transaction, space, row["censor_id"])
        first = await transaction.maybe(Q["mark_misfire"], space=space, id=trigger)
        found = trigger_of(await transaction.one(Q["find_trigger"], space=space, id=trigger))
        if first is None:
            return Misfire(censor=censor, trigger=found, counted=False)
        return await _counted(desk, transaction, censor, found, by=by)


async def latest_strike(desk: Desk, space: SpaceId, censor: UUID) -> UUID:
    """The last strike of a censor that nobody called wrong. Raises `NotFound`."""
    row = await desk.store.maybe(Q["latest_trigger"], space=space, censor=censor)
    if row is None:
        raise NotFound("This censor has no strike that could be wrong.")
    return UUID(str(row["id"]))


async def _counted(
    desk: Desk, transaction: Transaction, censor: Censor, trigger: Trigger, *, by: str
) -> Misfire:
    row = await transaction.one(Q["count_misfire"], space=censor.space_id, id=censor.id)
    counted = censor_of(row)
    await desk.outbox.emit(
        transaction,
        "censor_false_positive",
        space=censor.space_id,
        subject=f"censor:{censor.id}",
        payload={"censor": str(censor.id), "trigger": str(trigger.id)},
    )
    change = None
    if counted.active and counted.action is Force.WARN and is_mostly_wrong(counted):
        wrong = f"{counted.false_positive_count} of {counted.activation_count} strikes were wrong, said {by}"
        note = Note(op=Op.DEACTIVATE, by=BY, reason=wrong)
        done = await restate(desk, transaction, counted, {"active": False}, note)
        counted, change = done.censor, done.change
    return Misfire(censor=counted, trigger=trigger, counted=True, change=change)
