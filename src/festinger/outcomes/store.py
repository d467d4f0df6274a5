"""Loads and saves rhythms, cycles and predictions of memories.

A memory without a row has the rhythm of the settings, counted from its creation; only what an outcome changed
is written. Redeclaring an unchanged rhythm keeps what outcomes have taught since; an edited one wins, and is
logged. A memory has one prediction, resolved by a report or by an outcome; a large error counts against the
memory. Confidence, weight and accesses belong to `memory`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import isfinite
from typing import Any
from uuid import UUID

import structlog

from festinger.errors import BadInput
from festinger.ids import MemoryId, Scope, SpaceId
from festinger.memory.changes import BeliefUpdate, adjust_belief, load_existing_memories, lock_memory
from festinger.memory.confidence import apply_signal
from festinger.memory.model import Memory
from festinger.outcomes.effects import (
    PERIODS,
    Cycle,
    OutcomeState,
    Prediction,
    PredictionResolution,
    Rhythm,
    compute_strength,
    prediction_error,
)
from festinger.outcomes.model import OutcomeDeps, Reporter
from festinger.records import row_mapper
from festinger.settings.memory_sections import OutcomesSettings
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.outcomes")


async def load_outcome_states(
    transaction: Transaction, space: SpaceId, memories: Mapping[MemoryId, Memory], *, terms: OutcomesSettings
) -> dict[MemoryId, OutcomeState]:
    wanted = list(memories)
    rows = await transaction.all(Q["rhythms_of"], space=space, memories=wanted)
    rhythms = {row["memory_id"]: row for row in rows}
    cycles: dict[MemoryId, list[Cycle]] = {}
    for row in await transaction.all(Q["cycles_of"], space=space, memories=wanted):
        cycles.setdefault(row["memory_id"], []).append(cycle_of(row))
    return {
        id_: OutcomeState(
            belief=memory.belief, rhythm=rhythm_of(rhythms.get(id_), memory, terms), cycles=tuple(cycles.get(id_, ()))
        )
        for id_, memory in memories.items()
    }


def rhythm_of(row: Mapping[str, Any] | None, memory: Memory, terms: OutcomesSettings) -> Rhythm:
    fresh = Rhythm(last_touched=memory.created_at, decay_rate=terms.decay_rate)
    if row is None:
        return fresh
    return Rhythm(
        last_touched=row["last_touched"] or memory.created_at,
        decay_rate=terms.decay_rate if row["decay_rate"] is None else row["decay_rate"],
        base_score=row["base_score"],
        pressure_rate=row["pressure_rate"],
        pressure_declared_at=row["pressure_declared_at"],
        pressure_resolved_at=row["pressure_resolved_at"],
    )


cycle_of = row_mapper(Cycle)


prediction_of = row_mapper(Prediction)


async def save_changed_rhythms(
    transaction: Transaction, space: SpaceId, changes: Iterable[tuple[MemoryId, OutcomeState, OutcomeState]]
) -> None:
    """Write the rhythms and cycles that changed."""
    rhythms, cycles = [], []
    for memory, before, after in changes:
        if before.rhythm != after.rhythm:
            rhythms.append(
                {
                    "space": space,
                    "memory": memory,
                    "touched": after.rhythm.last_touched,
                    "resolved": after.rhythm.pressure_resolved_at,
                }
            )
        for n, (old, new) in enumerate(zip(before.cycles, after.cycles, strict=True)):
            if old.amplitude != new.amplitude:
                cycles.append({"space": space, "memory": memory, "n": n, "amplitude": new.amplitude})
    if rhythms:
        await transaction.run_many(Q["keep_rhythm"], rhythms)
    if cycles:
        await transaction.run_many(Q["keep_cycle"], cycles)


def reset_to_declared(state: OutcomeState) -> OutcomeState:
    """Reset rhythm and cycles to their state before any outcome; the belief is unchanged."""
    cycles = tuple(replace(each, amplitude=each.declared_amplitude) for each in state.cycles)
    resolved = state.rhythm.pressure_declared_at
    return replace(state, cycles=cycles, rhythm=replace(state.rhythm, pressure_resolved_at=resolved))


log = structlog.get_logger(room="outcomes")

MOST_CYCLES = 20

Declared = tuple[float | str, float, float]
"""Period in seconds or by name, amplitude, phase in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedMemory:
    memory: Memory
    strength: float


async def set_rhythm(
    deps: OutcomeDeps,
    scope: Scope,
    memory: UUID,
    *,
    cycles: Sequence[Declared] = (),
    pressure_rate: float = 0.0,
    decay_rate: float | None = None,
) -> OutcomeState:
    """Set how the strength of a memory moves with time. Raises `NotFound`, `BadInput`."""
    declared = [_validate_cycle(each) for each in cycles]
    _check_rates(declared, pressure_rate, decay_rate)
    async with deps.store.transaction() as transaction:
        held = await lock_memory(transaction, scope.space, memory)
        at = deps.clock()
        await transaction.run(
            Q["declare_rhythm"], space=scope.space, memory=memory, decay=decay_rate, pressure=pressure_rate, at=at
        )
        for n, (period, amplitude, phase) in enumerate(declared):
            edited = await transaction.maybe(
                Q["declare_cycle"],
                space=scope.space,
                memory=memory,
                n=n,
                period=period,
                amplitude=amplitude,
                phase=phase,
                at=at,
            )
            if edited is not None:
                log.info("cycle declared anew", memory=str(memory), n=n, period_s=period, amplitude=amplitude)
        await transaction.run(Q["drop_cycles"], space=scope.space, memory=memory, n=len(declared))
        states = await load_outcome_states(transaction, scope.space, {held.id: held}, terms=deps.terms(scope.space))
    return states[held.id]


