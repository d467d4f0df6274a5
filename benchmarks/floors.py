"""Keeps the best quality reached so far, and finds what fell below it.

`floors.toml` holds, for every quality number, the best value reached minus a small margin: once for whole
runs and once for smoke runs, which see a third of the data. `raised` only ever lifts; to lower a floor, a
person edits the file and says why in the same commit.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.result import BenchMetric, BenchResult, Goal, GoalOp
from benchmarks.suite import PRODUCT
from festinger.errors import BadInput

FILE = Path(__file__).with_name("floors.toml")

MARGIN = 0.01
"""Arithmetic differs in its last digits between processors; that must not miss a floor."""

SHARE = "share"
"""The unit that floors are kept for. Times have goals, not floors: they depend on the machine."""

WHOLE, SMOKE = "whole", "smoke"

HEADER = """\
# The best that was reached, less 0.01: see `floors.py`. `make bench-floors` lifts these after a better run.
# To lower one, edit it and say why in the same commit.
"""

Floors = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallen:
    """A number below its floor."""

    metric: BenchMetric
    floor: float
    value: float | None
    """`None` if it was not measured, though its suite ran."""

    def __str__(self) -> str:
        told = "it was not measured" if self.value is None else f"it is {self.value:.4f}"
        return f"{self.metric.name}: the floor is {self.floor:.4f}, {told}"


def read_floors(path: Path = FILE) -> Floors:
    try:
        return tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BadInput(f"`{path}` cannot be read: {error}.", hint="Get it again from the source tree.") from error


def fallen(metrics: Iterable[BenchMetric], results: Iterable[BenchResult], floors: Mapping[str, float]) -> list[Fallen]:
    """What fell below its floor, among the metrics of the suites that ran."""
    values = {result.metric.name: result.value for result in results if result.system == PRODUCT}
    return [
        Fallen(metric=metric, floor=floor, value=values.get(metric.name))
        for metric in metrics
        if (floor := floors.get(metric.name)) is not None and not _holds(metric, floor, values.get(metric.name))
    ]


def _holds(metric: BenchMetric, floor: float, value: float | None) -> bool:
    return value is not None and Goal(op=metric.direction or GoalOp.AT_LEAST, value=floor).holds(value)


def raised(floors: Mapping[str, float], results: Iterable[BenchResult]) -> dict[str, float]:
    """The floors after these results: each unchanged or higher."""
    lifted = dict(floors)
    for result in results:
        metric = result.metric
        if result.system != PRODUCT or metric.unit != SHARE or metric.direction is None:
            continue
        upward = metric.direction is GoalOp.AT_LEAST
        reached = max(result.value - MARGIN, 0.0) if upward else min(result.value + MARGIN, 1.0)
        better = max if upward else min
        lifted[metric.name] = better(round(reached, 4), lifted.get(metric.name, round(reached, 4)))
    return lifted


def written(floors: Floors) -> str:
    """The file's text, with its tables and names sorted."""
    tables = [_table(name, floors.get(name, {})) for name in (SMOKE, WHOLE)]
    return "\n".join([HEADER, *tables])


def _table(name: str, floors: Mapping[str, float]) -> str:
    lines: Sequence[str] = [f'"{metric}" = {floors[metric]}' for metric in sorted(floors)]
    return "\n".join([f"[{name}]", *lines, ""])
