"""Values and arithmetic of results: metrics, goals, samples and their medians.

A `BenchMetric` with its `Goal`, the `Sample` of one run, and the `BenchResult` of several runs, or of a
`MetricTally` of items. Nothing here measures or prints.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import ceil
from statistics import median

from benchmarks.tally import Interval, MetricTally, difference, interval


class GoalOp(StrEnum):
    AT_MOST = "<="
    AT_LEAST = ">="


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """Both bounds are inclusive."""

    op: GoalOp
    value: float

    def holds(self, value: float) -> bool:
        return value <= self.value if self.op is GoalOp.AT_MOST else value >= self.value

    def __str__(self) -> str:
        return f"{self.op} {self.value:g}"


def at_most(value: float) -> Goal:
    return Goal(op=GoalOp.AT_MOST, value=value)


def at_least(value: float) -> Goal:
    return Goal(op=GoalOp.AT_LEAST, value=value)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchMetric:
    """A number with a name. Its goal is the product's; other systems are only compared."""

    name: str
    unit: str
    about: str
    goal: Goal | None = None
    better: GoalOp | None = None
    """Which way is better, where no goal says it."""
    beside: str = ""
    """The metric that this one trades off against: they are read together."""

    @property
    def direction(self) -> GoalOp | None:
        return self.goal.op if self.goal is not None else self.better


class SystemKind(StrEnum):
    PRODUCT = "product"
    BASELINE = "baseline"
    PEER = "peer"


class SystemStatus(StrEnum):
    RAN = "ran"
    FAILED = "failed"
    NOT_RUN = "not_run"


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A measured system, and how far it got."""

    name: str
    kind: SystemKind
    version: str = ""
    params: Mapping[str, object] = field(default_factory=dict)
    status: SystemStatus = SystemStatus.RAN
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What one run says of one system; `n` is the number of observations."""

    metric: str
    system: str
    value: float
    n: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """How far the product is above the best of the others on the same items."""

    system: str
    difference: float
    ci: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """The median of several runs with minimum and maximum, or the value of items with its interval."""

    metric: BenchMetric
    system: str
    value: float
    spread: tuple[float, float]
    n: int
    goal: Goal | None = None
    counted: bool = False
    """Whether it was counted from items, and so is the same in every run."""
    ci: Interval | None = None
    against: Against | None = None

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; `None` without a goal."""
        return None if self.goal is None else self.goal.holds(self.value)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all values do not exceed (nearest rank)."""
    if not values:
        raise ValueError("a percentile of nothing")
    return sorted(values)[max(ceil(share * len(values)), 1) - 1]


def together(metrics: Sequence[BenchMetric], systems: Sequence[System], samples: Sequence[Sample]) -> list[BenchResult]:
    """The results of all runs, in the order of metrics and systems; without a sample there is no result."""
    found: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        found.setdefault((sample.metric, sample.system), []).append(sample)
    return [
        _result(metric, system, found[metric.name, system.name])
        for metric in metrics
        for system in systems
        if (metric.name, system.name) in found
    ]


def _result(metric: BenchMetric, system: System, samples: Sequence[Sample]) -> BenchResult:
    values = [sample.value for sample in samples]
    return BenchResult(
        metric=metric,
        system=system.name,
        value=median(values),
        spread=(min(values), max(values)),
        n=sum(sample.n for sample in samples),
        goal=_goal_of(metric, system),
    )


def _goal_of(metric: BenchMetric, system: System) -> Goal | None:
    return metric.goal if system.kind is SystemKind.PRODUCT else None


def counted(
    metrics: Sequence[BenchMetric],
    systems: Sequence[System],
    tallies: Sequence[MetricTally],
    *,
    bootstrap: int = 0,
    seed: int = 0,
) -> list[BenchResult]:
    """The results of what was counted from items; intervals come from this many draws."""
    found: list[BenchResult] = []
    for metric in metrics:
        there = {tally.system: tally for tally in tallies if tally.metric == metric.name and tally.items}
        for system in systems:
            if (tally := there.get(system.name)) is None:
                continue
            others = [there[other.name] for other in systems if other is not system and other.name in there]
            product = system.kind is SystemKind.PRODUCT
            found.append(
                BenchResult(
                    metric=metric,
                    system=system.name,
                    value=tally.value,
                    spread=(tally.value, tally.value),
                    n=max(tally.n, 1),
                    goal=_goal_of(metric, system),
                    counted=True,
                    ci=interval(tally.draws(bootstrap, seed=seed)),
                    against=_against(metric, tally, others, bootstrap=bootstrap, seed=seed) if product else None,
                )
            )
    return found


def _against(
    metric: BenchMetric, ours: MetricTally, others: Sequence[MetricTally], *, bootstrap: int, seed: int
) -> Against | None:
    """Against the best of the others; `None` if there is none, or if the items differ."""
    if not others or metric.direction is None:
        return None
    best = (max if metric.direction is GoalOp.AT_LEAST else min)(others, key=lambda tally: tally.value)
    found = difference(ours, best, times=bootstrap, seed=seed)
    if found is None:
        return None
    return Against(system=best.system, difference=ours.value - best.value, ci=found)
