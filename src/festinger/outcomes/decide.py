"""Loads what is known of the memories in a report and decides what the report does to each.

Everything is read after the memories are locked, each kind once for all of them. Decisions are pure. Credit
is shared among the memories that were acted on and count. Passive outcomes count once per memory and cause,
others up to a limit, so that one loop cannot vote a thousand times; a reviewer's report always counts.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.ids import MemoryId, cause_columns
from festinger.memory.model import Memory
from festinger.outcomes.effects import (
    OutcomeDelta,
    OutcomeState,
    Prediction,
    apply_delta,
    compute_delta,
    outcome_weight,
)
from festinger.outcomes.model import (
    MemoryEffectResult,
    OutcomeReport,
    ReportContext,
    Reporter,
    ReportSource,
    credit_shares,
)
from festinger.outcomes.replay import replay_states
from festinger.outcomes.store import load_outcome_states, prediction_of
from festinger.records import row_mapper
from festinger.store.queries import load_queries
from festinger.world.model import NoteOutcome


class OutcomeExclusionReason(StrEnum):
    """Why an outcome moved nothing."""

    IMMUTABLE = "immutable"
    ONCE_PER_CAUSE = "once_per_cause"
    MAX_PER_CAUSE = "max_per_cause"


def find_exclusion_reason(
    outcome: NoteOutcome,
    how: ReportSource,
    *,
    counted: Mapping[ReportSource, int],
    most: int,
    immutable: bool = False,
    is_reviewer: bool = False,
) -> OutcomeExclusionReason | None:
    """Return why an outcome does not count, if so. `counted` holds earlier ones of this memory and cause."""
    if immutable:
        return OutcomeExclusionReason.IMMUTABLE
    if is_reviewer or outcome is NoteOutcome.DEFERRED:
        return None
    if how.is_passive and counted.get(how, 0):
        return OutcomeExclusionReason.ONCE_PER_CAUSE
    return OutcomeExclusionReason.MAX_PER_CAUSE if sum(counted.values()) >= most else None


Q = load_queries("festinger.outcomes")

LATE = timedelta(hours=24)
"""How long after it expired a surfacing still accepts a report."""

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvableSurfacing:
    """A surfacing that a report may resolve."""

    id: UUID
    partition: str
    turn: UUID | None
    recall: UUID | None


resolvable_of = row_mapper(ResolvableSurfacing, turn="turn_id", recall="recall_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeContext:
    """What is known of one memory when a report about it is applied."""

    memory: Memory
    stored: OutcomeState
    """As stored in the tables."""
    state: OutcomeState
    """The state to move: without the outcomes that this report replaces."""
    prediction: Prediction | None = None
    surfacings: tuple[ResolvableSurfacing, ...] = ()
    staged: tuple[datetime, ...] = ()
    partitions: tuple[str, ...] = ()
    counted: Mapping[ReportSource, int] = field(default_factory=dict)
    replaces: tuple[Mapping[str, Any], ...] = ()
    """Outcomes of the same turn that this report replaces."""
    was_explicit: bool = False
    """Whether an explicit outcome was already reported for the same turn."""


async def load_outcome_contexts(
    context: ReportContext, memories: Mapping[MemoryId, Memory]
) -> dict[MemoryId, OutcomeContext]:
    """Load what is known of each memory; all of them are locked."""
    transaction, space, ids = context.transaction, context.space, list(memories)
    reporter, report = context.reporter, context.report
    resolvable = await transaction.all(
        Q["resolvable"],
        space=space,
        memories=ids,
        partition=report.partition,
        agent=reporter.scope.agent,
        since=context.now - LATE,
    )
    surfacings = _choose_surfacings(resolvable, report)
    partitions = {id_: _choose_partitions(reporter, report, surfacings.get(id_, ())) for id_ in ids}
    earlier = await _load_earlier_outcomes(context, ids, surfacings)
    replaces = {id_: _select_replaced(rows, reporter) for id_, rows in earlier.items()}
    gone = frozenset(row["id"] for rows in replaces.values() for row in rows)
    stored = await load_outcome_states(transaction, space, memories, terms=context.terms)
    moved = {id_: memories[id_] for id_, rows in replaces.items() if rows}
    anew = await replay_states(context.deps, transaction, space, moved, without=gone) if moved else {}
    predictions = await transaction.all(Q["predictions_of"], space=space, memories=ids)
    by_memory = {row["memory_id"]: prediction_of(row) for row in predictions}
    staged = await _load_staged_reads(context, partitions)
    counted = await _load_counts_of_cause(context, ids, without=gone)
    return {
        id_: OutcomeContext(
            memory=memory,
            stored=stored[id_],
            state=anew.get(id_, stored[id_]),
            prediction=by_memory.get(id_),
            surfacings=tuple(surfacings.get(id_, ())),
            staged=tuple(staged.get(id_, ())),
            partitions=partitions[id_],
            counted=counted.get(id_, {}),
            replaces=tuple(replaces.get(id_, ())),
            was_explicit=any(row["how"] == ReportSource.EXPLICIT for row in earlier.get(id_, ())),
        )
        for id_, memory in memories.items()
    }


def _choose_surfacings(rows: Rows, report: OutcomeReport) -> dict[MemoryId, list[ResolvableSurfacing]]:
    """Choose for each memory and partition the pending surfacing, else the latest not reported explicitly."""
    found: dict[MemoryId, dict[str, ResolvableSurfacing]] = {}
    for row in rows:
        is_other = (report.turn or report.recall) and not (
            (report.turn is not None and row["turn_id"] == report.turn)
            or (report.recall is not None and row["recall_id"] == report.recall)
        )
        if is_other and not row["is_pending"]:
            continue
        found.setdefault(row["memory_id"], {}).setdefault(row["partition"], resolvable_of(row))
    return {memory: list(by_partition.values()) for memory, by_partition in found.items()}


def _choose_partitions(
    reporter: Reporter, report: OutcomeReport, found: Iterable[ResolvableSurfacing]
) -> tuple[str, ...]:
    if report.partition is not None:
        return (report.partition,)
    return tuple(dict.fromkeys([reporter.partition, *(each.partition for each in found)]))


async def _load_earlier_outcomes(
    context: ReportContext, ids: list[MemoryId], surfacings: Mapping[MemoryId, list[ResolvableSurfacing]]
) -> dict[MemoryId, Rows]:
    report = context.report
    turns = {report.turn} if report.turn else set()
    recalls = {report.recall} if report.recall else set()
    if not turns and not recalls:
        turns = {each.turn for found in surfacings.values() for each in found if each.turn}
        recalls = {each.recall for found in surfacings.values() for each in found if each.recall}
    if not turns and not recalls:
        return {}
    rows = await context.transaction.all(
        Q["outcomes_of_turn"], space=context.space, memories=ids, turns=sorted(turns), recalls=sorted(recalls)
    )
    earlier: dict[MemoryId, Rows] = {}
    for row in rows:
        earlier.setdefault(row["memory_id"], []).append(row)
    return earlier


def _select_replaced(rows: Rows, reporter: Reporter) -> Rows:
    """Select outcomes that this report replaces: those from weaker sources, or inferred once more."""
    weaker = {
        ReportSource.EXPLICIT: (ReportSource.SELF, ReportSource.INFERRED),
        ReportSource.SELF: (ReportSource.INFERRED,),
        ReportSource.INFERRED: (ReportSource.INFERRED,),
    }
    return [row for row in rows if row["how"] in weaker.get(reporter.how, ())]


async def _load_staged_reads(
    context: ReportContext, partitions: Mapping[MemoryId, tuple[str, ...]]
) -> dict[MemoryId, list[datetime]]:
    everywhere = sorted({each for found in partitions.values() for each in found})
    rows = await context.transaction.all(
        Q["staged_of"], space=context.space, memories=list(partitions), partitions=everywhere, at=context.now
    )
    staged: dict[MemoryId, list[datetime]] = {}
    for row in rows:
        if row["partition"] in partitions[row["memory_id"]]:
            staged.setdefault(row["memory_id"], []).append(row["at"])
    return staged


async def _load_counts_of_cause(
    context: ReportContext, ids: list[MemoryId], *, without: frozenset[UUID]
) -> dict[MemoryId, dict[ReportSource, int]]:
    rows = await context.transaction.all(
        Q["outcomes_of_cause"],
        space=context.space,
        memories=ids,
        **cause_columns(context.cause),
        **{"except": sorted(without)},
    )
    counted: dict[MemoryId, dict[ReportSource, int]] = {}
    for row in rows:
        counted.setdefault(row["memory_id"], {})[ReportSource(row["how"])] = row["counted"]
    return counted


CONFIRMING = (NoteOutcome.ACTED, NoteOutcome.USED)
"""Outcomes that make staged reads count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeDecision:
    """What a report does to one memory."""

    known: OutcomeContext
    move: OutcomeDelta
    after: OutcomeState
    q: float
    because: OutcomeExclusionReason | None = None
    accesses: tuple[datetime, ...] = ()

    @property
    def id(self) -> MemoryId:
        return self.known.memory.id

    @property
    def outcome(self) -> NoteOutcome:
        return self.move.outcome

    @property
    def effect_result(self) -> MemoryEffectResult:
        before, after = self.known.stored.belief, self.after.belief
        return MemoryEffectResult(
            outcome=self.outcome,
            confidence=(before.confidence, after.confidence),
            weight=(before.weight.center, after.weight.center),
            access=len(self.accesses),
            counted=self.because is None,
        )


