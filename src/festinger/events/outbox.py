"""Writes events in the transaction of a change, and delivers each of them once to its subscribers.

`emit` also writes a delivery for every subscriber, so all of it commits or none. A writer holds the lock of
its subject until commit, so the order of events is the order of changes; operations that write about several
subjects should do so in one fixed order, or two of them may deadlock and one must start over. A delivery's
job may run twice or concurrently: its mark is written in the transaction of the subscriber's own rows, and a
marked delivery is skipped. A dead delivery does not block later events of its subject; a person retries or
drops it.

Lets a reader follow the outbox live, in order and without holes.

A reader never reads past the oldest writer that has not committed. It reads at its own pace and holds no
lock, so it never slows a writer; one that falls a thousand events behind after catching up gets a `FeedGap`
and is cut off.

Prunes old events, and removes forgotten names and words from the rest.

An erased subject leaves behind only that something happened, when, and to which id; the words are replaced in
the transaction that erases them everywhere else. Events are pruned in small batches, once every delivery is
settled and their retention has passed. Waiting or undecided dead deliveries are never pruned, and audit
events are kept longer. Longer-lived traces are in the change logs of the packages.
"""

import json
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog

from festinger.clock import Clock
from festinger.errors import BadInput, FestingerError, NotFound, StoreDown
from festinger.events.catalogue import (
    AUDIT,
    CATALOGUE,
    MAX_TEXT,
    Delivery,
    Event,
    NewEvent,
    check_payload,
    event_from_row,
    find_schema,
)
from festinger.ids import EVERY_SPACE, AgentId, EventId, NewId, SessionId, SpaceId, TraceId
from festinger.observability.logs import bind_request_id, current_request_id
from festinger.observability.metrics import EVENTS_DEAD, EVENTS_DELIVERED, EVENTS_WRITTEN
from festinger.records import field_lists, field_values
from festinger.settings.tree import EventsSettings
from festinger.store.pool import Store, Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.events")

DEFAULT_QUEUE = "learn"

Operation = Callable[[Transaction, Event], Awaitable[object]]
"""What a subscriber does with an event. Its rows and the delivery mark are one transaction, so it calls no
model and waits for nothing; it defers slow work as a job."""

BatchOperation = Callable[[Transaction, Sequence[Event]], Awaitable[None]]
"""What a subscriber does with many events of one space at once, in the transaction that writes them."""

Ask = Callable[[Transaction, Sequence[Delivery]], Awaitable[object]]
"""Puts deliveries into their queues, as part of the transaction."""


