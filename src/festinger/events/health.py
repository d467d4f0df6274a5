"""Does everybody hear of what happens?

Checks as data, for `doctor` and the console: subscribers that are behind, deliveries that were given up.
"""

from collections import Counter
from datetime import datetime, timedelta

from festinger.events.lag import dead_deliveries, lags
from festinger.observability.checks import Check, fail, ok, warn
from festinger.store.pool import Store

PATIENCE = timedelta(seconds=60)


async def check_events(store: Store, *, now: datetime) -> list[Check]:
    return [await _lag(store, now), await _dead(store)]


async def _lag(store: Store, now: datetime) -> Check:
    behind = [lag for lag in await lags(store, now=now) if lag.age > PATIENCE]
    if not behind:
        return ok("events.lag", "Every subscriber is up to date.")
    seconds = {lag.subscriber: int(lag.age.total_seconds()) for lag in behind}
    listed = ", ".join(f"`{name}` ({age} s)" for name, age in seconds.items())
    return warn(
        "events.lag",
        f"Not told yet of what happened: {listed}.",
        "Check that a worker runs (`festinger serve` or `festinger worker`) and what `festinger jobs` waits for.",
        seconds=seconds,
    )


async def _dead(store: Store) -> Check:
    dead = await dead_deliveries(store)
    if not dead:
        return ok("events.dead", "No delivery was given up.")
    counts = Counter(delivery.subscriber for delivery in dead)
    listed = ", ".join(f"`{name}` ({count})" for name, count in counts.most_common())
    return fail(
        "events.dead",
        f"Deliveries given up: {listed}. First error: {dead[0].error}",
        "Mend the cause, then `festinger jobs retry --all`; `festinger jobs drop ID --note WHY` lays one aside.",
        deliveries=[
            {"event": str(delivery.event), "name": delivery.name, "subscriber": delivery.subscriber}
            for delivery in dead
        ],
    )
