"""Applies a report of outcomes to memories and edges, all or nothing.

One transaction: lock the memories in order of id, then read, decide and write, each kind of row in one round
trip. A repeat with the same key gets the first result again. Deadlocks are retried. `observe_recall` is the
short form: the report names the recall, and everything that it surfaced is meant.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from festinger.errors import Replayed, StoreDown
from festinger.events.catalogue import NewEvent
from festinger.ids import MemoryId, SpaceId, cause_columns
from festinger.memory.changes import BeliefUpdate, apply_belief_updates, lock_memories_in_order
from festinger.memory.model import Memory
from festinger.observability.metrics import OUTCOMES, OUTCOMES_SKIPPED
from festinger.outcomes.corrections import lock_successor_owners, supersede_contradicted
from festinger.outcomes.decide import OutcomeDecision, decide_outcomes, effects_by_id, load_outcome_contexts
from festinger.outcomes.effects import (
    EdgeNote,
    PredictionResolution,
    affected_edges,
    apply_edge_outcomes,
    is_pressure_discharged,
    parse_edge_id,
)
from festinger.outcomes.model import (
    ObserveResult,
    OutcomeDeps,
    OutcomeReport,
    ReportContext,
    Reporter,
    build_outcome_report,
    observe_result_from_json,
    parse_memory_id,
)
from festinger.outcomes.store import save_changed_rhythms
from festinger.outcomes.surface import require_surfacings_of_recall
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.world.model import NoteOutcome
from festinger.world.write import lock_world

Q = load_queries("festinger.outcomes")


async def save_report_effects(context: ReportContext, decided: Sequence[OutcomeDecision], *, batch: UUID) -> None:
    """Write everything that a report did."""
    if not decided:
        return
    deps, transaction, space, at = context.deps, context.transaction, context.space, context.now
    ids = [deps.new_id() for _ in decided]
    rows = [_outcome_row(context, each, id_=id_, batch=batch) for each, id_ in zip(decided, ids, strict=True)]
    await transaction.run_many(Q["write_outcome"], rows)
    deps.step("logged")
    pairs = [(row["id"], id_) for each, id_ in zip(decided, ids, strict=True) for row in each.known.replaces]
    if pairs:
        old, new = map(list, zip(*pairs, strict=True))
        await transaction.run(Q["replace_outcomes"], space=space, ids=old, by=new)
    effects = [BeliefUpdate(memory=each.id, belief=each.after.belief, accesses=each.accesses) for each in decided]
    await apply_belief_updates(transaction, space, effects, at=at, keep=context.terms.access_log)
    deps.step("moved")
    await save_changed_rhythms(transaction, space, [(each.id, each.known.stored, each.after) for each in decided])
    # Staged reads that count are kept with their memory by now; the others are discarded.
    places = [(each.id, partition) for each in decided for partition in each.known.partitions]
    memories, partitions = map(list, zip(*places, strict=True))
    await transaction.run(Q["unstage"], space=space, memories=memories, partitions=partitions)
    deps.step("reads")
    await _resolve_surfacings(context, decided)
    await _resolve_predictions(context, decided)
    deps.step("resolved")
    events = [each for one in decided for each in build_report_events(context, one)]
    await deps.outbox.emit_all(transaction, events, space=space)
    deps.step("told")


def _outcome_row(context: ReportContext, each: OutcomeDecision, *, id_: UUID, batch: UUID) -> dict[str, Any]:
    report = context.report
    what, before, after = each.move, each.known.state.belief, each.after.belief
    surfaced = each.known.surfacings[0] if each.known.surfacings else None
    return {
        "space": context.space,
        "id": id_,
        "batch": batch,
        "memory": each.id,
        "turn": report.turn or (surfaced.turn if surfaced else None),
        "recall": report.recall or (surfaced.recall if surfaced else None),
        **cause_columns(context.cause),
        "outcome": each.outcome.value,
        "how": what.how.value,
        "reporter": context.reporter.name[:200],
        "q": each.q,
        "w": what.w,
        "credit": what.credit,
        "signal": what.signal,
        "second_signal": what.second_signal,
        "evidence_cap": what.evidence_cap,
        "passive_span": what.passive_span,
        "confidence_before": before.confidence,
        "confidence_after": after.confidence,
        "alpha_before": before.weight.alpha,
        "beta_before": before.weight.beta,
        "alpha_gain": what.alpha_gain,
        "beta_gain": what.beta_gain,
        "center_after": after.weight.center,
        "cycle_factor": what.cycle_factor,
        "prediction_error": what.prediction_error,
        "evidence": json.dumps(report.evidence.get(str(each.id), {})),
        "counted": each.because is None,
        "uncounted": each.because.value if each.because else None,
        "at": context.now,
    }


async def _resolve_surfacings(context: ReportContext, decided: Sequence[OutcomeDecision]) -> None:
    resolved = [(found.id, each.outcome.value) for each in decided for found in each.known.surfacings]
    if resolved:
        await context.transaction.run(
            Q["resolve_surfacings"],
            space=context.space,
            ids=[id_ for id_, _ in resolved],
            outcomes=[outcome for _, outcome in resolved],
            how=context.reporter.how.value,
            at=context.now,
        )


async def _resolve_predictions(context: ReportContext, decided: Sequence[OutcomeDecision]) -> None:
    rows = [
        {
            "space": context.space,
            "memory": each.id,
            "mode": PredictionResolution.OBSERVED.value,
            "error": each.move.prediction_error,
            "actual": None,
            "at": context.now,
        }
        for each in decided
        if each.move.prediction_error is not None
    ]
    if rows:
        await context.transaction.run_many(Q["resolve_prediction"], rows)


def build_report_events(context: ReportContext, each: OutcomeDecision) -> Iterator[NewEvent]:
    """Yield the events about one memory."""
    cause, by = context.cause, context.reporter.name[:120]
    memory, before, after = str(each.id), each.known.stored.belief, each.after.belief

    def happening(name: str, **payload: Any) -> NewEvent:
        return NewEvent(
            name=name,
            subject=f"memory:{memory}",
            payload={"memory": memory, **payload},
            agent=cause.agent,
            session=cause.session or None,
        )

    yield happening(
        "outcome_recorded",
        outcome=each.outcome.value,
        cause={"agent": cause.agent, "session": cause.session[:120], "day": str(cause.day), "origin": cause.origin},
        how=each.move.how.value,
        q=each.q,
        confidence=after.confidence,
        weight=after.weight.center,
    )
    for row in each.known.replaces:
        yield happening("outcome_replaced", **{"from": row["outcome"], "to": each.outcome.value})
    if each.move.prediction_error is not None:
        yield happening(
            "prediction_resolved", error=each.move.prediction_error, mode=PredictionResolution.OBSERVED.value
        )
    if _should_report_discharge(context, each):
        yield happening("pressure_discharged", by=by)
    if after.confidence_ceiling is not None and after.confidence_ceiling != before.confidence_ceiling:
        yield happening("ceiling_set", confidence=after.confidence_ceiling, center=after.weight_ceiling)
    if before.confidence_ceiling is not None and after.confidence_ceiling is None:
        yield happening("ceiling_cleared", by=by)


def _should_report_discharge(context: ReportContext, each: OutcomeDecision) -> bool:
    presses = each.after.rhythm.pressure_rate > 0 and each.because is None
    was_contradicted = each.outcome is NoteOutcome.CONTRADICTED
    return presses and was_contradicted and is_pressure_discharged(each.after.belief, context.terms)


TRIES = 4
"""The first attempt, and three more if others changed the same rows at the same time."""
KEPT_FOR = timedelta(hours=24)

UNKNOWN = "unknown"
FOREIGN = "foreign"
TOLD_ALREADY = "told_explicitly"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTargets:
    """What the ids of a report refer to."""

    memories: Mapping[str, MemoryId]
    edges: Mapping[str, EdgeNote]
    skipped: Mapping[str, str]


async def observe(deps: OutcomeDeps, reporter: Reporter, report: OutcomeReport) -> ObserveResult:
    """Apply a report, all or nothing."""
    for left in range(TRIES - 1, -1, -1):
        try:
            async with deps.store.transaction() as transaction:
                observed = await observe_in_transaction(deps, transaction, reporter, report)
        except StoreDown as error:
            if error.details.get("kind") != "busy" or not left:
                raise
            continue
        if observed.edges:
            await deps.world.follow(reporter.scope.space)
        return observed
    raise AssertionError("the last try returns or raises")


async def observe_in_transaction(
    deps: OutcomeDeps, transaction: Transaction, reporter: Reporter, report: OutcomeReport
) -> ObserveResult:
    """Like `observe`, in the caller's transaction and without retries."""
    key = _idempotency_key(reporter, report)
    if key is not None and (done := await _find_earlier_result(deps, transaction, reporter, report, key)) is not None:
        return done
    named = resolve_targets(report)
    if affected_edges(report, named.edges):
        # Before any memory is locked: deciding and repairing take both in this order.
        await lock_world(transaction, reporter.scope.space)
    await lock_successor_owners(transaction, reporter, report)
    held = await lock_memories_in_order(transaction, reporter.scope.space, named.memories.values())
    deps.step("held")
    # Take the time once all rows are locked, so that the log is in the order in which rows changed.
    now, batch = deps.clock(), deps.new_id()
    context = ReportContext(
        deps=deps, transaction=transaction, reporter=reporter, report=report, cause=reporter.cause(now), now=now
    )
    skipped = {**named.skipped, **_unreachable_ids(reporter, named, held)}
    reached = {id_: memory for id_, memory in held.items() if str(id_) not in skipped}
    known = await load_outcome_contexts(context, reached)
    deps.step("gathered")
    if reporter.how.is_passive:
        skipped |= {str(id_): TOLD_ALREADY for id_, each in known.items() if each.was_explicit}
        known = {id_: each for id_, each in known.items() if not each.was_explicit}
    # A direct report about an edge counts in full; an inferred one shares credit with the memories beside it.
    edges = named.edges if reporter.how.is_passive else ()
    decided, credit = decide_outcomes(context, known, beside=edges)
    await save_report_effects(context, decided, batch=batch)
    await supersede_contradicted(context, held=reached)
    moved = await apply_edge_outcomes(context, named.edges, credit=credit)
    observed = ObserveResult(effects=effects_by_id(decided), skipped=skipped, edges=tuple(moved))
    if key is not None:
        await transaction.run(
            Q["keep_batch"],
            space=reporter.scope.space,
            id=batch,
            key=key,
            body_hash=report.body_hash,
            result=json.dumps(observed.as_json()),
            at=deps.clock(),
        )
    for each in decided:
        OUTCOMES.labels(each.outcome, reporter.how).inc()
    for why in skipped.values():
        OUTCOMES_SKIPPED.labels(why).inc()
    deps.step("done")
    return observed