def decide_outcomes(
    context: ReportContext, known: Mapping[MemoryId, OutcomeContext], *, beside: Collection[str] = ()
) -> tuple[list[OutcomeDecision], dict[str, float]]:
    """Decide each memory, in order of id; return the decisions and the shares of credit.

    `beside` are other notes of the same report that share the credit.
    """
    reporter, report = context.reporter, context.report
    why = {
        id_: find_exclusion_reason(
            report.outcome_of(str(id_)),
            reporter.how,
            counted=each.counted,
            most=context.terms.max_per_cause,
            immutable=each.memory.immutable,
            is_reviewer=reporter.is_reviewer,
        )
        for id_, each in known.items()
    }
    counting = [str(id_) for id_ in known if why[id_] is None]
    acted = [id_ for id_ in (*counting, *beside) if report.outcome_of(id_) is NoteOutcome.ACTED]
    credit = credit_shares(acted, report.credit)
    decided = [_decide_one(context, known[id_], why[id_], credit=credit) for id_ in sorted(known)]
    return decided, credit


def _decide_one(
    context: ReportContext,
    known: OutcomeContext,
    because: OutcomeExclusionReason | None,
    *,
    credit: Mapping[str, float],
) -> OutcomeDecision:
    id_, terms, how = str(known.memory.id), context.terms, context.reporter.how
    report = context.report
    outcome, q = report.outcome_of(id_), report.q.get(id_, 1.0)
    is_open = known.prediction is not None and not known.prediction.resolved
    what = compute_delta(
        outcome,
        terms,
        how=how,
        w=outcome_weight(how, q, terms),
        credit=credit.get(id_, 1.0),
        predicts=is_open and because is None,
    )
    after = apply_delta(known.state, what, at=context.now, terms=terms) if because is None else known.state
    accesses = known.staged if outcome in CONFIRMING else ()
    return OutcomeDecision(known=known, move=what, after=after, q=q, because=because, accesses=accesses)


def effects_by_id(decided: Sequence[OutcomeDecision]) -> dict[str, MemoryEffectResult]:
    return {str(each.id): each.effect_result for each in decided}
