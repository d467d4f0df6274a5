"""When does a warning become a stop?

When it has struck often enough. By default that is only told, and a person is asked; with `auto` it happens by
itself, but never to a censor that a model, a tool, a document or a job made: those would stop whole turns for rules
that nobody vouched for.
"""

from uuid import UUID

import structlog

from festinger.events.event import Event
from festinger.memory.censors.censor import MAY_BLOCK, Force, is_due
from festinger.memory.censors.changing import Changed, Note, Op, lock_censor, restate
from festinger.memory.desk import Desk
from festinger.store.pool import Transaction

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
