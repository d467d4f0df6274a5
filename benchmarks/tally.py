"""Computes quality numbers from items, with their uncertainty.

Nearly every such number is a share: each item adds to what was reached and to what could be reached. A right
answer adds one to both; a wrong one adds one to what could be. Precision, recall and F1 are shares too, by
what an item adds. Only `auroc` is not: there, an item brings a score and whether it is marked.

Uncertainty comes from resampling the items, whole groups at a time where items share a text. The draws depend
on the seed and the groups alone, so two systems with the same items are compared draw by draw.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.float64]
Statistic = Callable[[Numbers, Numbers, Numbers], float]
"""The value of items, from their parts, their wholes, and how often each counts."""

OUTSIDE = (2.5, 97.5)
"""Percentiles between which 95 of 100 draws lie."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TallyItem:
    """One question, pair, sentence or text, and its result."""

    id: str
    part: float
    whole: float = 1.0
    right: bool | None = None
    """`None` where an item cannot be right or wrong by itself."""
    group: str = ""
    """Items of one group share a text; empty for one that shares none."""
    told: Mapping[str, str] = field(default_factory=dict)
    """What a person wants to read about it: texts, who judged, why."""


def counted(id: str, right: bool, *, group: str = "", told: Mapping[str, str] | None = None) -> TallyItem:  # noqa: A002
    """An item that is right or wrong."""
    return TallyItem(id=id, part=float(right), right=right, group=group, told=told or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class TallyFinding:
    """Something that was to be found or not, and was found or not, rightly or wrongly."""

    id: str
    wanted: bool
    found: bool
    right: bool
    """Found, and as expected."""
    group: str = ""
    told: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.right and not (self.wanted and self.found):
            raise ValueError(f"`{self.id}` cannot be right: it was not wanted, or not found")


def detection(name: str, system: str, findings: Sequence[TallyFinding]) -> list["MetricTally"]:
    """`NAME.f1`, `NAME.precision` and `NAME.recall`."""

    def tally(kind: str, item: Callable[[TallyFinding], tuple[float, float]]) -> MetricTally:
        items = [
            TallyItem(
                id=one.id,
                part=item(one)[0],
                whole=item(one)[1],
                right=one.right if one.wanted else not one.found,
                group=one.group,
                told=one.told,
            )
            for one in findings
        ]
        return MetricTally(metric=f"{name}.{kind}", system=system, items=items)

    return [
        tally("f1", lambda one: (2.0 * one.right, 1.0 * one.found + one.wanted)),
        tally("precision", lambda one: (one.right, one.found)),
        tally("recall", lambda one: (one.right, one.wanted)),
    ]


def ratio(parts: Numbers, wholes: Numbers, weights: Numbers) -> float:
    """What was reached of what could be; zero of nothing."""
    reachable = float(weights @ wholes)
    return float(weights @ parts) / reachable if reachable else 0.0


def auroc(scores: Numbers, marked: Numbers, weights: Numbers) -> float:
    """How often a marked one scores above an unmarked one; ties, and nobody to compare, count half."""
    _, rank = np.unique(scores, return_inverse=True)
    ours, others = (np.bincount(rank, weights=weights * kind) for kind in (marked, 1 - marked))
    below = np.cumsum(others) - others
    pairs = float(ours.sum() * others.sum())
    return float(ours @ (below + others / 2)) / pairs if pairs else 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricTally:
    """The items of one metric of one system."""

    metric: str
    system: str
    items: Sequence[TallyItem]
    statistic: Statistic = ratio

    @property
    def value(self) -> float:
        parts, wholes = self._columns()
        return self.statistic(parts, wholes, np.ones(len(self.items)))

    @property
    def n(self) -> int:
        """How many items could have been right."""
        return sum(1 for item in self.items if item.whole) if self.statistic is ratio else len(self.items)

    def draws(self, times: int, *, seed: int) -> Numbers:
        """The values of this many resamples."""
        if not self.items:
            return np.empty(0)
        members, chance = _groups(self.items), np.random.default_rng(seed)
        parts, wholes = self._columns()
        size = int(members.max()) + 1
        drawn = (np.bincount(chance.integers(size, size=size), minlength=size) for _ in range(times))
        return np.array([self.statistic(parts, wholes, times_each[members].astype(np.float64)) for times_each in drawn])

    def _columns(self) -> tuple[Numbers, Numbers]:
        parts = np.array([item.part for item in self.items], dtype=np.float64)
        return parts, np.array([item.whole for item in self.items], dtype=np.float64)


Interval = tuple[float, float]


def interval(draws: Numbers) -> Interval | None:
    """The interval that holds 95 of 100 draws; `None` without draws."""
    if not len(draws):
        return None
    low, high = np.percentile(draws, OUTSIDE)
    return float(low), float(high)


def difference(ours: MetricTally, other: MetricTally, *, times: int, seed: int) -> Interval | None:
    """The interval of our lead over another on the same items; `None` if the items differ."""
    if [(item.id, item.group) for item in ours.items] != [(item.id, item.group) for item in other.items]:
        return None
    return interval(ours.draws(times, seed=seed) - other.draws(times, seed=seed))


def _groups(items: Sequence[TallyItem]) -> NDArray[np.int64]:
    """The number of each item's group."""
    numbers: dict[str, int] = {}
    names = [f"of {item.group}" if item.group else f"item {place}" for place, item in enumerate(items)]
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)
