"""What was a memory expected to lead to, and what came?

One prediction a memory. What came may be told outright, or an outcome stands in for it; a prediction that was far
off counts against the memory.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog

from festinger.ids import MemoryId
from festinger.memory.belief import Effect, weigh
from festinger.memory.confidence import signalled
from festinger.memory.memory import Place
from festinger.memory.states import lock_one
from festinger.outcomes.desk import Desk, Reporter
from festinger.outcomes.prediction import Mode, Prediction, prediction_error
from festinger.outcomes.stored import prediction_of
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.outcomes")

log = structlog.get_logger(room="outcomes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A prediction with whose it is."""

    memory: MemoryId
    prediction: Prediction


async def record_prediction(
    desk: Desk, place: Place, memory: UUID, predicted: Mapping[str, Any] | None
) -> None:
    """Keep what a memory is expected to lead to, in place of what was expected before. Raises `NotFound`."""
    if predicted is None:
        raise ValueError("a prediction says what is expected; it cannot be nothing")
    async with desk.store.transaction() as transaction:
        await lock_one(transaction, place.space, memory)
        open_one = await _open(transaction, place, memory)
        if open_one is not None:
            log.info("open prediction overwritten", memory=str(memory))
        await transaction.run(
            Q["record_prediction"],
            space=place.space,
            memory=memory,
            predicted=json.dumps(dict(predicted)),
            at=desk.clock(),
        )


async def resolve_prediction(
    desk: Desk, reporter: Reporter, memory: UUID, actual: Mapping[str, Any]
) -> float | None:
    """Say what came; how far the prediction was off. None if none is open."""
    place = reporter.place
    async with desk.store.transaction() as transaction:
        held = await lock_one(transaction, place.space, memory)
        prediction = await _open(transaction, place, memory)
        if prediction is None:
            return None
        error, terms = prediction_error(prediction.predicted, actual), desk.terms(place.space)
        await transaction.run(
            Q["resolve_prediction"],
            space=place.space,
            memory=memory,
            mode=Mode.EXPLICIT.value,
            error=error,
            actual=json.dumps(dict(actual)),
            at=desk.clock(),
        )
        if error > terms.pl_confidence_error_threshold and not held.immutable:
            belief = signalled(
                held.belief, terms.pl_confidence_low_signal, most=terms.confidence_evidence_cap
            )
            effect = Effect(memory=held.id, belief=belief)
            reason = "a prediction was far off"
            await weigh(desk.memory, transaction, place.space, effect, by=reporter.name, reason=reason)
        await desk.outbox.emit(
            transaction,
            "prediction_resolved",
            space=place.space,
            subject=f"memory:{memory}",
            payload={"memory": str(memory), "error": error, "mode": Mode.EXPLICIT.value},
            agent=place.agent,
            session=place.session or None,
        )
    return error


async def find_prediction(desk: Desk, place: Place, memory: UUID) -> Prediction | None:
    rows = await desk.store.all(Q["predictions_of"], space=place.space, memories=[memory])
    return prediction_of(rows[0]) if rows else None


async def prediction_errors(desk: Desk, place: Place, limit: int = 50) -> list[Kept]:
    """Predictions that came to their end, the most wrong first."""
    rows = await desk.store.all(Q["prediction_errors"], space=place.space, limit=limit)
    return [Kept(memory=row["memory_id"], prediction=prediction_of(row)) for row in rows]


async def _open(transaction: Transaction, place: Place, memory: UUID) -> Prediction | None:
    row = await transaction.maybe(Q["lock_prediction"], space=place.space, memory=memory)
    return prediction_of(row) if row is not None and not row["resolved"] else None
