"""Lets a reader follow the outbox live, in order and without holes.

A reader never reads past the oldest writer that has not committed. It reads at its own pace and holds no
lock, so it never slows a writer; one that falls a thousand events behind after catching up gets a `FeedGap`
and is cut off.
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
    seen = await start_sequence(store, space, after) if place is None else place
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
