"""What is measured, of whom, and was it good enough?

Values and arithmetic only: a `Metric` with its `Goal`, the `Sample` that one run gives, and the `Result` that
several runs give together. Nothing here measures or prints.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import ceil
from statistics import median


class Op(StrEnum):
    AT_MOST = "<="
    AT_LEAST = ">="


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """Both bounds are inclusive."""

    op: Op
    value: float

    def holds(self, value: float) -> bool:
        return value <= self.value if self.op is Op.AT_MOST else value >= self.value

    def __str__(self) -> str:
        return f"{self.op} {self.value:g}"


def at_most(value: float) -> Goal:
    return Goal(op=Op.AT_MOST, value=value)


def at_least(value: float) -> Goal:
    return Goal(op=Op.AT_LEAST, value=value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A number with a name. Its goal is the product's; the others are only compared."""

    name: str
    unit: str
    about: str
    goal: Goal | None = None


class Kind(StrEnum):
    PRODUCT = "product"
    BASELINE = "baseline"
    PEER = "peer"


class Status(StrEnum):
    RAN = "ran"
    FAILED = "failed"
    NOT_RUN = "not_run"


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """Somebody who is measured, and how far that got."""

    name: str
    kind: Kind
    version: str = ""
    params: Mapping[str, object] = field(default_factory=dict)
    status: Status = Status.RAN
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What one run says of one system; `n` is how many observations stand behind it."""

    metric: str
    system: str
    value: float
    n: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The median of several runs, with the least and the greatest of them."""

    metric: Metric
    system: str
    value: float
    spread: tuple[float, float]
    n: int
    goal: Goal | None = None

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; nothing where there is none."""
        return None if self.goal is None else self.goal.holds(self.value)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all values do not exceed (nearest rank)."""
    if not values:
        raise ValueError("a percentile of nothing")
    return sorted(values)[max(ceil(share * len(values)), 1) - 1]


def together(metrics: Sequence[Metric], systems: Sequence[System], samples: Sequence[Sample]) -> list[Result]:
    """The results of all runs, in the order of the metrics and systems; who gave no sample has no result."""
    found: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        found.setdefault((sample.metric, sample.system), []).append(sample)
    return [
        _result(metric, system, found[metric.name, system.name])
        for metric in metrics
        for system in systems
        if (metric.name, system.name) in found
    ]


def _result(metric: Metric, system: System, samples: Sequence[Sample]) -> Result:
    values = [sample.value for sample in samples]
    return Result(
        metric=metric,
        system=system.name,
        value=median(values),
        spread=(min(values), max(values)),
        n=sum(sample.n for sample in samples),
        goal=metric.goal if system.kind is Kind.PRODUCT else None,
    )
