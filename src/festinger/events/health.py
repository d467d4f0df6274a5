"""Health checks of event delivery: subscribers that lag and deliveries that were given up."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from festinger.ids import EventId, SpaceId
from festinger.observability.checks import Check, failed_check, ok_check, warning_check
from festinger.observability.metrics import EVENTS_LAG
from festinger.records import row_mapper
from festinger.store.pool import Store
from festinger.store.queries import load_queries

Q = load_queries("festinger.events")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriberLag:
    """How far one subscriber is behind: the age of its oldest undelivered event."""

    subscriber: str
    age: timedelta
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadDelivery:
    space: SpaceId
    event: EventId
    name: str
    subject: str
    subscriber: str
    error: str
    at: datetime
    died_at: datetime


_map_delivery = row_mapper(DeadDelivery, space="space_id", event="event_id", error="note", died_at="state_at")


async def subscriber_lags(store: Store, *, now: datetime) -> list[SubscriberLag]:
    """Return every subscriber that has undelivered events."""
    return [
        # Clocks of two machines may differ a little; lag is never negative.
        SubscriberLag(subscriber=row["subscriber"], age=max(now - row["oldest"], timedelta(0)), waiting=row["waiting"])
        for row in await store.all(Q["lag"])
    ]


async def update_lag_gauges(store: Store, *, now: datetime, subscribers: Iterable[str]) -> None:
    ages = {lag.subscriber: lag.age.total_seconds() for lag in await subscriber_lags(store, now=now)}
    for subscriber in subscribers:
        EVENTS_LAG.labels(subscriber).set(ages.get(subscriber, 0.0))


async def dead_deliveries(store: Store, *, limit: int = 100) -> list[DeadDelivery]:
    """Return the deliveries that were given up and wait for a person, oldest first."""
    return [_map_delivery(row) for row in await store.all(Q["dead_deliveries"], limit=limit)]


PATIENCE = timedelta(seconds=60)


async def check_events(store: Store, *, now: datetime) -> list[Check]:
    return [await _lag(store, now), await _dead(store)]


async def _lag(store: Store, now: datetime) -> Check:
    behind = [lag for lag in await subscriber_lags(store, now=now) if lag.age > PATIENCE]
    if not behind:
        return ok_check("events.lag", "Every subscriber is up to date.")
    seconds = {lag.subscriber: int(lag.age.total_seconds()) for lag in behind}
    listed = ", ".join(f"`{name}` ({age} s)" for name, age in seconds.items())
    return warning_check(
        "events.lag",
        f"Not told yet of what happened: {listed}.",
        "Check that a worker runs (`festinger serve` or `festinger worker`) and what `festinger jobs` waits for.",
        seconds=seconds,
    )


async def _dead(store: Store) -> Check:
    dead = await dead_deliveries(store)
    if not dead:
        return ok_check("events.dead", "No delivery was given up.")
    counts = Counter(delivery.subscriber for delivery in dead)
    listed = ", ".join(f"`{name}` ({count})" for name, count in counts.most_common())
    return failed_check(
        "events.dead",
        f"Deliveries given up: {listed}. First error: {dead[0].error}",
        "Mend the cause, then `festinger jobs retry --all`; `festinger jobs drop ID --note WHY` lays one aside.",
        deliveries=[
            {"event": str(delivery.event), "name": delivery.name, "subscriber": delivery.subscriber}
            for delivery in dead
        ],
    )
