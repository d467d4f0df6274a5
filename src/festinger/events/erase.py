"""What is left of events when what they tell of is forgotten?

That something happened, when, and to which id. Names that an event carries beside its ids go; longer words are cut out
by the deed that forgets.

What is left of a forgotten word in what happened?

Events hold ids and numbers, and some of them the word that an id stood for. Who asks that a word be forgotten has it
replaced there too, in the transaction that erases it everywhere else; that something happened stays known.

When is an event removed?

Once everybody was told and its days are over, in small batches. What still waits, or was given up and not
decided, is never removed. Events that say who did what are kept longer. What a person must be able to trace
beyond that lives in the rooms' own change logs.
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
    """Take the names out of the events about these subjects; how many had one."""
    return await transaction.run(Q["forget_names"], space=space, subjects=list(subjects))


MARK = "[forgotten]"
FIELDS = ("token", "concept", "parent", "dim")
"""The fields of payloads that hold words of people."""


async def scrub_words(transaction: Transaction, space: SpaceId, words: Collection[str]) -> int:
    """Take words out of every event of a space; how many events held one."""
    if not words:
        return 0
    return await transaction.run(Q["scrub_words"], space=space, words=sorted(words), fields=list(FIELDS), mark=MARK)


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
