"""Reports how often surfaced memories come to an outcome, and checks that the feedback loop is closed.

Rates cover a day, a week and all time, by agent, interface and reason. Surfaced memories without outcomes
teach nothing, and a system that hears only what was wrong sinks its store; both are reported, with the
interface that is silent. Also lists outcomes and the memories that helped or misled most.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from festinger.clock import iso
from festinger.ids import Cause, MemoryId, Origin, SpaceId
from festinger.observability.checks import Check, ok_check, warning_check
from festinger.observability.metrics import OUTCOMES_RATE, OUTCOMES_UNREADABLE, SURFACINGS_PENDING
from festinger.outcomes.model import OutcomeDeps, ReportSource
from festinger.settings.memory_sections import GOOD, OutcomesSettings
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.world.model import NoteOutcome

Q = load_queries("festinger.outcomes")

DAY = timedelta(days=1)
WEEK = timedelta(days=7)
SPANS: Mapping[str, timedelta | None] = {"24h": DAY, "7d": WEEK, "all": None}
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)

Rows = Sequence[Mapping[str, Any]]


async def outcome_stats(deps: OutcomeDeps, space: SpaceId) -> dict[str, Any]:
    now = deps.clock()
    row = await deps.store.one(Q["count_pending"], space=space)
    spans = {
        name: await _span_stats(deps, space, now - length if length else BEGINNING) for name, length in SPANS.items()
    }
    return {**spans, "pending": row["pending"], "unreadable": count_unreadable_notes()}


async def _span_stats(deps: OutcomeDeps, space: SpaceId, since: datetime) -> dict[str, Any]:
    async with deps.store.transaction() as transaction:
        surfaced = await transaction.all(Q["tally_surfacings"], space=space, since=since)
        outcomes = await transaction.all(Q["tally_outcomes"], space=space, since=since)
    return summarize_counts(surfaced, outcomes)


def summarize_counts(surfaced: Rows, outcomes: Rows) -> dict[str, Any]:
    """Summarize the counts; a rate is None if nothing was resolved."""
    resolved = sum(row["resolved"] for row in surfaced)
    total = sum(row["told"] for row in outcomes)
    against = sum(row["told"] for row in outcomes if row["outcome"] == NoteOutcome.CONTRADICTED)
    moved = sum(row["moved"] or 0.0 for row in outcomes)
    return {
        "resolved": resolved,
        "rate": outcome_rate(surfaced),
        **{
            f"by_{name}": _outcome_rate_by_column(surfaced, f"{name}_id" if name == "agent" else name)
            for name in GROUPS
        },
        "outcomes": {each.value: _count(outcomes, outcome=each.value) for each in NoteOutcome},
        "shares": {each.value: _share(_count(outcomes, how=each.value), total) for each in KNOWN},
        "contradicted_per_100": 100 * against / resolved if resolved else None,
        "mean_confidence_change": moved / total if total else None,
    }


async def count_daily_outcomes(deps: OutcomeDeps, space: SpaceId, since: datetime) -> list[dict[str, Any]]:
    """Count the outcomes of each day, by kind."""
    return [dict(row) for row in await deps.store.all(Q["daily_outcomes"], space=space, since=since)]


GROUPS = ("agent", "door", "reason")
KNOWN = (ReportSource.EXPLICIT, ReportSource.SELF, ReportSource.INFERRED)


def outcome_rate(surfaced: Rows) -> float | None:
    """Return the share of resolved or expired surfacings that have a real outcome."""
    resolved = sum(row["resolved"] for row in surfaced)
    return sum(row["answered"] for row in surfaced) / resolved if resolved else None


def _outcome_rate_by_column(surfaced: Rows, column: str) -> dict[str, float | None]:
    return {
        name: outcome_rate([row for row in surfaced if row[column] == name])
        for name in sorted({row[column] for row in surfaced})
    }


def _count(outcomes: Rows, **wanted: str) -> int:
    return sum(row["told"] for row in outcomes if all(row[name] == value for name, value in wanted.items()))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def count_unreadable_notes() -> int:
    """Count the notes for which this process could not infer an outcome."""
    return int(sum(each.value for kept in OUTCOMES_UNREADABLE.collect() for each in kept.samples[:1]))


async def update_gauges(deps: OutcomeDeps, spaces: Iterable[SpaceId]) -> None:
    """Set the gauges to the present numbers."""
    since, rows, waiting = deps.clock() - WEEK, [], 0
    for space in spaces:
        rows += await deps.store.all(Q["tally_surfacings"], space=space, since=since)
        waiting += (await deps.store.one(Q["count_pending"], space=space))["pending"]
    OUTCOMES_RATE.set(outcome_rate(rows) or 0.0)
    SURFACINGS_PENDING.set(waiting)


MOST_TOLD = 100
"""Outcomes listed as reasons of a belief."""
OFTEN = 10
"""Surfaced this often without any use, a memory is worth a look."""

Document = dict[str, Any]


async def list_recorded_outcomes(
    deps: OutcomeDeps,
    space: SpaceId,
    *,
    memory: UUID | None = None,
    how: ReportSource | None = None,
    after: UUID | None = None,
    limit: int = 50,
) -> list[Document]:
    """List outcomes, newest first."""
    last = await deps.store.maybe(Q["find_outcome"], space=space, id=after) if after else None
    rows = await deps.store.all(
        Q["outcomes"],
        space=space,
        memory=memory,
        how=how.value if how else None,
        at=last["at"] if last else None,
        after=after if last else None,
        limit=limit,
    )
    return [outcome_to_json(row) for row in rows]


async def outcomes_of(deps: OutcomeDeps, space: SpaceId, memory: MemoryId) -> tuple[Document, ...]:
    """List the outcomes of a memory, newest first, to explain why it is believed."""
    return tuple(await list_recorded_outcomes(deps, space, memory=memory, limit=MOST_TOLD))


async def load_contradicting_causes(
    transaction: Transaction, space: SpaceId, memory: MemoryId, *, limit: int = MOST_TOLD
) -> list[Cause]:
    rows = await transaction.all(Q["contradicting_causes"], space=space, memory=memory, limit=limit)
    return [
        Cause(agent=row["agent_id"], session=row["session_id"], day=row["day"], origin=Origin(row["origin"]))
        for row in rows
    ]


def outcome_to_json(row: Mapping[str, Any]) -> Document:
    """Serialize for every interface: with cause, source, and what it did."""
    return {
        "id": str(row["id"]),
        "memory": str(row["memory_id"]),
        "turn": str(row["turn_id"]) if row["turn_id"] else None,
        "recall": str(row["recall_id"]) if row["recall_id"] else None,
        "outcome": row["outcome"],
        "how": row["how"],
        "cause": {
            "agent": row["agent_id"],
            "session": row["session_id"],
            "day": row["day"].isoformat(),
            "origin": row["origin"],
        },
        "reporter": row["reporter"],
        "q": row["q"],
        "weight": row["w"],
        "credit": row["credit"],
        "confidence": [row["confidence_before"], row["confidence_after"]],
        "center": row["center_after"],
        "evidence": row["evidence"],
        "counted": row["counted"],
        "uncounted_because": row["uncounted_because"],
        "replaced_by": str(row["replaced_by"]) if row["replaced_by"] else None,
        "at": iso(row["at"]),
    }


async def top_memories(deps: OutcomeDeps, space: SpaceId, *, limit: int = 10) -> dict[str, list[Document]]:
    """Return the memories that helped most, misled most, and were often shown but never used."""
    return {
        "helpful": await _top_memories_by_outcome(deps, space, NoteOutcome.ACTED, limit),
        "misleading": await _top_memories_by_outcome(deps, space, NoteOutcome.CONTRADICTED, limit),
        "idle": [
            {"memory": str(row["memory_id"]), "times": row["times"]}
            for row in await deps.store.all(Q["idle_surfaced"], space=space, times=OFTEN, limit=limit)
        ],
    }


async def _top_memories_by_outcome(
    deps: OutcomeDeps, space: SpaceId, outcome: NoteOutcome, limit: int
) -> list[Document]:
    rows = await deps.store.all(Q["most_often"], space=space, outcome=outcome.value, limit=limit)
    return [{"memory": str(row["memory_id"]), "times": row["times"]} for row in rows]


MANY = 100
"""Surfacings in a week above which a lack of outcomes means an open loop."""
LOW_RATE = 0.2
NEGATIVE = (NoteOutcome.DISMISSED, NoteOutcome.CONTRADICTED)


async def check_feedback_loop(deps: OutcomeDeps, spaces: Sequence[SpaceId], terms: OutcomesSettings) -> list[Check]:
    """Check that every space gets outcomes, and that the constants are within their tested ranges."""
    checks = [check for space in spaces for check in await _check_space(deps, space)]
    found = checks or [ok_check("outcomes.loop", "What is brought to mind comes to outcomes.")]
    return [*found, *check_constants(terms)]


async def _check_space(deps: OutcomeDeps, space: SpaceId) -> list[Check]:
    since = deps.clock() - WEEK
    async with deps.store.transaction() as transaction:
        doors = await transaction.all(Q["tally_surfaced"], space=space, since=since)
        resolved = await transaction.all(Q["tally_surfacings"], space=space, since=since)
        outcomes = await transaction.all(Q["tally_outcomes"], space=space, since=since)
    counts = {
        NoteOutcome(outcome): sum(row["told"] for row in outcomes if row["outcome"] == outcome)
        for outcome in {row["outcome"] for row in outcomes if row["how"] != ReportSource.EXPIRED}
    }
    surfaced = sum(row["surfaced"] for row in doors)
    silent = [row["door"] or "unknown" for row in doors if row["answered_at"] is None]
    if surfaced > MANY and not counts:
        return [_open_loop_warning(space, int(surfaced), silent)]
    checks = []
    if counts and all(outcome in NEGATIVE for outcome in counts):
        checks.append(_only_negative_warning(space))
    if (found := outcome_rate(resolved)) is not None and found < LOW_RATE and surfaced > MANY:
        checks.append(_mostly_unused_warning(space, found))
    return checks


def _open_loop_warning(space: SpaceId, surfaced: int, silent: Sequence[str]) -> Check:
    doors = ", ".join(f"`{door}`" for door in silent) or "no door"
    return warning_check(
        "outcomes.loop",
        f"In `{space}` {surfaced:,} memories were surfaced in a week and nothing is known of any; silent: {doors}.",
        "Let the application report with `observe`, or turn `outcomes.infer` on.",
        space=space,
        doors=list(silent),
    )


def _only_negative_warning(space: SpaceId) -> Check:
    return warning_check(
        "outcomes.loop",
        f"In `{space}` every outcome of the last week was negative: such a loop only sinks what is known.",
        "Report `acted` and `used` too.",
        space=space,
    )


def _mostly_unused_warning(space: SpaceId, found: float) -> Check:
    return warning_check(
        "outcomes.rate",
        f"In `{space}` only {found:.0%} of what is brought to mind comes to an outcome.",
        "Most of it is not used: raise the bar of recall, or report what is.",
        space=space,
        rate=found,
    )


def check_constants(terms: OutcomesSettings) -> list[Check]:
    """Warn about constants outside the range in which they were tested; they are allowed."""
    beyond = {
        name: (getattr(terms, name), low, high)
        for name, (low, high) in GOOD.items()
        if not low <= getattr(terms, name) <= high
    }
    return [
        warning_check(
            "outcomes.constants",
            f"`outcomes.{name}` is {value:g}; it was tried out from {low:g} to {high:g}.",
            "Set it back, or watch what happens.",
            key=f"outcomes.{name}",
        )
        for name, (value, low, high) in beyond.items()
    ]
