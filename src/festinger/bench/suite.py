"""What is a suite, and what is it told?

A suite names its metrics and measures them once when asked; how often it is asked, and what is made of the
answers, is `run`'s matter. A later suite is one more value of `Suite` in the catalogue.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from festinger.bench.result import Metric, Sample, System
from festinger.clock import Clock, Stopwatch, system_clock, system_stopwatch

PRODUCT = "festinger"
"""The name under which we ourselves stand among the systems."""


def silence(_line: str) -> None:
    """For whoever wants to hear nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What a person asked for, and what a suite may use."""

    folder: Path
    """A throw-away folder; removed at the end."""
    seed: int = 0
    repeat: int = 3
    quick: bool = False
    """A few requests instead of thousands: shows that everything runs, measures nothing."""
    peers: frozenset[str] = frozenset()
    peers_home: Path = Path()
    """Where environments of peers are kept from one run to the next."""
    peer_pythons: Mapping[str, Path] = field(default_factory=dict)
    """Environments that stand already, by the peer's name."""
    say: Callable[[str], None] = silence
    clock: Clock = system_clock
    stopwatch: Stopwatch = system_stopwatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one run of a suite, or of a part of it, gave."""

    samples: Sequence[Sample] = ()
    systems: Sequence[System] = ()


Measure = Callable[[Bench], Awaitable[Measured]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    name: str
    about: str
    metrics: Sequence[Metric]
    measure: Measure
    """Measures everything once, in `bench.folder`."""
