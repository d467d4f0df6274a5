"""When is an event removed?

Once everybody was told and its days are over, in small batches. What still waits, or was given up and not
decided, is never removed. Events that say who did what are kept longer. What a person must be able to trace
beyond that lives in the rooms' own change logs.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

from festinger.events.catalogue import AUDIT
from festinger.settings.tree import EventsSettings
from festinger.store.pool import Store
from festinger.store.queries import queries_of

Q = queries_of("festinger.events")

BATCH = 1_000

Report = Callable[[int], Awaitable[None]]


async def prune_events(store: Store, settings: EventsSettings, *, now: datetime, report: Report) -> int:
    """Remove what is old enough, batch by batch; how many events."""
    moments: dict[str, Any] = {
        "before": now - timedelta(days=settings.retention_days),
        "audit_before": now - timedelta(days=max(settings.retention_days, settings.audit_days)),
    }
    removed = 0
    while batch := await store.run(Q["prune_events"], audit=AUDIT, limit=BATCH, **moments):
        removed += batch
        await report(removed)
    return removed
