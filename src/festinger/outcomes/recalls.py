"""What became of what a recall surfaced?

The short form of the third hook: whoever reports names the recall, and everything that it surfaced is meant.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from festinger.outcomes.desk import Desk, Reporter
from festinger.outcomes.observed import Observed, report_of
from festinger.outcomes.report import observe
from festinger.outcomes.surfacing import surfaced_by


async def observe_recall(
    desk: Desk, reporter: Reporter, outcomes: Mapping[Any, Any], *, recall: UUID | None = None, **more: Any
) -> Observed:
    """Apply outcomes; of a recall, what it surfaced and is not named is deferred. Raises `NotFound`."""
    report = report_of(list(outcomes), outcomes, recall=recall, **more)
    if recall is None:
        return await observe(desk, reporter, report)
    async with desk.store.transaction() as transaction:
        shown = await surfaced_by(transaction, reporter.place.space, recall)
    memories = [*(str(each.memory_id) for each in shown), *report.memories]
    return await observe(desk, reporter, report_of(memories, outcomes, recall=recall, **more))
