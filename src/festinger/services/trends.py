"""Reads the numbers of the last days for the charts of the console."""

from datetime import UTC, datetime, time, timedelta
from typing import Any

from festinger.ids import SpaceId
from festinger.memory.query import count_daily_kinds
from festinger.outcomes.stats import count_daily_outcomes
from festinger.runtime.app import App
from festinger.store.repositories.models import daily_costs
from festinger.store.repositories.request_log import daily_overhead


async def load_trends(app: App, space: SpaceId, *, days: int) -> dict[str, list[dict[str, Any]]]:
    """Return the numbers of each day, today included; days without any are missing."""
    since = day_start(app) - timedelta(days=days - 1)
    return {
        "memories": await count_daily_kinds(app.memory.deps, space, since),
        "outcomes": await count_daily_outcomes(app.outcomes.deps, space, since),
        "overhead": await daily_overhead(app.store, space, since),
        "costs": await daily_costs(app.store, space, since),
    }


def day_start(app: App) -> datetime:
    """When today began, in UTC."""
    return datetime.combine(app.tools.clock().astimezone(UTC).date(), time(), UTC)
