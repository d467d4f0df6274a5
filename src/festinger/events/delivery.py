"""How does a subscriber hear of an event, once?

The job that carries a delivery may run twice, or two at a time. The mark that it was made is written in the
transaction of the subscriber's own rows; whoever finds the mark does nothing. A delivery that was given up
stands aside: later events of its subject go on, a person retries or drops it.
"""

from datetime import datetime
from uuid import UUID

import structlog

from festinger.errors import BadInput
from festinger.events.catalogue import CATALOGUE
from festinger.events.event import Event, event_of
from festinger.events.outbox import Outbox, Subscription
from festinger.events.shape import MAX_TEXT
from festinger.ids import EventId, SpaceId
from festinger.observability.metrics import EVENTS_DEAD, EVENTS_DELIVERED
from festinger.observability.trace import on_behalf_of
from festinger.store.pool import Store, Transaction
from festinger.store.queries import queries_of

log = structlog.get_logger()

Q = queries_of("festinger.events")

DEATH = "event_dead"


async def deliver(store: Store, outbox: Outbox, *, space: str, event: str, subscriber: str) -> bool:
    """Tell a subscriber of an event; false if it was told before, or need not be told any more."""
    async with store.transaction() as transaction:
        key = {"space": space, "event": UUID(event), "subscriber": subscriber}
        if not await transaction.maybe(Q["claim_delivery"], now=outbox.clock(), **key):
            return False
        told = event_of(await transaction.one(Q["find_event"], space=space, id=UUID(event)))
        with on_behalf_of(told.trace):
            await _subscription(outbox, told, subscriber).deed(transaction, told)
    EVENTS_DELIVERED.labels(subscriber).inc()
    return True


async def bury(
    transaction: Transaction, outbox: Outbox, *, space: str, event: str, subscriber: str, error: str
) -> None:
    """Give a delivery up, as part of the transaction that gives its job up; tell of it, once."""
    key = {"space": space, "event": UUID(event), "subscriber": subscriber}
    note = error[:MAX_TEXT]
    if not await transaction.maybe(Q["bury_delivery"], now=outbox.clock(), note=note, **key):
        return
    EVENTS_DEAD.labels(subscriber).inc()
    dead = event_of(await transaction.one(Q["find_event"], space=space, id=UUID(event)))
    log.warning("delivery given up", room="events", space=space, subscriber=subscriber, name=dead.name)
    if dead.name == DEATH:
        # Whoever cannot hear of a death would otherwise make a new one each time.
        return
    await outbox.emit(
        transaction,
        DEATH,
        space=SpaceId(space),
        subject=subscriber,
        payload={"event": event, "subscriber": subscriber, "error": note},
        trace=dead.trace,
        caused_by=EventId(dead.id),
    )


async def abandon(
    transaction: Transaction, *, now: datetime, space: str, event: str, subscriber: str, note: str
) -> None:
    """A person decided that this delivery need not be made."""
    await transaction.run(
        Q["drop_delivery"],
        space=space,
        event=UUID(event),
        subscriber=subscriber,
        note=note[:MAX_TEXT],
        now=now,
    )


def _subscription(outbox: Outbox, event: Event, subscriber: str) -> Subscription:
    """The deed for this event. What this version cannot understand is refused: trying again will not help."""
    known = CATALOGUE.get(event.name)
    if known is None or event.version > known.version:
        raise BadInput(
            f"Event `{event.name}` of version {event.version} is not known here.",
            hint="It was written by a newer Festinger; retry the delivery after the upgrade.",
        )
    subscription = outbox.subscribers(event.name).get(subscriber)
    if subscription is None:
        raise BadInput(
            f"Nobody called `{subscriber}` hears of `{event.name}` here.",
            hint="Drop the delivery if that subscriber is gone for good.",
        )
    return subscription
