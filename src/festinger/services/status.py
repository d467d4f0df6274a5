"""Reports the numbers of the installation, checks its rows, and follows its events.

Following polls the outbox's feed: a notification would be faster, but polling is simple, never misses
anything and costs one small query.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from festinger.clock import iso
from festinger.events.catalogue import Event
from festinger.events.health import dead_deliveries, subscriber_lags
from festinger.events.outbox import FeedGap, find_start_sequence, follow_feed
from festinger.ids import EventId, SpaceId
from festinger.jobs.backpressure import read_backlog
from festinger.jobs.dead_letters import JobState, list_jobs
from festinger.judge.records import load_backlog, model_usage_since
from festinger.memory.health import count_sightings_since, count_waiting
from festinger.memory.reembed import check_current_vectors, measure_progress
from festinger.observability.checks import Check, Report
from festinger.outcomes.replay import check_replay
from festinger.outcomes.stats import DAY, WEEK, outcome_stats
from festinger.proposals.health import proposal_stats as proposals_tally
from festinger.runtime.app import App
from festinger.store.health import check_invariants
from festinger.store.repositories.models import CostReport, last_day_costs, lifetime_costs
from festinger.store.repositories.spaces import load_run_summary


async def build_status(app: App, *, space: SpaceId) -> dict[str, Any]:
    """Return the numbers of a space and of the whole installation."""
    now = app.tools.clock()
    lived = await load_run_summary(app.store, now=now)
    waiting = await read_backlog(app.store, max_waiting=app.settings.now.jobs.max_waiting)
    dead = await list_jobs(app.store, state=JobState.DEAD, limit=1000)
    return {
        "judge": {
            name: await _judged(app, space=space, since=now - length) for name, length in (("24 h", DAY), ("7 d", WEEK))
        },
        "outcomes": await _outcomes(app, space=space),
        "proposals": await proposals_tally(app.inbox.deps, space),
        "health": {
            "jobs": {**asdict(waiting), "behind": waiting.behind, "dead": len(dead)},
            "events": {
                "waiting": {lag.subscriber: lag.waiting for lag in await subscriber_lags(app.store, now=now)},
                "dead": len(await dead_deliveries(app.store)),
            },
            "degraded": list(app.degraded),
        },
        "memory": await _memory(app, space),
        "cost": {
            "24 h": _summarize_costs(await last_day_costs(app.store, space=space, now=now)),
            "all time": _summarize_costs(await lifetime_costs(app.store, space=space)),
        },
        "life": {
            "since": iso(lived.since) if lived.since else None,
            "restarts": lived.restarts,
            "crashes": lived.crashes,
            "awake_hours": round(lived.awake.total_seconds() / 3600, 1),
        },
    }


async def _memory(app: App, space: SpaceId) -> dict[str, Any]:
    """Return what waits in the memory, and the progress of re-embedding after a change of model."""
    deps = app.memory.deps
    vectors = await measure_progress(deps, space, model=app.settings.now.embedding.model)
    waiting = await count_waiting(deps, space)
    pairs = await load_backlog(app.memory.judges.deps, space)
    return {**waiting, "pending pairs": pairs.waiting, "vectors": str(vectors) if vectors.left else "all there"}


async def _judged(app: App, *, space: SpaceId, since: datetime) -> dict[str, Any]:
    """Return how much was learned, and for how much of it a model was asked."""
    learns = await count_sightings_since(app.memory.deps, space, since)
    asking = await model_usage_since(app.memory.judges.deps, space, since)
    return {
        "learns": learns,
        "learns that asked a model": asking.statements,
        "share": round(asking.statements / learns, 4) if learns else None,
        "calls": asking.calls,
    }


async def _outcomes(app: App, *, space: SpaceId) -> dict[str, Any]:
    """Return whether what is recalled reaches outcomes."""
    found = await outcome_stats(app.outcomes.deps, space)
    return {
        **{
            shown: summarize_outcome_span(found[name])
            for name, shown in (("24h", "24 h"), ("7d", "7 d"), ("all", "all time"))
        },
        "pending": found["pending"],
        "unreadable": found["unreadable"],
    }


def summarize_outcome_span(span: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of a time span that fit on one line each."""
    return {
        "rate": span["rate"],
        "resolved": span["resolved"],
        **span["outcomes"],
        "shares": span["shares"],
        "contradicted per 100": span["contradicted_per_100"],
        "mean confidence change": span["mean_confidence_change"],
    }


def _summarize_costs(costs: CostReport) -> dict[str, Any]:
    total = costs.total
    return {"calls": total.calls, "failed": total.failed, "usd": float(total.cost_usd), "unpriced": total.unpriced}


async def run_deep_checks(app: App, report: Report) -> list[Check]:
    """Check what must hold of the rows themselves, by reading all of them."""
    spaces = app.directory.ids()
    return [
        *await check_invariants(app.store, spaces, report),
        await check_current_vectors(app.memory.deps, spaces),
        await check_replay(app.outcomes.deps, spaces, report),
    ]


LOOK_SECONDS = 0.5


async def _wait_for_poll() -> None:
    await asyncio.sleep(LOOK_SECONDS)


def follow_events(
    app: App, *, space: SpaceId, names: Sequence[str] = (), after: EventId | None = None
) -> AsyncGenerator[Event | FeedGap, None]:
    """Yield events from `after`, or from the first poll on, for as long as the caller reads."""
    return follow_feed(app.store, space=space, wake=_wait_for_poll, names=names, after=after)


async def start_following_events(
    app: App, *, space: SpaceId, names: Sequence[str] = (), after: EventId | None = None
) -> AsyncGenerator[Event | FeedGap, None]:
    """Like `follow_events`, but the position is taken before this returns: an unknown event raises at once,
    and nothing is missed before the first read."""
    place = await find_start_sequence(app.store, space, after)
    return follow_feed(app.store, space=space, wake=_wait_for_poll, names=names, after=after, place=place)
