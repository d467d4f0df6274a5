"""Defines a suite and the options that it gets.

A suite names its metrics and measures them once when asked; `run` decides how often and combines the results.

A new suite is one file with one value of `Suite`, and its name in one line of `catalogue`:

    METRICS = (BenchMetric(name="some.recall", unit="share", about="what it says", goal=at_least(0.9)),)

    async def measure(bench: Bench) -> SuiteResult:
        rows = bench.data.rows("some_set", "pairs", needs=("id", "a", "b", "label"))
        chosen = bench.data.sampled(rows, by=lambda row: row["id"])
        ours = [counted(row["id"], is_right(row), told={"a": row["a"], "b": row["b"]}) for row in chosen]
        return SuiteResult(tallies=[MetricTally(metric="some.recall", system=PRODUCT, items=ours)])

    SOME = Suite(name="some", about="…", metrics=METRICS, measure=measure, needs=("some_set",), timed=False)

What is counted from items goes into `tallies` and gets its interval; timings go into `samples`. A baseline is
one more `System` among `SuiteResult.systems` with tallies of its own over the same items. A suite that is not
`timed` belongs to the smoke run: there it must be quick, and `bench.smoke` says to leave out timings.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.curve import Curve
from benchmarks.data import Data
from benchmarks.result import BenchMetric, Sample, System
from benchmarks.tally import MetricTally
from festinger.clock import Clock, Stopwatch, system_clock, system_stopwatch

PRODUCT = "festinger"
"""The name of the product among the systems."""


def silence(_line: str) -> None:
    """Print nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What a person asked for, and what a suite may use."""

    folder: Path
    """A throwaway folder; removed at the end."""
    seed: int = 0
    repeat: int = 3
    quick: bool = False
    """A few requests instead of thousands: shows that everything runs, measures nothing."""
    long: bool = False
    """Sizes up to a million, where a suite has them."""
    smoke: bool = False
    """A fixed third of the data and nothing that depends on the speed of the machine."""
    data: Data = field(default_factory=Data)
    baselines: frozenset[str] | None = None
    """The plain baselines to run; `None` is all of them."""
    bootstrap: int = 0
    """Draws for an interval."""
    peers: frozenset[str] = frozenset()
    peers_home: Path = Path()
    """Where peer environments are cached between runs."""
    peer_pythons: Mapping[str, Path] = field(default_factory=dict)
    """Existing environments, by the peer's name."""
    peer_patience_s: float = 600.0
    """The longest that a peer may take to come up."""
    say: Callable[[str], None] = silence
    clock: Clock = system_clock
    stopwatch: Stopwatch = system_stopwatch

    def wants(self, baseline: str) -> bool:
        return self.baselines is None or baseline in self.baselines

    @property
    def partial(self) -> bool:
        """Whether less than everything was asked for."""
        return self.quick or self.smoke or self.data.limit is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteResult:
    """The result of one run of a suite, or of a part of it."""

    samples: Sequence[Sample] = ()
    systems: Sequence[System] = ()
    tallies: Sequence[MetricTally] = ()
    curves: Sequence[Curve] = ()


Measure = Callable[[Bench], Awaitable[SuiteResult]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    name: str
    about: str
    metrics: Sequence[BenchMetric]
    measure: Measure
    """Measures everything once, in `bench.folder`."""
    needs: Sequence[str] = ()
    """Data folders that must exist."""
    timed: bool = True
    """Measured as often as requested, because timings vary; otherwise once, and in the smoke run."""
