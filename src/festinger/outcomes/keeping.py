"""How is what a report did written down?

Rows of the log, the states that moved, reads that count or are let go, surfacings, predictions, and the events that
tell of it: each kind in one round trip, all within the transaction of the report.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.events.event import Happening
from festinger.ids import Cause
from festinger.memory.belief import Effect, apply_effects
from festinger.outcomes.deciding import Decided
from festinger.outcomes.desk import Desk, Reporter
from festinger.outcomes.effects import is_discharged
from festinger.outcomes.observed import Report
from festinger.outcomes.prediction import Mode
from festinger.outcomes.stored import keep_states
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.world.corroboration import Outcome

Q = queries_of("festinger.outcomes")


async def keep(
    desk: Desk,
    transaction: Transaction,
    reporter: Reporter,
    report: Report,
    *,
    decided: Sequence[Decided],
    cause: Cause,
    batch: UUID,
    at: datetime,
) -> None:
    """Write everything that a report did."""
    if not decided:
        return
    space = reporter.place.space
    ids = [desk.new_id() for _ in decided]
    rows = [
        _row(reporter, report, each, id_=id_, cause=cause, batch=batch, at=at)
        for each, id_ in zip(decided, ids, strict=True)
    ]
    await transaction.run_many(Q["write_outcome"], rows)
    desk.step("logged")
    await _replace(transaction, reporter, decided, ids)
    effects = [Effect(memory=each.id, belief=each.after.belief, accesses=each.accesses) for each in decided]
    await apply_effects(transaction, space, effects, at=at, keep=desk.terms(space).access_log)
    desk.step("moved")
    await keep_states(transaction, space, [(each.id, each.known.stored, each.after) for each in decided])
    await _let_reads_go(transaction, reporter, decided)
    desk.step("reads")
    await _resolve(transaction, reporter, decided, at)
    await _resolve_predictions(transaction, reporter, decided, at)
    desk.step("resolved")
    told = [each for one in decided for each in happenings(desk, reporter, one, cause)]
    await desk.outbox.emit_all(transaction, told, space=space)
    desk.step("told")


def _row(
    reporter: Reporter, report: Report, each: Decided, *, id_: UUID, cause: Cause, batch: UUID, at: datetime
) -> dict[str, Any]:
    what, before, after = each.move, each.known.state.belief, each.after.belief
    surfaced = each.known.surfacings[0] if each.known.surfacings else None
    return {
        "space": reporter.place.space,
        "id": id_,
        "batch": batch,
        "memory": each.id,
        "turn": report.turn or (surfaced.turn if surfaced else None),
        "recall": report.recall or (surfaced.recall if surfaced else None),
        "agent": cause.agent,
        "session": cause.session,
        "day": cause.day,
        "origin": cause.origin.value,
        "outcome": each.outcome.value,
        "how": what.how.value,
        "reporter": reporter.name[:200],
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
        "at": at,
    }


async def _replace(
    transaction: Transaction, reporter: Reporter, decided: Sequence[Decided], ids: Sequence[UUID]
) -> None:
    pairs = [(row["id"], id_) for each, id_ in zip(decided, ids, strict=True) for row in each.known.replaces]
    if pairs:
        await transaction.run(
            Q["replace_outcomes"],
            space=reporter.place.space,
            ids=[old for old, _ in pairs],
            by=[new for _, new in pairs],
        )


async def _let_reads_go(transaction: Transaction, reporter: Reporter, decided: Sequence[Decided]) -> None:
    """Reads that count now are kept by their memory, the others by nobody."""
    places = [(each.id, partition) for each in decided for partition in each.known.partitions]
    await transaction.run(
        Q["unstage"],
        space=reporter.place.space,
        memories=[memory for memory, _ in places],
        partitions=[partition for _, partition in places],
    )


async def _resolve(
    transaction: Transaction, reporter: Reporter, decided: Sequence[Decided], at: datetime
) -> None:
    resolved = [(found.id, each.outcome.value) for each in decided for found in each.known.surfacings]
    if resolved:
        await transaction.run(
            Q["resolve_surfacings"],
            space=reporter.place.space,
            ids=[id_ for id_, _ in resolved],
            outcomes=[outcome for _, outcome in resolved],
            how=reporter.how.value,
            at=at,
        )


async def _resolve_predictions(
    transaction: Transaction, reporter: Reporter, decided: Sequence[Decided], at: datetime
) -> None:
    rows = [
        {
            "space": reporter.place.space,
            "memory": each.id,
            "mode": Mode.OBSERVED.value,
            "error": each.move.prediction_error,
            "actual": None,
            "at": at,
        }
        for each in decided
        if each.move.prediction_error is not None
    ]
    if rows:
        await transaction.run_many(Q["resolve_prediction"], rows)


def happenings(desk: Desk, reporter: Reporter, each: Decided, cause: Cause) -> Iterator[Happening]:
    """What is told of one memory."""
    memory, before, after = str(each.id), each.known.stored.belief, each.after.belief

    def happening(name: str, **payload: Any) -> Happening:
        return Happening(
            name=name,
            subject=f"memory:{memory}",
            payload={"memory": memory, **payload},
            agent=cause.agent,
            session=cause.session or None,
        )

    yield happening(
        "outcome_recorded",
        outcome=each.outcome.value,
        cause={
            "agent": cause.agent,
            "session": cause.session[:120],
            "day": str(cause.day),
            "origin": cause.origin,
        },
        how=each.move.how.value,
        q=each.q,
        confidence=after.confidence,
        weight=after.weight.center,
    )
    for row in each.known.replaces:
        yield happening("outcome_replaced", **{"from": row["outcome"], "to": each.outcome.value})
    if each.move.prediction_error is not None:
        yield happening("prediction_resolved", error=each.move.prediction_error, mode=Mode.OBSERVED.value)
    if _is_discharged(desk, reporter, each):
        yield happening("pressure_discharged", by=reporter.name[:120])
    if after.confidence_ceiling is not None and after.confidence_ceiling != before.confidence_ceiling:
        yield happening("ceiling_set", confidence=after.confidence_ceiling, center=after.weight_ceiling)
    if before.confidence_ceiling is not None and after.confidence_ceiling is None:
        yield happening("ceiling_cleared", by=reporter.name[:120])


def _is_discharged(desk: Desk, reporter: Reporter, each: Decided) -> bool:
    presses = each.after.rhythm.pressure_rate > 0 and each.because is None
    was_contradicted = each.outcome is Outcome.CONTRADICTED
    return presses and was_contradicted and is_discharged(each.after.belief, desk.terms(reporter.place.space))
