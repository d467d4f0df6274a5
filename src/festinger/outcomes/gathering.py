"""What must be known before a report is applied?

Everything is read after the memories are locked, each thing once for all of them: what is held of each, its
prediction, reads and surfacings, and what was told before of the same turn and by the same cause.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from festinger.ids import Cause, MemoryId
from festinger.memory.memory import Memory
from festinger.outcomes.desk import Desk, Reporter
from festinger.outcomes.effects import State
from festinger.outcomes.observed import Report
from festinger.outcomes.outcome import How
from festinger.outcomes.prediction import Prediction
from festinger.outcomes.repairing import replayed
from festinger.outcomes.stored import load_states, prediction_of
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.outcomes")

LATE = timedelta(hours=24)
"""How long after it expired a surfacing still takes a report."""

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolvable:
    """A surfacing that a report may resolve."""

    id: UUID
    partition: str
    turn: UUID | None
    recall: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of one memory when a report about it is applied."""

    memory: Memory
    stored: State
    """As the tables have it."""
    state: State
    """As it is to be moved: without what this report stands in the place of."""
    prediction: Prediction | None = None
    surfacings: tuple[Resolvable, ...] = ()
    staged: tuple[datetime, ...] = ()
    partitions: tuple[str, ...] = ()
    counted: Mapping[How, int] = field(default_factory=dict)
    replaces: tuple[Mapping[str, Any], ...] = ()
    """Outcomes of the same turn that nobody told on purpose."""
    told: bool = False
    """Whether somebody told on purpose of the same turn."""


async def gather(
    desk: Desk,
    transaction: Transaction,
    reporter: Reporter,
    report: Report,
    *,
    memories: Mapping[MemoryId, Memory],
    cause: Cause,
    now: datetime,
) -> dict[MemoryId, Known]:
    """What is known of each memory, all of them locked."""
    space, terms, ids = reporter.place.space, desk.terms(reporter.place.space), list(memories)
    surfacings = _chosen(await _resolvable(transaction, reporter, report, ids, now), report)
    partitions = {id_: _partitions(reporter, report, surfacings.get(id_, ())) for id_ in ids}
    earlier = await _earlier(transaction, reporter, report, ids, surfacings)
    replaces = {id_: _replaced(rows, reporter) for id_, rows in earlier.items()}
    gone = frozenset(row["id"] for rows in replaces.values() for row in rows)
    stored = await load_states(transaction, space, memories, terms=terms)
    moved = {id_: memories[id_] for id_, rows in replaces.items() if rows}
    anew = await replayed(desk, transaction, space, moved, without=gone) if moved else {}
    predictions = await transaction.all(Q["predictions_of"], space=space, memories=ids)
    by_memory = {row["memory_id"]: prediction_of(row) for row in predictions}
    staged = await _staged(transaction, reporter, partitions, now)
    counted = await _counted(transaction, reporter, ids, cause, without=gone)
    return {
        id_: Known(
            memory=memory,
            stored=stored[id_],
            state=anew.get(id_, stored[id_]),
            prediction=by_memory.get(id_),
            surfacings=tuple(surfacings.get(id_, ())),
            staged=tuple(staged.get(id_, ())),
            partitions=partitions[id_],
            counted=counted.get(id_, {}),
            replaces=tuple(replaces.get(id_, ())),
            told=any(row["how"] == How.EXPLICIT for row in earlier.get(id_, ())),
        )
        for id_, memory in memories.items()
    }


async def _resolvable(
    transaction: Transaction, reporter: Reporter, report: Report, ids: list[MemoryId], now: datetime
) -> Rows:
    return await transaction.all(
        Q["resolvable"],
        space=reporter.place.space,
        memories=ids,
        partition=report.partition,
        agent=reporter.place.agent,
        since=now - LATE,
    )


def _chosen(rows: Rows, report: Report) -> dict[MemoryId, list[Resolvable]]:
    """Of each memory and partition the one that waits, else the latest that nobody told of on purpose."""
    found: dict[MemoryId, dict[str, Resolvable]] = {}
    for row in rows:
        is_other = (report.turn or report.recall) and not (
            (report.turn is not None and row["turn_id"] == report.turn)
            or (report.recall is not None and row["recall_id"] == report.recall)
        )
        if is_other and not row["is_pending"]:
            continue
        each = Resolvable(
            id=row["id"], partition=row["partition"], turn=row["turn_id"], recall=row["recall_id"]
        )
        found.setdefault(row["memory_id"], {}).setdefault(row["partition"], each)
    return {memory: list(by_partition.values()) for memory, by_partition in found.items()}


def _partitions(reporter: Reporter, report: Report, found: Iterable[Resolvable]) -> tuple[str, ...]:
    """Where the reads lie that this report speaks of."""
    if report.partition is not None:
        return (report.partition,)
    return tuple(dict.fromkeys([reporter.partition, *(each.partition for each in found)]))


async def _earlier(
    transaction: Transaction,
    reporter: Reporter,
    report: Report,
    ids: list[MemoryId],
    surfacings: Mapping[MemoryId, list[Resolvable]],
) -> dict[MemoryId, Rows]:
    """What was told before of the same turn."""
    turns = {report.turn} if report.turn else set()
    recalls = {report.recall} if report.recall else set()
    if not turns and not recalls:
        turns = {each.turn for found in surfacings.values() for each in found if each.turn}
        recalls = {each.recall for found in surfacings.values() for each in found if each.recall}
    if not turns and not recalls:
        return {}
    rows = await transaction.all(
        Q["outcomes_of_turn"],
        space=reporter.place.space,
        memories=ids,
        turns=sorted(turns),
        recalls=sorted(recalls),
    )
    earlier: dict[MemoryId, Rows] = {}
    for row in rows:
        earlier.setdefault(row["memory_id"], []).append(row)
    return earlier


def _replaced(rows: Rows, reporter: Reporter) -> Rows:
    """Those that this report stands in the place of: what was inferred by what is told, or read a second time."""
    weaker = {
        How.EXPLICIT: (How.SELF, How.INFERRED),
        How.SELF: (How.INFERRED,),
        How.INFERRED: (How.INFERRED,),
    }
    return [row for row in rows if row["how"] in weaker.get(reporter.how, ())]


async def _staged(
    transaction: Transaction,
    reporter: Reporter,
    partitions: Mapping[MemoryId, tuple[str, ...]],
    now: datetime,
) -> dict[MemoryId, list[datetime]]:
    everywhere = sorted({each for found in partitions.values() for each in found})
    rows = await transaction.all(
        Q["staged_of"], space=reporter.place.space, memories=list(partitions), partitions=everywhere, at=now
    )
    staged: dict[MemoryId, list[datetime]] = {}
    for row in rows:
        if row["partition"] in partitions[row["memory_id"]]:
            staged.setdefault(row["memory_id"], []).append(row["at"])
    return staged


async def _counted(
    transaction: Transaction,
    reporter: Reporter,
    ids: list[MemoryId],
    cause: Cause,
    *,
    without: frozenset[UUID],
) -> dict[MemoryId, dict[How, int]]:
    rows = await transaction.all(
        Q["outcomes_of_cause"],
        space=reporter.place.space,
        memories=ids,
        agent=cause.agent,
        session=cause.session,
        day=cause.day,
        origin=cause.origin.value,
        **{"except": sorted(without)},
    )
    counted: dict[MemoryId, dict[How, int]] = {}
    for row in rows:
        counted.setdefault(row["memory_id"], {})[How(row["how"])] = row["counted"]
    return counted