def _validate_cycle(declared: Declared) -> tuple[float, float, float]:
    period, amplitude, phase = declared
    if isinstance(period, str):
        if period not in PERIODS:
            raise BadInput(f"`{period[:40]}` is no period.", hint=f"They are {', '.join(PERIODS)}, or seconds.")
        period = PERIODS[period]
    return float(period), float(amplitude), float(phase)


def _check_rates(
    declared: Sequence[tuple[float, float, float]], pressure_rate: float, decay_rate: float | None
) -> None:
    numbers = [*(number for each in declared for number in each), pressure_rate, decay_rate or 0.0]
    if not all(map(isfinite, numbers)):
        raise BadInput("A rhythm is made of plain numbers.")
    if len(declared) > MOST_CYCLES or any(period <= 0 for period, _, _ in declared):
        raise BadInput(f"A memory has at most {MOST_CYCLES} cycles, each with a period above 0 seconds.")
    if pressure_rate < 0 or (decay_rate is not None and decay_rate < 0):
        raise BadInput("Rates are 0 or more.")


def memory_strength(memory: Memory, state: OutcomeState, *, now: datetime, terms: OutcomesSettings) -> float:
    return compute_strength(
        state.rhythm,
        state.cycles,
        now=now,
        confidence=memory.confidence,
        modulation=terms.decay_confidence_modulation_strength,
    )


async def top_by_strength(deps: OutcomeDeps, scope: Scope, n: int) -> list[RankedMemory]:
    """Return the strongest memories that an agent sees, ties by id. Writes nothing."""
    async with deps.store.transaction() as transaction:
        terms = deps.terms(scope.space)
        rows = await transaction.all(
            Q["strong_candidates"],
            space=scope.space,
            agent=scope.agent,
            now=deps.clock(),
            rate=terms.decay_rate,
            modulation=terms.decay_confidence_modulation_strength,
            limit=n,
        )
        found = await load_existing_memories(transaction, scope.space, [row["id"] for row in rows])
        states = await load_outcome_states(transaction, scope.space, found, terms=terms)
    now = deps.clock()
    ranked = [
        RankedMemory(memory=memory, strength=memory_strength(memory, states[id_], now=now, terms=terms))
        for id_, memory in found.items()
    ]
    return sorted(ranked, key=lambda each: (-each.strength, each.memory.id))[:n]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPrediction:
    memory: MemoryId
    prediction: Prediction


async def record_prediction(deps: OutcomeDeps, scope: Scope, memory: UUID, predicted: Mapping[str, Any] | None) -> None:
    """Record what a memory is expected to lead to, replacing any earlier prediction. Raises `NotFound`."""
    if predicted is None:
        raise ValueError("a prediction says what is expected; it cannot be nothing")
    async with deps.store.transaction() as transaction:
        await lock_memory(transaction, scope.space, memory)
        open_one = await _lock_open_prediction(transaction, scope, memory)
        if open_one is not None:
            log.info("open prediction overwritten", memory=str(memory))
        await transaction.run(
            Q["record_prediction"],
            space=scope.space,
            memory=memory,
            predicted=json.dumps(dict(predicted)),
            at=deps.clock(),
        )


async def resolve_prediction(
    deps: OutcomeDeps, reporter: Reporter, memory: UUID, actual: Mapping[str, Any]
) -> float | None:
    """Report what came; return the prediction error. None if no prediction is open."""
    place = reporter.scope
    async with deps.store.transaction() as transaction:
        held = await lock_memory(transaction, place.space, memory)
        prediction = await _lock_open_prediction(transaction, place, memory)
        if prediction is None:
            return None
        error, terms = prediction_error(prediction.predicted, actual), deps.terms(place.space)
        await transaction.run(
            Q["resolve_prediction"],
            space=place.space,
            memory=memory,
            mode=PredictionResolution.EXPLICIT.value,
            error=error,
            actual=json.dumps(dict(actual)),
            at=deps.clock(),
        )
        if error > terms.pl_confidence_error_threshold and not held.immutable:
            belief = apply_signal(held.belief, terms.pl_confidence_low_signal, most=terms.confidence_evidence_cap)
            effect = BeliefUpdate(memory=held.id, belief=belief)
            reason = "a prediction was far off"
            await adjust_belief(deps.memory, transaction, place.space, effect, by=reporter.name, reason=reason)
        await deps.outbox.emit(
            transaction,
            "prediction_resolved",
            space=place.space,
            subject=f"memory:{memory}",
            payload={"memory": str(memory), "error": error, "mode": PredictionResolution.EXPLICIT.value},
            agent=place.agent,
            session=place.session or None,
        )
    return error


async def prediction_errors(deps: OutcomeDeps, scope: Scope, limit: int = 50) -> list[MemoryPrediction]:
    """List resolved predictions, largest error first."""
    rows = await deps.store.all(Q["prediction_errors"], space=scope.space, limit=limit)
    return [MemoryPrediction(memory=row["memory_id"], prediction=prediction_of(row)) for row in rows]


async def _lock_open_prediction(transaction: Transaction, scope: Scope, memory: UUID) -> Prediction | None:
    row = await transaction.maybe(Q["lock_prediction"], space=scope.space, memory=memory)
    return prediction_of(row) if row is not None and not row["resolved"] else None
