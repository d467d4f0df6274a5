"""Prunes old events, and removes forgotten names and words from the rest.

An erased subject leaves behind only that something happened, when, and to which id; the words are replaced in
the transaction that erases them everywhere else. Events are pruned in small batches, once every delivery is
settled and their retention has passed. Waiting or undecided dead deliveries are never pruned, and audit
events are kept longer. Longer-lived traces are in the change logs of the packages.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from festinger.events.catalogue import AUDIT
from festinger.ids import SpaceId
from festinger.settings.tree import EventsSettings
from festinger.store.pool import Store, Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.events")


async def erase_names(transaction: Transaction, space: SpaceId, subjects: Sequence[str]) -> int:
    """Remove the names from the events about these subjects; return how many had one."""
    return await transaction.run(Q["forget_names"], space=space, subjects=list(subjects))


MARK = "[forgotten]"
FIELDS = ("token", "concept", "parent", "dim")
"""The payload fields that hold words of people."""


async def scrub_words(transaction: Transaction, space: SpaceId, words: Collection[str]) -> int:
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
