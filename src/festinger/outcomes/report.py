"""What happens when somebody tells what became of memories?

One transaction: the memories are locked in the order of their ids, everything is read, decided and written, or
nothing is. Asked again with the same key, the first answer is given again. What waits for the same rows in a ring is
tried again.

How is what a report did written down?

Rows of the log, the states that moved, reads that count or are let go, surfacings, predictions, and the events that
tell of it: each kind in one round trip, all within the transaction of the report.

What became of what a recall surfaced?

The short form of the third hook: whoever reports names the recall, and everything that it surfaced is meant.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from festinger.errors import Replayed, StoreDown
from festinger.events.event import Happening
from festinger.ids import Cause, MemoryId, SpaceId
from festinger.memory.changes import Effect, apply_effects, hold_known
from festinger.memory.model import Memory
from festinger.observability.metrics import OUTCOMES, OUTCOMES_SKIPPED
from festinger.outcomes.corrections import hold_successors, succeed
from festinger.outcomes.decide import Decided, decide, effects_by_id, gather
from festinger.outcomes.effects import EdgeNote, Mode, edge_of, is_discharged, moving, observe_edges
from festinger.outcomes.model import Desk, Observed, Report, Reporter, memory_id, observed_of, report_of
from festinger.outcomes.store import keep_states
from festinger.outcomes.surface import surfaced_by
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.world.model import Outcome
from festinger.world.write import hold

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


TRIES = 4
"""The first, and three more if others changed the same rows at the same moment."""
KEPT_FOR = timedelta(hours=24)

UNKNOWN = "unknown"
FOREIGN = "foreign"
TOLD_ALREADY = "told_explicitly"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What the ids of a report name."""

    memories: Mapping[str, MemoryId]
    edges: Mapping[str, EdgeNote]
    skipped: Mapping[str, str]


async def observe(desk: Desk, reporter: Reporter, report: Report) -> Observed:
    """Apply a report, all of it or nothing."""
    for left in range(TRIES - 1, -1, -1):
        try:
            async with desk.store.transaction() as transaction:
                observed = await observe_in(desk, transaction, reporter, report)
        except StoreDown as error:
            if error.details.get("kind") != "busy" or not left:
                raise
            continue
        if observed.edges:
            await desk.world.follow(reporter.place.space)
        return observed
    raise AssertionError("the last try returns or raises")


async def observe_in(desk: Desk, transaction: Transaction, reporter: Reporter, report: Report) -> Observed:
    """The same within a transaction of the caller's, who tries again."""
    key = _key(reporter, report)
    if key is not None and (done := await _done(desk, transaction, reporter, report, key)) is not None:
        return done
    named = named_by(report)
    if moving(report, named.edges):
        # Before any memory is held: who decides or repairs takes both in this order.
        await hold(transaction, reporter.place.space)
    await hold_successors(transaction, reporter, report)
    held = await hold_known(transaction, reporter.place.space, named.memories.values())
    desk.step("held")
    # The time is taken once all rows are locked: the log is in the order in which rows changed.
    now, batch = desk.clock(), desk.new_id()
    cause = reporter.cause(now)
    skipped = {**named.skipped, **_unreached(reporter, named, held)}
    reached = {id_: memory for id_, memory in held.items() if str(id_) not in skipped}
    known = await gather(desk, transaction, reporter, report, memories=reached, cause=cause, now=now)
    desk.step("gathered")
    if reporter.how.is_passive:
        skipped |= {str(id_): TOLD_ALREADY for id_, each in known.items() if each.told}
        known = {id_: each for id_, each in known.items() if not each.told}
    terms = desk.terms(reporter.place.space)
    # What was told outright of an edge counts whole; what was only read is shared with the memories beside it.
    beside = named.edges if reporter.how.is_passive else ()
    decided, credit = decide(reporter, report, known, terms=terms, at=now, beside=beside)
    await keep(desk, transaction, reporter, report, decided=decided, cause=cause, batch=batch, at=now)
    await succeed(desk, transaction, reporter, report, held=reached)
    moved = await observe_edges(
        desk, transaction, reporter, report, edges=named.edges, cause=cause, credit=credit
    )
    observed = Observed(effects=effects_by_id(decided), skipped=skipped, edges=tuple(moved))
    if key is not None:
        await _remember(desk, transaction, reporter, report, key, observed, batch)
    for each in decided:
        OUTCOMES.labels(each.outcome, reporter.how).inc()
    for why in skipped.values():
        OUTCOMES_SKIPPED.labels(why).inc()
    desk.step("done")
    return observed


def named_by(report: Report) -> Named:
    """The memories and the edges that a report names; what is neither is skipped."""
    memories = {id_: found for id_ in report.memories if (found := memory_id(id_)) is not None}
    edges = {
        id_: edge for id_ in report.memories if id_ not in memories and (edge := edge_of(id_)) is not None
    }
    neither = {id_: UNKNOWN for id_ in report.memories if id_ not in memories and id_ not in edges}
    return Named(memories=memories, edges=edges, skipped=neither)


def _unreached(reporter: Reporter, named: Named, held: Mapping[MemoryId, Memory]) -> dict[str, str]:
    """Ids of memories that are not there, or that are another agent's own."""
    unreached = {id_: UNKNOWN for id_, memory in named.memories.items() if memory not in held}
    foreign = {
        str(id_): FOREIGN
        for id_, memory in held.items()
        if memory.agent_id not in (None, reporter.place.agent)
    }
    return unreached | foreign


def _key(reporter: Reporter, report: Report) -> str | None:
    """Under which key a report is known again; doors that know the turn need not give one."""
    if report.key is not None:
        return f"{reporter.place.agent}/{report.key}"
    if report.turn is not None and reporter.place.session and not reporter.how.is_passive:
        return f"{reporter.place.agent}/{reporter.place.session}/{report.turn}"
    return None


async def _done(
    desk: Desk, transaction: Transaction, reporter: Reporter, report: Report, key: str
) -> Observed | None:
    """What an earlier report with this key did."""
    space = reporter.place.space
    await transaction.run(Q["lock_batch"], space=space, key=key)
    row = await transaction.maybe(Q["find_batch"], space=space, key=key, since=desk.clock() - KEPT_FOR)
    if row is None:
        return None
    if bytes(row["body_hash"]) != report.body_hash:
        raise Replayed(f"The key `{(report.key or key)[:40]}` was used for another report.")
    return observed_of(row["result"])


async def _remember(
    desk: Desk,
    transaction: Transaction,
    reporter: Reporter,
    report: Report,
    key: str,
    observed: Observed,
    batch: UUID,
) -> None:
    await transaction.run(
        Q["keep_batch"],
        space=reporter.place.space,
        id=batch,
        key=key,
        body_hash=report.body_hash,
        result=json.dumps(observed.as_json()),
        at=desk.clock(),
    )


async def prune_batches(desk: Desk, space: SpaceId) -> int:
    """Let go of keys that are too old to mean anything."""
    return await desk.store.run(Q["prune_batches"], space=space, before=desk.clock() - KEPT_FOR)


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
