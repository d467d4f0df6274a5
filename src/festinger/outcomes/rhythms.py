"""How is a memory given a rhythm, and which are strongest now?

A declaration that did not change keeps what outcomes have taught since; one that was edited wins, and is logged.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from uuid import UUID

import structlog

from festinger.errors import BadInput
from festinger.ids import MemoryId, SpaceId
from festinger.memory.memory import Memory, Place
from festinger.memory.states import find_all, lock_one
from festinger.outcomes.desk import Desk
from festinger.outcomes.effects import State
from festinger.outcomes.rhythm import PERIODS, strength
from festinger.outcomes.stored import load_states
from festinger.settings.outcomes import OutcomesSettings
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.outcomes")

log = structlog.get_logger(room="outcomes")

MOST_CYCLES = 20

Declared = tuple[float | str, float, float]
"""Period in seconds or by name, amplitude, phase in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strong:
    memory: Memory
    strength: float


async def set_rhythm(
    desk: Desk,
    place: Place,
    memory: UUID,
    *,
    cycles: Sequence[Declared] = (),
    pressure_rate: float = 0.0,
    decay_rate: float | None = None,
) -> State:
    """Say how the strength of a memory moves with time. Raises `NotFound`, `BadInput`."""
    declared = [_checked(each) for each in cycles]
    _check_rates(declared, pressure_rate, decay_rate)
    async with desk.store.transaction() as transaction:
        held = await lock_one(transaction, place.space, memory)
        at = desk.clock()
        await transaction.run(
            Q["declare_rhythm"],
            space=place.space,
            memory=memory,
            decay=decay_rate,
            pressure=pressure_rate,
            at=at,
        )
        for n, (period, amplitude, phase) in enumerate(declared):
            edited = await transaction.maybe(
                Q["declare_cycle"],
                space=place.space,
                memory=memory,
                n=n,
                period=period,
                amplitude=amplitude,
                phase=phase,
                at=at,
            )
            if edited is not None:
                log.info("cycle declared anew", memory=str(memory), n=n, period_s=period, amplitude=amplitude)
        await transaction.run(Q["drop_cycles"], space=place.space, memory=memory, n=len(declared))
        states = await load_states(transaction, place.space, {held.id: held}, terms=desk.terms(place.space))
    return states[held.id]


def _checked(declared: Declared) -> tuple[float, float, float]:
    period, amplitude, phase = declared
    if isinstance(period, str):
        if period not in PERIODS:
            raise BadInput(
                f"`{period[:40]}` is no period.", hint=f"They are {', '.join(PERIODS)}, or seconds."
            )
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


def strength_of(memory: Memory, state: State, *, now: datetime, terms: OutcomesSettings) -> float:
    """How strong a memory is at a moment."""
    return strength(
        state.rhythm,
        state.cycles,
        now=now,
        confidence=memory.confidence,
        modulation=terms.decay_confidence_modulation_strength,
    )


async def top_by_strength(desk: Desk, place: Place, n: int) -> list[Strong]:
    """The strongest memories that an agent sees, ties by id. Nothing is written because somebody asked."""
    async with desk.store.transaction() as transaction:
        terms = desk.terms(place.space)
        rows = await transaction.all(
            Q["strong_candidates"],
            space=place.space,
            agent=place.agent,
            now=desk.clock(),
            rate=terms.decay_rate,
            modulation=terms.decay_confidence_modulation_strength,
            limit=n,
        )
        found = await find_all(transaction, place.space, [row["id"] for row in rows])
        return sorted(
            await _measured(desk, transaction, place.space, found),
            key=lambda each: (-each.strength, each.memory.id),
        )[:n]


async def _measured(
    desk: Desk, transaction: Transaction, space: SpaceId, found: dict[MemoryId, Memory]
) -> list[Strong]:
    terms, now = desk.terms(space), desk.clock()
    states = await load_states(transaction, space, found, terms=terms)
    return [
        Strong(memory=memory, strength=strength_of(memory, states[id_], now=now, terms=terms))
        for id_, memory in found.items()
    ]
