"""How do the states of memories come out of the tables, and back in?

A memory without a row has the rhythm of the settings, counted from its making. Only what an outcome changed is
written. Confidence, weight and access belong to `memory` and go through its one deed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from festinger.ids import MemoryId, SpaceId
from festinger.memory.memory import Memory
from festinger.outcomes.effects import State
from festinger.outcomes.prediction import Mode, Prediction
from festinger.outcomes.rhythm import Cycle, Rhythm
from festinger.settings.outcomes import OutcomesSettings
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.outcomes")


async def load_states(
    transaction: Transaction, space: SpaceId, memories: Mapping[MemoryId, Memory], *, terms: OutcomesSettings
) -> dict[MemoryId, State]:
    """What outcomes move of each memory, as it is now."""
    wanted = list(memories)
    rows = await transaction.all(Q["rhythms_of"], space=space, memories=wanted)
    rhythms = {row["memory_id"]: row for row in rows}
    cycles: dict[MemoryId, list[Cycle]] = {}
    for row in await transaction.all(Q["cycles_of"], space=space, memories=wanted):
        cycles.setdefault(row["memory_id"], []).append(cycle_of(row))
    return {
        id_: State(
            belief=memory.belief,
            rhythm=rhythm_of(rhythms.get(id_), memory, terms),
            cycles=tuple(cycles.get(id_, ())),
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


def cycle_of(row: Mapping[str, Any]) -> Cycle:
    return Cycle(
        period_s=row["period_s"],
        amplitude=row["amplitude"],
        phase_s=row["phase_s"],
        declared_amplitude=row["declared_amplitude"],
        declared_at=row["declared_at"],
    )


def prediction_of(row: Mapping[str, Any]) -> Prediction:
    return Prediction(
        predicted=row["predicted"],
        actual=row["actual"],
        recorded_at=row["recorded_at"],
        resolved=row["resolved"],
        resolution_mode=Mode(row["resolution_mode"]) if row["resolution_mode"] else None,
        prediction_error=row["prediction_error"],
        resolved_at=row["resolved_at"],
    )


async def keep_states(
    transaction: Transaction, space: SpaceId, changes: Iterable[tuple[MemoryId, State, State]]
) -> None:
    """Write the rhythms and cycles that differ before and after."""
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


def at_birth(state: State) -> State:
    """The rhythm and cycles of a state as they were before any outcome moved them; the belief is left."""
    cycles = tuple(replace(each, amplitude=each.declared_amplitude) for each in state.cycles)
    resolved = state.rhythm.pressure_declared_at
    return replace(state, cycles=cycles, rhythm=replace(state.rhythm, pressure_resolved_at=resolved))
