"""The suite `learn`: what learning costs, and how that grows with the memory.

Single statements, repeated ones and batches, each compared with everything remembered, at a thousand, ten
thousand and a hundred thousand memories. The vectors come from a toy of 384 dimensions that costs next to
nothing, so this measures learning without embedding. `remembering` measures, in a process of its own.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from math import log
from statistics import mean, median

from benchmarks.curve import Curve
from benchmarks.own_server import run_apart, throw_away_home
from benchmarks.remembering import LearnMeasurement
from benchmarks.result import BenchMetric, Sample, at_least, at_most, percentile
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult
from festinger.memory.model import LearnAction

METRICS: Sequence[BenchMetric] = (
    BenchMetric(name="learn.single.p50", unit="ms", about="one new statement, median", goal=at_most(15)),
    BenchMetric(name="learn.single.p95", unit="ms", about="one new statement, p95", goal=at_most(40)),
    BenchMetric(name="learn.confirm.p50", unit="ms", about="the same words again, median", goal=at_most(5)),
    BenchMetric(name="learn.batch", unit="facts/s", about="batches with dedup", goal=at_least(200)),
    BenchMetric(
        name="learn.growth", unit="times", about="median at the largest size against the smallest", goal=at_most(3)
    ),
    BenchMetric(
        name="learn.slope", unit="exponent", about="of the median against the number of memories", goal=at_most(0.2)
    ),
    BenchMetric(name="learn.pairs.most", unit="pairs", about="judged for one statement, most", goal=at_most(50)),
    BenchMetric(
        name="learn.pairs.slope",
        unit="exponent",
        about="of judged pairs against the number of memories",
        goal=at_most(0.02),
    ),
    BenchMetric(
        name="learn.nearest.recall1",
        unit="share",
        about="how often the index finds the nearest memory of all, at the largest size",
        goal=at_least(0.99),
    ),
    BenchMetric(
        name="learn.mixed.failed",
        unit="statements",
        about="of ten thousand that three processes learn at once",
        goal=at_most(0),
    ),
)

PROCESSES = 3
MIXED, MIXED_QUICK = 10_000, 30
"""Statements that the processes learn together."""


async def measure(bench: Bench) -> SuiteResult:
    bench.say("Learning statements, up to a hundred thousand.")
    file = bench.folder / "learnt.json"
    amount = "quick" if bench.quick else "full"
    each = (MIXED_QUICK if bench.quick else MIXED) // PROCESSES
    files = [bench.folder / f"mixed-{number}.json" for number in range(PROCESSES)]
    async with throw_away_home(bench.folder, stopwatch=bench.stopwatch) as home:
        await run_apart("remembering", str(file), amount, str(bench.seed), home=home)
        await asyncio.gather(
            *(
                run_apart("mixing", str(told), str(each), str(bench.seed + number), home=home)
                for number, told in enumerate(files)
            )
        )
    stands = [LearnMeasurement(**each) for each in json.loads(file.read_bytes())]
    mixed = [json.loads(told.read_bytes()) for told in files]
    return SuiteResult(samples=[*samples(stands), failures(mixed)], curves=[growth(stands)])


def failures(mixed: Sequence[Mapping[str, int]]) -> Sample:
    """How many statements of several processes were lost to our own errors."""
    total = sum(count for told in mixed for count in told.values())
    failed = sum(count for told in mixed for name, count in told.items() if name not in set(LearnAction))
    return Sample(metric="learn.mixed.failed", system=PRODUCT, value=float(failed), n=total)


def samples(stands: Sequence[LearnMeasurement]) -> list[Sample]:
    """The numbers of one run: those of the largest size, and how they grew."""
    first, last = stands[0], stands[-1]
    medians = [(each.memories, median(each.single)) for each in stands]
    # One more than was judged, because zero is a good number but has no logarithm.
    judged = [(each.memories, 1 + mean(each.pairs)) for each in stands]
    found: dict[str, tuple[float, int]] = {
        "learn.single.p50": (1000 * median(last.single), len(last.single)),
        "learn.single.p95": (1000 * percentile(last.single, 0.95), len(last.single)),
        "learn.confirm.p50": (1000 * median(last.confirm), len(last.confirm)),
        "learn.batch": (last.batch_items / max(last.batch_seconds, 1e-9), last.batch_items),
        "learn.growth": (median(last.single) / median(first.single), len(stands)),
        "learn.slope": (slope(medians), len(stands)),
        "learn.pairs.most": (max(max(each.pairs) for each in stands), len(last.pairs)),
        "learn.pairs.slope": (slope(judged), len(stands)),
        "learn.nearest.recall1": (mean(last.nearest), len(last.nearest)),
    }
    return [Sample(metric=name, system=PRODUCT, value=value, n=n) for name, (value, n) in found.items()]


def slope(points: Sequence[tuple[float, float]]) -> float:
    """The exponent by which the second number grows with the first: the slope of their logarithms."""
    xs, ys = [log(x) for x, _ in points], [log(y) for _, y in points]
    middle_x, middle_y = mean(xs), mean(ys)
    spread = sum((x - middle_x) ** 2 for x in xs)
    return sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True)) / spread


def growth(stands: Sequence[LearnMeasurement]) -> Curve:
    return Curve(
        name="learn.growth",
        title="How long learning one statement takes, by how much is remembered",
        x="memories",
        y="milliseconds",
        points={
            "new": [(each.memories, 1000 * median(each.single)) for each in stands],
            "said again": [(each.memories, 1000 * median(each.confirm)) for each in stands],
        },
        counted=False,
    )


LEARN = Suite(
    name="learn",
    about="Learning at a thousand, ten thousand and a hundred thousand memories.",
    metrics=METRICS,
    measure=measure,
)
