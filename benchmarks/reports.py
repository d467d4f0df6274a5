"""The suite `report`: how fast outcomes are reported in a large memory.

At a hundred thousand memories: reports on twenty and on a hundred, and several callers at once. `reporting`
measures, in a process of its own.
"""

import json
from collections.abc import Sequence
from statistics import median

from benchmarks.own_server import run_apart, throw_away_home
from benchmarks.reporting import OutcomeMeasurement
from benchmarks.result import BenchMetric, Sample, at_least, at_most
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult

METRICS: Sequence[BenchMetric] = (
    BenchMetric(
        name="outcomes.report.20.p50", unit="ms", about="a report on twenty memories, median", goal=at_most(15)
    ),
    BenchMetric(name="outcomes.report.100.p50", unit="ms", about="a report on a hundred, median", goal=at_most(60)),
    BenchMetric(name="outcomes.report.rate", unit="outcomes/s", about="four callers, batches", goal=at_least(500)),
    BenchMetric(
        name="outcomes.report.in_place",
        unit="share",
        about="changes of memories that touch no index",
        goal=at_least(0.9),
    ),
)


async def measure(bench: Bench) -> SuiteResult:
    bench.say("Reporting outcomes at a hundred thousand memories.")
    file, amount = bench.folder / "reported.json", "quick" if bench.quick else "full"
    async with throw_away_home(bench.folder, stopwatch=bench.stopwatch) as home:
        await run_apart("reporting", str(file), amount, str(bench.seed), home=home)
    return SuiteResult(samples=samples(OutcomeMeasurement(**json.loads(file.read_bytes()))))


def samples(stand: OutcomeMeasurement) -> list[Sample]:
    """The numbers of one run."""
    found: dict[str, tuple[float, int]] = {
        "outcomes.report.20.p50": (1000 * median(stand.twenty), len(stand.twenty)),
        "outcomes.report.100.p50": (1000 * median(stand.hundred), len(stand.hundred)),
        "outcomes.report.rate": (stand.crowd_outcomes / max(stand.crowd_seconds, 1e-9), stand.crowd_outcomes),
        "outcomes.report.in_place": (stand.in_place / max(stand.updates, 1), stand.updates),
    }
    return [Sample(metric=name, system=PRODUCT, value=value, n=n) for name, (value, n) in found.items()]


REPORT = Suite(
    name="report", about="Taking in outcomes at a hundred thousand memories.", metrics=METRICS, measure=measure
)