def resolve_targets(report: OutcomeReport) -> ReportTargets:
    """Return the memories and edges that a report names; anything else is skipped."""
    memories = {id_: found for id_ in report.memories if (found := parse_memory_id(id_)) is not None}
    edges = {id_: edge for id_ in report.memories if id_ not in memories and (edge := parse_edge_id(id_)) is not None}
    neither = {id_: UNKNOWN for id_ in report.memories if id_ not in memories and id_ not in edges}
    return ReportTargets(memories=memories, edges=edges, skipped=neither)


def _unreachable_ids(reporter: Reporter, named: ReportTargets, held: Mapping[MemoryId, Memory]) -> dict[str, str]:
    """Return ids of memories that do not exist, or that belong to another agent."""
    unreached = {id_: UNKNOWN for id_, memory in named.memories.items() if memory not in held}
    foreign = {str(id_): FOREIGN for id_, memory in held.items() if memory.agent_id not in (None, reporter.scope.agent)}
    return unreached | foreign


def _idempotency_key(reporter: Reporter, report: OutcomeReport) -> str | None:
    """Return the key that identifies a repeat; interfaces that know the turn need not give one."""
    if report.key is not None:
        return f"{reporter.scope.agent}/{report.key}"
    if report.turn is not None and reporter.scope.session and not reporter.how.is_passive:
        return f"{reporter.scope.agent}/{reporter.scope.session}/{report.turn}"
    return None


