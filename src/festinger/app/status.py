"""How much has passed through, in numbers?

The funnel, as far as the rooms stand: jobs, events, cost and life of the installation. A number that should be
0 and is not, is named. Rooms that come later add their steps.
"""

from dataclasses import asdict
from typing import Any

from festinger.app.wiring import App
from festinger.clock import iso
from festinger.events.lag import dead_deliveries, lags
from festinger.ids import SpaceId
from festinger.jobs.backlog import backlog
from festinger.jobs.deadletters import State, list_jobs
from festinger.store.costs import Costs, day_costs, lifetime_costs
from festinger.store.runs import life


async def status(app: App, *, space: SpaceId) -> dict[str, Any]:
    """The numbers of a space and of the whole installation."""
    now = app.tools.clock()
    lived = await life(app.store, now=now)
    waiting = await backlog(app.store, max_waiting=app.settings.now.jobs.max_waiting)
    dead = await list_jobs(app.store, state=State.DEAD, limit=1000)
    return {
        "health": {
            "jobs": {**asdict(waiting), "behind": waiting.behind, "dead": len(dead)},
            "events": {
                "waiting": {lag.subscriber: lag.waiting for lag in await lags(app.store, now=now)},
                "dead": len(await dead_deliveries(app.store)),
            },
            "degraded": list(app.degraded),
        },
        "cost": {
            "24 h": _spent(await day_costs(app.store, space=space, now=now)),
            "all time": _spent(await lifetime_costs(app.store, space=space)),
        },
        "life": {
            "since": iso(lived.since) if lived.since else None,
            "restarts": lived.restarts,
            "crashes": lived.crashes,
            "awake_hours": round(lived.awake.total_seconds() / 3600, 1),
        },
    }


def _spent(costs: Costs) -> dict[str, Any]:
    total = costs.total
    return {
        "calls": total.calls,
        "failed": total.failed,
        "usd": float(total.cost_usd),
        "unpriced": total.unpriced,
    }
