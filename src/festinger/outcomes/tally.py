"""How much of what is brought to mind comes to an outcome?

The rate and what stands beside it, over a day, a week and all time, by agent, door and reason.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from festinger.ids import SpaceId
from festinger.observability.metrics import OUTCOMES_RATE, OUTCOMES_UNREADABLE, SURFACINGS_PENDING
from festinger.outcomes.desk import Desk
from festinger.outcomes.outcome import How
from festinger.store.queries import queries_of
from festinger.world.corroboration import Outcome

Q = queries_of("festinger.outcomes")

DAY = timedelta(days=1)
WEEK = timedelta(days=7)
SPANS: Mapping[str, timedelta | None] = {"24h": DAY, "7d": WEEK, "all": None}
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)

Rows = Sequence[Mapping[str, Any]]


async def tally(desk: Desk, space: SpaceId) -> dict[str, Any]:
    """The numbers of a space."""
    now = desk.clock()
    row = await desk.store.one(Q["count_pending"], space=space)
    spans = {
        name: await _span(desk, space, now - length if length else BEGINNING)
        for name, length in SPANS.items()
    }
    return {**spans, "pending": row["pending"], "unreadable": unreadable()}


async def _span(desk: Desk, space: SpaceId, since: datetime) -> dict[str, Any]:
    async with desk.store.transaction() as transaction:
        surfaced = await transaction.all(Q["tally_surfacings"], space=space, since=since)
        told = await transaction.all(Q["tally_outcomes"], space=space, since=since)
    return numbers(surfaced, told)


def numbers(surfaced: Rows, told: Rows) -> dict[str, Any]:
    """What the counts say; a rate of none where nothing was resolved."""
    resolved = sum(row["resolved"] for row in surfaced)
    total = sum(row["told"] for row in told)
    against = sum(row["told"] for row in told if row["outcome"] == Outcome.CONTRADICTED)
    moved = sum(row["moved"] or 0.0 for row in told)
    return {
        "resolved": resolved,
        "rate": rate(surfaced),
        **{f"by_{name}": _by(surfaced, f"{name}_id" if name == "agent" else name) for name in GROUPS},
        "outcomes": {each.value: _count(told, outcome=each.value) for each in Outcome},
        "shares": {each.value: _share(_count(told, how=each.value), total) for each in KNOWN},
        "contradicted_per_100": 100 * against / resolved if resolved else None,
        "mean_confidence_change": moved / total if total else None,
    }


GROUPS = ("agent", "door", "reason")
KNOWN = (How.EXPLICIT, How.SELF, How.INFERRED)


def rate(surfaced: Rows) -> float | None:
    """Surfacings with an outcome that did not just expire, by all that were resolved or expired."""
    resolved = sum(row["resolved"] for row in surfaced)
    return sum(row["answered"] for row in surfaced) / resolved if resolved else None


def _by(surfaced: Rows, column: str) -> dict[str, float | None]:
    return {
        name: rate([row for row in surfaced if row[column] == name])
        for name in sorted({row[column] for row in surfaced})
    }


def _count(told: Rows, **wanted: str) -> int:
    return sum(row["told"] for row in told if all(row[name] == value for name, value in wanted.items()))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def unreadable() -> int:
    """Notes that this process could not read an outcome of."""
    return int(sum(each.value for kept in OUTCOMES_UNREADABLE.collect() for each in kept.samples[:1]))


async def measure(desk: Desk, spaces: Iterable[SpaceId]) -> None:
    """Move the gauges to what is now."""
    since, rows, waiting = desk.clock() - WEEK, [], 0
    for space in spaces:
        rows += await desk.store.all(Q["tally_surfacings"], space=space, since=since)
        waiting += (await desk.store.one(Q["count_pending"], space=space))["pending"]
    OUTCOMES_RATE.set(rate(rows) or 0.0)
    SURFACINGS_PENDING.set(waiting)