async def _find_earlier_result(
    deps: OutcomeDeps, transaction: Transaction, reporter: Reporter, report: OutcomeReport, key: str
) -> ObserveResult | None:
    """Return the result of an earlier report with this key. Raises `Replayed` if the reports differ."""
    space = reporter.scope.space
    await transaction.run(Q["lock_batch"], space=space, key=key)
    row = await transaction.maybe(Q["find_batch"], space=space, key=key, since=deps.clock() - KEPT_FOR)
    if row is None:
        return None
    if bytes(row["body_hash"]) != report.body_hash:
        raise Replayed(f"The key `{(report.key or key)[:40]}` was used for another report.")
    return observe_result_from_json(row["result"])


async def prune_report_keys(deps: OutcomeDeps, space: SpaceId) -> int:
    """Delete keys that have expired."""
    return await deps.store.run(Q["prune_batches"], space=space, before=deps.clock() - KEPT_FOR)


async def observe_recall(
    deps: OutcomeDeps, reporter: Reporter, outcomes: Mapping[Any, Any], *, recall: UUID | None = None, **more: Any
) -> ObserveResult:
    """Apply outcomes; with a recall, what it surfaced and is not named is deferred. Raises `NotFound`."""
    report = build_outcome_report(list(outcomes), outcomes, recall=recall, **more)
    if recall is None:
        return await observe(deps, reporter, report)
    async with deps.store.transaction() as transaction:
        shown = await require_surfacings_of_recall(transaction, reporter.scope.space, recall)
    memories = [*(str(each.memory_id) for each in shown), *report.memories]
    return await observe(deps, reporter, build_outcome_report(memories, outcomes, recall=recall, **more))
