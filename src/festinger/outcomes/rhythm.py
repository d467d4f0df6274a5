"""How strong is a memory at a moment?

Three parts: what fades since it was last acted on, what comes round (cycles), and what presses more the longer it is
left alone. A pure function of what is stored and of the clock: nothing is ever written because time passed. Who
sets a rhythm, and which outcome moves it, is left to others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

DAY = 86_400.0
PERIODS = {
    "day": 86_400.0,
    "week": 604_800.0,
    "month": 2_592_000.0,
    "quarter": 7_776_000.0,
    "year": 31_536_000.0,
}

SHORTEST_DAYS = 0.01
"""What was touched just now counts as touched so long ago: a power of nothing has no end."""
HIGHEST_AMPLITUDE = 100.0
FAINTEST_AMPLITUDE = 0.01
"""Below it a cycle is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """How the strength of one memory moves with time. `last_touched` is its making until it was acted on."""

    last_touched: datetime
    decay_rate: float = 0.1
    base_score: float = 1.0
    pressure_rate: float = 0.0
    pressure_declared_at: datetime | None = None
    pressure_resolved_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """Something that comes round, in seconds; strongest at its phase."""

    period_s: float
    amplitude: float
    phase_s: float = 0.0
    declared_amplitude: float = 0.0
    declared_at: datetime | None = None


def decay(rhythm: Rhythm, *, now: datetime, confidence: float = 0.5, modulation: float = 0.5) -> float:
    """What is left since it was last touched; a memory that is surely true fades slower."""
    days = max(_days(rhythm.last_touched, now), SHORTEST_DAYS)
    rate = rhythm.decay_rate
    fading: float = rhythm.base_score * days**-rate
    slowed = rate * 2.0 ** (2.0 * modulation * (0.5 - confidence))
    return float(fading * max(days, 1.0) ** -(slowed - rate))


def swing(cycles: Sequence[Cycle], now: datetime) -> float:
    """What its cycles add at a moment."""
    seconds = now.timestamp()
    return sum(
        cycle.amplitude * math.cos(2.0 * math.pi * (seconds - cycle.phase_s) / cycle.period_s)
        for cycle in cycles
    )


def pressure(rhythm: Rhythm, now: datetime) -> float:
    """How much it presses by now."""
    if rhythm.pressure_resolved_at is None:
        return 0.0
    return rhythm.pressure_rate * max(_days(rhythm.pressure_resolved_at, now), 0.0)


def strength(
    rhythm: Rhythm,
    cycles: Sequence[Cycle] = (),
    *,
    now: datetime,
    confidence: float = 0.5,
    modulation: float = 0.5,
) -> float:
    """Everything together. A stored time that lies ahead counts as now."""
    fading = decay(rhythm, now=now, confidence=confidence, modulation=modulation)
    return fading + swing(cycles, now) + pressure(rhythm, now)


def scaled(cycles: Sequence[Cycle], factor: float) -> tuple[Cycle, ...]:
    """The cycles after an outcome, each within its bounds; what became too faint is over."""
    return tuple(replace(cycle, amplitude=_bounded(cycle.amplitude * factor)) for cycle in cycles)


def _bounded(amplitude: float) -> float:
    held = min(max(amplitude, 0.0), HIGHEST_AMPLITUDE)
    return 0.0 if held < FAINTEST_AMPLITUDE else held


def _days(since: datetime, now: datetime) -> float:
    return (now - since) / timedelta(seconds=DAY)