FAULTS = (FestingerError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What a batch may fail with; jobs then try its events one by one."""

Wants = Callable[[Event], bool]
"""Whether a subscriber is interested in an event; if not, it gets no delivery."""


def wants_all(_event: Event) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    event: str
    subscriber: str
    operation: Operation
    queue: str
    wants: Wants
    is_first: bool = False
    batch: BatchOperation | None = None


class Outbox:
    """Writes events and knows the subscribers."""

    def __init__(self, *, clock: Clock, new_id: NewId, deliver: Ask) -> None:
        self.clock = clock
        self._new_id = new_id
        self._deliver = deliver
        self._subscriptions: defaultdict[str, dict[str, Subscription]] = defaultdict(dict)

    def subscribe(
        self,
        name: str,
        subscriber: str,
        operation: Operation,
        *,
        queue: str = DEFAULT_QUEUE,
        wants: Wants = wants_all,
        is_first: bool = False,
        batch: BatchOperation | None = None,
    ) -> None:
        """Call `operation` for every event called `name` from now on, or only for those that it `wants`.

        Subscribers have no order among them; deliveries of one that `is_first` go ahead of others in its
        queue. A writer of many events may have them handled by `batch` at once.
        """
        find_schema(name)
        if subscriber in self._subscriptions[name]:
            raise FestingerError(f"`{subscriber}` subscribes to `{name}` twice.")
        self._subscriptions[name][subscriber] = Subscription(
            event=name,
            subscriber=subscriber,
            operation=operation,
            queue=queue,
            wants=wants,
            is_first=is_first,
            batch=batch,
        )

    def subscribers(self, name: str) -> Mapping[str, Subscription]:
        return self._subscriptions.get(name, {})

    def everybody(self) -> frozenset[str]:
        """Return every subscriber of any event."""
        return frozenset(name for listening in self._subscriptions.values() for name in listening)

    async def emit(
        self,
        transaction: Transaction,
        name: str,
        *,
        space: SpaceId,
        subject: str,
        payload: Mapping[str, Any],
        agent: AgentId | None = None,
        session: SessionId | None = None,
        trace: TraceId | None = None,
        caused_by: EventId | None = None,
    ) -> Event:
        """Record what the transaction did. A name or payload that the catalog does not know is a bug.

        `trace` defaults to the request that is being served.
        """
        new_event = NewEvent(
            name=name, subject=subject, payload=payload, agent=agent, session=session, trace=trace, caused_by=caused_by
        )
        [event] = await self.emit_all(transaction, [new_event], space=space)
        return event

    async def emit_all(
        self,
        transaction: Transaction,
        new_events: Sequence[NewEvent],
        *,
        space: SpaceId,
        at_once: bool = False,
        held: Collection[str] = (),
    ) -> list[Event]:
        """Like `emit`, for many events in order: three round trips, however many there are.

        With `at_once`, subscribers with a `batch` handle them in this transaction, without a job for each; where
        one fails, its events are delivered by jobs. `held` names subjects that the transaction has locked, or made.
        """
        if not new_events:
            return []
        for new_event in new_events:
            check_payload(new_event.name, find_schema(new_event.name), new_event.payload)
        if free := {each.subject for each in new_events}.difference(held):
            await self.hold(transaction, sorted(free), space=space)
        now = self.clock()
        events = [self._event(each, space=space, at=now) for each in new_events]
        asked = [delivery for event in events for delivery in self._deliveries(event, at_once=at_once)]
        numbers = await transaction.value(
            Q["write_events"],
            space=space,
            **field_lists(events, ids="id", names="name", versions="version", subjects="subject", agents="agent"),
            **field_lists(events, sessions="session", traces="trace", causes="caused_by"),
            payloads=[json.dumps(event.payload) for event in events],
            **field_lists(asked, deliveries="event", subscribers="subscriber"),
            at=now,
        )
        if asked:
            await self._deliver(transaction, asked)
        for event in events:
            EVENTS_WRITTEN.labels(event.name).inc()
        written = [replace(event, seq=number) for event, number in zip(events, numbers, strict=True)]
        if at_once:
            await self._run_batch_subscribers(transaction, written, space=space)
        return written

    async def _run_batch_subscribers(
        self, transaction: Transaction, events: Sequence[Event], *, space: SpaceId
    ) -> None:
        wanted: defaultdict[Subscription, list[Event]] = defaultdict(list)
        for event in events:
            for subscription in self.subscribers(event.name).values():
                if subscription.batch is not None and subscription.wants(event):
                    wanted[subscription].append(event)
        try:
            await self._handle(transaction, wanted)
        except StoreDown:
            raise
        except FAULTS:
            await self._run_batches_separately(transaction, wanted, space=space)

    async def _handle(self, transaction: Transaction, wanted: Mapping[Subscription, Sequence[Event]]) -> None:
        if not wanted:
            return
        async with transaction.savepoint():
            for subscription, heard in wanted.items():
                assert subscription.batch is not None
                await subscription.batch(transaction, heard)
        for subscription, heard in wanted.items():
            EVENTS_DELIVERED.labels(subscription.subscriber).inc(len(heard))

    async def _run_batches_separately(
        self, transaction: Transaction, wanted: Mapping[Subscription, Sequence[Event]], *, space: SpaceId
    ) -> None:
        """Have events handled by one subscriber after the other; for one that fails, by jobs."""
        for subscription, heard in wanted.items():
            try:
                await self._handle(transaction, {subscription: heard})
            except StoreDown:
                raise
            except FAULTS as error:
                log.warning("batch not handled", room="events", subscriber=subscription.subscriber, exc_info=error)
                deliveries = [_delivery(subscription, event) for event in heard]
                ids = [event.id for event in heard]
                who = subscription.subscriber
                await transaction.run(Q["add_deliveries"], space=space, events=ids, subscriber=who, at=self.clock())
                await self._deliver(transaction, deliveries)

    async def hold(self, transaction: Transaction, subjects: Sequence[str], *, space: SpaceId) -> None:
        """Lock these subjects until the transaction ends."""
        await transaction.all(Q["lock_subjects"], space=space, subjects=list(subjects))

    async def emit_unless_recent(
        self,
        transaction: Transaction,
        name: str,
        *,
        space: SpaceId,
        subject: str,
        payload: Mapping[str, Any],
        within: timedelta,
    ) -> Event | None:
        """Like `emit`, for what several processes notice at once: skipped if one just wrote the same."""
        await self.hold(transaction, [subject], space=space)
        last = await event_history(transaction, space=space, subject=subject, names=[name], limit=1)
        if last and last[0].payload == payload and self.clock() - last[0].at < within:
            return None
        return await self.emit(transaction, name, space=space, subject=subject, payload=payload)

    def _event(self, new_event: NewEvent, *, space: SpaceId, at: datetime) -> Event:
        request = current_request_id()
        trace = new_event.trace or (TraceId(request) if request else None)
        said = {**field_values(new_event), "trace": trace, "payload": dict(new_event.payload)}
        version = find_schema(new_event.name).version
        return Event(id=EventId(self._new_id()), seq=0, version=version, space=space, at=at, **said)

    def _deliveries(self, event: Event, *, at_once: bool) -> list[Delivery]:
        """Build one delivery for each subscriber that wants the event and does not handle it at once."""
        return [
            _delivery(subscription, event)
            for subscription in self.subscribers(event.name).values()
            if subscription.wants(event) and not (at_once and subscription.batch is not None)
        ]


def _delivery(subscription: Subscription, event: Event) -> Delivery:
    return Delivery(
        space=event.space,
        event=event.id,
        subscriber=subscription.subscriber,
        subject=event.subject,
        queue=subscription.queue,
        is_first=subscription.is_first,
    )


log = structlog.get_logger()

DEATH = "event_dead"


async def deliver_event(store: Store, outbox: Outbox, *, space: str, event: str, subscriber: str) -> bool:
    """Deliver an event to a subscriber; false if that was done before or is no longer needed."""
    async with store.transaction() as transaction:
        key = {"space": space, "event": UUID(event), "subscriber": subscriber}
        if not await transaction.maybe(Q["claim_delivery"], now=outbox.clock(), **key):
            return False
        found = event_from_row(await transaction.one(Q["find_event"], space=space, id=UUID(event)))
        with bind_request_id(found.trace):
            await _subscription(outbox, found, subscriber).operation(transaction, found)
    EVENTS_DELIVERED.labels(subscriber).inc()
    return True


async def mark_delivery_dead(
    transaction: Transaction, outbox: Outbox, *, space: str, event: str, subscriber: str, error: str
) -> None:
    """Give a delivery up in the transaction that gives its job up, and emit `event_dead` once."""
    key = {"space": space, "event": UUID(event), "subscriber": subscriber}
    note = error[:MAX_TEXT]
    if not await transaction.maybe(Q["bury_delivery"], now=outbox.clock(), note=note, **key):
        return
    EVENTS_DEAD.labels(subscriber).inc()
    dead = event_from_row(await transaction.one(Q["find_event"], space=space, id=UUID(event)))
    log.warning("delivery given up", room="events", space=space, subscriber=subscriber, name=dead.name)
    if dead.name == DEATH:
        # A subscriber that cannot handle `event_dead` would otherwise cause a new one each time.
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


async def drop_delivery(
    transaction: Transaction, *, now: datetime, space: str, event: str, subscriber: str, note: str
) -> None:
    """Record that a person decided to skip this delivery."""
    await transaction.run(
        Q["drop_delivery"], space=space, event=UUID(event), subscriber=subscriber, note=note[:MAX_TEXT], now=now
    )


def _subscription(outbox: Outbox, event: Event, subscriber: str) -> Subscription:
    """Find the subscription. An event from a newer version is refused: a retry would not help."""
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


MAX_WAITING = 1_000

Wake = Callable[[], Awaitable[object]]
"""Returns when it may be worth looking again: something was written, or some time has passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedGap:
    """The reader was too slow. It may resume from the last event that it has, or from now."""

    after: EventId | None


async def follow_feed(
    store: Store,
    *,
    space: SpaceId,
    wake: Wake,
    names: Sequence[str] = (),
    after: EventId | None = None,
    place: int | None = None,
) -> AsyncGenerator[Event | FeedGap, None]:
    """Yield events of a space and of the whole installation, from `after` or from now.

    A caller that read the `place` beforehand passes it in, so that nothing since then is missed.
    """
    spaces = [space, EVERY_SPACE]
    seen = await find_start_sequence(store, space, after) if place is None else place
    last, caught_up = after, False
    while True:
        async with store.transaction() as transaction:
            # One event more than a reader may have waiting.
            events, until = await read_events_after(transaction, spaces, names=names, after=seen, limit=MAX_WAITING + 1)
        if caught_up and len(events) > MAX_WAITING:
            yield FeedGap(after=last)
            return
        for event in events[:MAX_WAITING]:
            seen, last = event.seq, event.id
            yield event
        if len(events) <= MAX_WAITING:
            seen, caught_up = max(seen, until), True
            await wake()


async def settled_sequence(transaction: Transaction) -> int:
    """Return the sequence number up to which the outbox will not change anymore."""
    # The order matters: a writer that took its number before the first query is visible to the second.
    last = await transaction.value(Q["last_number"])
    until: int = await transaction.value(Q["settled_until"], last=last)
    return until


async def find_event(store: Store | Transaction, space: SpaceId, id_: UUID) -> Event | None:
    """Return one event, or none if it is no longer kept."""
    row = await store.maybe(Q["find_event"], space=space, id=id_)
    return event_from_row(row) if row else None


async def event_history(
    store: Store | Transaction,
    *,
    space: SpaceId,
    trace: str | None = None,
    subject: str | None = None,
    names: Sequence[str] = (),
    before: int | None = None,
    limit: int = 100,
) -> list[Event]:
    """Return events of a space, newest first; optionally only those of a subject or of a request."""
    given = {"traced": trace, "about": subject}
    rows = await store.all(
        # A kept plan for any of them would read all events of the space.
        Q["event_history"].only(frozenset(part for part, value in given.items() if value is not None)),
        space=space,
        trace=trace,
        subject=subject,
        names=list(names) or None,
        before=before,
        limit=limit,
    )
    return [event_from_row(row) for row in rows]


async def find_start_sequence(store: Store, space: SpaceId, after: EventId | None) -> int:
    """Return the number after which a reader starts: `after`'s, or the current one. Raises `NotFound`."""
    async with store.transaction() as transaction:
        if after is None:
            return await settled_sequence(transaction)
        for place in (space, EVERY_SPACE):
            row = await transaction.maybe(Q["find_event"], space=place, id=after)
            if row is not None:
                return int(row["seq"])
    raise NotFound(f"There is no event `{after}`.", hint="It may be older than the outbox keeps events.")


async def read_events_after(
    transaction: Transaction, spaces: Sequence[str], *, names: Sequence[str], after: int, limit: int
) -> tuple[list[Event], int]:
    """Read at most `limit` settled events after a number; also return the last settled number."""
    until = await settled_sequence(transaction)
    rows = await transaction.all(
        Q["events_after"], spaces=list(spaces), names=list(names) or None, after=after, until=until, limit=limit
    )
    return [event_from_row(row) for row in rows], until


async def erase_event_names(transaction: Transaction, space: SpaceId, subjects: Sequence[str]) -> int:
    """Remove the names from the events about these subjects; return how many had one."""
    return await transaction.run(Q["forget_names"], space=space, subjects=list(subjects))


MARK = "[forgotten]"
FIELDS = ("token", "concept", "parent", "dim")
"""The payload fields that hold words of people."""


async def scrub_event_words(transaction: Transaction, space: SpaceId, words: Collection[str]) -> int:
    """Replace words in every event of a space; return how many events held one."""
    if not words:
        return 0
    return await transaction.run(Q["scrub_words"], space=space, words=sorted(words), fields=list(FIELDS), mark=MARK)


BATCH = 1_000

Report = Callable[[int], Awaitable[None]]


async def prune_events(store: Store, settings: EventsSettings, *, now: datetime, report: Report) -> int:
    """Remove expired events batch by batch; return how many."""
    moments: dict[str, Any] = {
        "before": now - timedelta(days=settings.retention_days),
        "audit_before": now - timedelta(days=max(settings.retention_days, settings.audit_days)),
    }
    removed = 0
    while batch := await store.run(Q["prune_events"], audit=AUDIT, limit=BATCH, **moments):
        removed += batch
        await report(removed)
    return removed
