"""What is happening now?

A reader follows the outbox from an event on, in order and without holes: it reads no further than the oldest
writer that has not committed. It reads at its own pace and holds no lock, so it never slows a writer; one
that falls a thousand events behind after it had caught up is told of the gap and cut off.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from festinger.errors import NotFound
from festinger.events.event import Event, event_from_row
from festinger.ids import EVERY_SPACE, EventId, SpaceId
from festinger.store.pool import Store, Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.events")

CHANNEL = "festinger_event"
"""Notified with the space of each event, at its commit."""

MAX_WAITING = 1_000

Wake = Callable[[], Awaitable[object]]
"""Returns when it may be worth to look again: something was written, or some time has passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedGap:
    """The reader was too slow. It may follow again from the last event that it has, or from now."""

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
    """Events of a space and of the whole installation, those called `names` or all; from `after`, or from now.

    A caller that asked for the `place` beforehand gives it: whatever happened since then is told too.
    """
    spaces = [space, EVERY_SPACE]
    seen = await start_sequence(store, space, after) if place is None else place
    last, caught_up = after, False
    while True:
        events, until = await _next(store, spaces, names=names, after=seen)
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
    """The number up to which the outbox will not change any more."""
    # The order matters: a writer that took its number before the first look has left its mark before the second.
    last = await transaction.value(Q["last_number"])
    until: int = await transaction.value(Q["settled_until"], last=last)
    return until


async def find_event(store: Store | Transaction, space: SpaceId, id_: UUID) -> Event | None:
    """One event; none if it is not kept any more."""
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
    """What happened in a space: to a subject, because of a request. The newest first."""
    rows = await store.all(
        Q["event_history"],
        space=space,
        trace=trace,
        subject=subject,
        names=list(names) or None,
        before=before,
        limit=limit,
    )
    return [event_from_row(row) for row in rows]


async def start_sequence(store: Store, space: SpaceId, after: EventId | None) -> int:
    """The number behind which a reader begins: that of `after`, or of now. An unknown event is `NotFound`."""
    async with store.transaction() as transaction:
        if after is None:
            return await settled_sequence(transaction)
        for place in (space, EVERY_SPACE):
            row = await transaction.maybe(Q["find_event"], space=place, id=after)
            if row is not None:
                return int(row["seq"])
    raise NotFound(f"There is no event `{after}`.", hint="It may be older than the outbox keeps events.")


async def _next(store: Store, spaces: Sequence[str], *, names: Sequence[str], after: int) -> tuple[list[Event], int]:
    """What came after, one more than a reader may have waiting, and the number up to which that is all."""
    async with store.transaction() as transaction:
        return await read_events_after(transaction, spaces, names=names, after=after, limit=MAX_WAITING + 1)


async def read_events_after(
    transaction: Transaction, spaces: Sequence[str], *, names: Sequence[str], after: int, limit: int
) -> tuple[list[Event], int]:
    """What came after a number, as far as it is settled and at most so much; and the number up to which it is."""
    until = await settled_sequence(transaction)
    rows = await transaction.all(
        Q["events_after"], spaces=list(spaces), names=list(names) or None, after=after, until=until, limit=limit
    )
    return [event_from_row(row) for row in rows], until
