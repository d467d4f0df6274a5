"""The suites `speed` and `growth`: what a recall costs in a large memory, and how that grows.

Up to a hundred thousand memories with generated texts, or a million in a long run; warm recalls, the first
ones after a start, long cues, eight callers at once, a small space next to the large one. `recalling`
measures, in a process of its own. Other stores (`stores`) hold the same texts and vectors and are asked for
the nearest ten. The vectors come from a toy whose vectors are distributed as those of texts, and are made
beforehand for all systems; the time of our embedder is added to our numbers once, as `speed.recall.embedded`.
"""

import json
from collections.abc import Sequence
from itertools import islice
from math import log, sqrt
from statistics import mean, median

import numpy as np

from benchmarks.curve import Curve
from benchmarks.large_memory import cues, statements
from benchmarks.learning import slope
from benchmarks.own_server import run_apart, throw_away_home
from benchmarks.recalling import AMOUNTS, COMPARED, LIMIT, MODEL, SHARES, RecallMeasurement
from benchmarks.result import BenchMetric, GoalOp, Sample, System, at_least, at_most, percentile
from benchmarks.stores import STORES, StoreAnswers, StoreTexts, asked_of
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult
from benchmarks.toy import Toy
from festinger.embedding.embedder import Embedder, EmbedderOptions
from festinger.embedding.profiles import EmbeddingPurpose
from festinger.embedding.registry import open_embedder
from festinger.settings.tree import EmbeddingSettings

MS = 1000.0
LARGE, MILLION = 100_000, 1_000_000
"""The memory sizes for which recalls have goals."""
SENTENCES = 60
"""Cues that are embedded to time it."""

SPEED_METRICS: Sequence[BenchMetric] = (
    BenchMetric(name="speed.recall.p50", unit="ms", about="warm recall without embedding, median", goal=at_most(12)),
    BenchMetric(name="speed.recall.p95", unit="ms", about="the same, p95", goal=at_most(25)),
    BenchMetric(name="speed.recall.10k.p50", unit="ms", about="the same at ten thousand", goal=at_most(12)),
    BenchMetric(name="speed.recall.1m.p50", unit="ms", about="the same at a million (`--long`)", goal=at_most(25)),
    BenchMetric(name="speed.recall.1m.p95", unit="ms", about="the same at a million, p95", goal=at_most(60)),
    BenchMetric(name="speed.recall.embedded", unit="ms", about="median with embedding the cue", goal=at_most(15)),
    BenchMetric(name="speed.recall.first", unit="ms", about="the first recalls after a start, median"),
    BenchMetric(name="speed.recall.cpu", unit="ms", about="of it spent by our own process, mean"),
    BenchMetric(name="speed.recall.small", unit="ms", about="in a space of 0.2 % of the store", goal=at_most(12)),
    BenchMetric(
        name="speed.recall.long", unit="times", about="a cue of 500 words against an ordinary one", goal=at_most(2)
    ),
    BenchMetric(
        name="speed.recall.worn",
        unit="times",
        about="a warm recall after two thousand others against before",
        goal=at_most(1.2),
    ),
    BenchMetric(name="speed.recall.throughput", unit="a second", about="eight callers", goal=at_least(100)),
    BenchMetric(name="speed.recall.crowd.p95", unit="ms", about="p95 of eight callers at once", goal=at_most(80)),
    BenchMetric(
        name="speed.recall.refused",
        unit="recalls",
        about="refused at first because the store was busy",
        goal=at_most(0),
    ),
    BenchMetric(
        name="speed.recall.times_mem0",
        unit="times",
        about="mem0's median against ours, both with embedding",
        goal=at_least(5),
    ),
    *(
        BenchMetric(
            name=f"speed.recall.alike.{share}",
            unit="share",
            about=f"of the nearest 50 that are found where a filter leaves {share} %",
            goal=at_least(0.95),
        )
        for share in SHARES
    ),
    BenchMetric(
        name="speed.spread.1", unit="ms", about="what a few lead on to, a step beyond a partner", goal=at_most(5)
    ),
    BenchMetric(name="speed.spread.2", unit="ms", about="the same, two steps beyond", goal=at_most(15)),
    BenchMetric(name="size.disk", unit="KB", about="a memory on disk with its indexes", goal=at_most(6)),
    BenchMetric(name="size.resident", unit="MB", about="the process that recalls", goal=at_most(700)),
    BenchMetric(name="size.store", unit="MB", about="its database server, own pages", better=GoalOp.AT_MOST),
)

GROWTH_METRICS: Sequence[BenchMetric] = (
    BenchMetric(
        name="growth.recall", unit="exponent", about="of the median recall against memories", goal=at_most(0.15)
    ),
    BenchMetric(name="growth.recall.error", unit="exponent", about="its standard error", better=GoalOp.AT_MOST),
    BenchMetric(name="growth.disk", unit="exponent", about="of bytes on disk against memories", goal=at_most(1.03)),
    BenchMetric(name="growth.resident", unit="exponent", about="of the process's memory against memories"),
)


async def stands_of(bench: Bench) -> list[RecallMeasurement]:
    """What a growing process measured at each size. Both suites of one run share it."""
    file = bench.folder.parent / f"recalled-{bench.folder.name.rpartition('-')[2]}.json"
    if not file.exists():
        bench.say("Filling a large memory, and recalling.")
        async with throw_away_home(bench.folder, stopwatch=bench.stopwatch) as home:
            await run_apart("recalling", str(file), amount_of(bench), str(bench.seed), home=home)
    return [RecallMeasurement(**each) for each in json.loads(file.read_bytes())]


def amount_of(bench: Bench) -> str:
    return "quick" if bench.quick else "long" if bench.long else "full"


def stand_at(stands: Sequence[RecallMeasurement], memories: int) -> RecallMeasurement:
    """What was measured nearest to a size."""
    return min(stands, key=lambda each: abs(each.memories - memories))


async def measure_speed(bench: Bench) -> SuiteResult:
    stands = await stands_of(bench)
    embedding = await _embedding_seconds(bench)
    large = stand_at(stands, LARGE)
    systems, answers = await _others(bench, size=large.memories)
    found = [*samples(stands, embedding=embedding), *_beside(stands, answers, embedding=embedding)]
    return SuiteResult(samples=found, systems=systems, curves=[spread(large, answers)])


async def measure_growth(bench: Bench) -> SuiteResult:
    stands = await stands_of(bench)
    return SuiteResult(samples=grown(stands), curves=[growth(stands)])


def samples(stands: Sequence[RecallMeasurement], *, embedding: float) -> list[Sample]:
    """The numbers of one run: those of a hundred thousand, or of the largest size below."""
    last, middle, most = stand_at(stands, LARGE), stand_at(stands, 10_000), stands[-1]
    warm = median(last.warm)
    found: dict[str, tuple[float, int]] = {
        "speed.recall.p50": (MS * warm, len(last.warm)),
        "speed.recall.p95": (MS * percentile(last.warm, 0.95), len(last.warm)),
        "speed.recall.10k.p50": (MS * median(middle.warm), len(middle.warm)),
        "speed.recall.embedded": (MS * (warm + embedding), len(last.warm)),
        "speed.recall.first": (MS * median(last.first), len(last.first)),
        "speed.recall.cpu": (MS * mean(last.cpu), len(last.cpu)),
        "speed.recall.small": (MS * median(last.small), len(last.small)),
        "speed.recall.long": (median(last.long) / warm, len(last.long)),
        "speed.recall.throughput": (len(last.crowd) / last.crowd_seconds, len(last.crowd)),
        "speed.recall.crowd.p95": (MS * percentile(last.crowd, 0.95), len(last.crowd)),
        "speed.recall.refused": (float(last.refused), len(last.warm) + len(last.crowd)),
        "size.disk": (last.disk_bytes / last.memories / 1024, 1),
        "size.resident": (last.door_mb, 1),
        "size.store": (last.store_mb, 1),
    }
    found["speed.recall.worn"] = (median(most.worn) / median(most.warm), len(most.worn))
    if most.memories >= MILLION:
        found["speed.recall.1m.p50"] = (MS * median(most.warm), len(most.warm))
        found["speed.recall.1m.p95"] = (MS * percentile(most.warm, 0.95), len(most.warm))
    found |= {f"speed.spread.{hops}": (MS * median(took), len(took)) for hops, took in most.led.items()}
    found |= {f"speed.recall.alike.{share}": (last.alike[share], COMPARED) for share in SHARES}
    return [Sample(metric=name, system=PRODUCT, value=value, n=n) for name, (value, n) in found.items()]


def grown(stands: Sequence[RecallMeasurement]) -> list[Sample]:
    """How the numbers grow with the memory."""
    medians = [(float(each.memories), median(each.warm)) for each in stands]
    found = {
        "growth.recall": slope(medians),
        "growth.recall.error": slope_error(medians),
        "growth.disk": slope(_beyond_the_first(stands)),
        "growth.resident": slope([(each.memories, each.door_mb) for each in stands]),
    }
    return [Sample(metric=name, system=PRODUCT, value=value, n=len(stands)) for name, value in found.items()]


def _beyond_the_first(stands: Sequence[RecallMeasurement]) -> list[tuple[float, float]]:
    """Bytes that came with memories: an empty database has some already."""
    first = stands[0]
    return [
        (float(each.memories - first.memories), float(max(1, each.disk_bytes - first.disk_bytes)))
        for each in stands[1:]
    ] or [(1.0, 1.0)]


def slope_error(points: Sequence[tuple[float, float]]) -> float:
    """The standard error of the exponent; zero if the line has no point to spare."""
    if len(points) < 3:
        return 0.0
    exponent = slope(points)
    xs, ys = [log(x) for x, _ in points], [log(y) for _, y in points]
    middle_x, middle_y = mean(xs), mean(ys)
    left = sum((y - middle_y - exponent * (x - middle_x)) ** 2 for x, y in zip(xs, ys, strict=True))
    return sqrt(left / (len(points) - 2) / sum((x - middle_x) ** 2 for x in xs))


async def _embedding_seconds(bench: Bench) -> float:
    """The median of embedding one cue with the shipped embedder."""
    embedder = await open_embedder(EmbeddingSettings().model, EmbedderOptions(offline=True))
    texts = list(islice(statements(bench.seed), SENTENCES if not bench.quick else 3))
    took = []
    for cue in cues(texts, len(texts), seed=bench.seed):
        began = bench.stopwatch()
        await embedder.embed([cue], EmbeddingPurpose.QUERY)
        took.append(bench.stopwatch() - began)
    await embedder.close()
    return median(took)


async def _others(bench: Bench, *, size: int) -> tuple[list[System], dict[str, StoreAnswers]]:
    """The other stores with the same texts; the systems, and the answers of those that ran."""
    wanted = [name for name in STORES if name in bench.peers]
    if not wanted:
        return [], {}
    embedder = Toy(await open_embedder(MODEL, EmbedderOptions(offline=True)))
    texts = list(islice(statements(bench.seed), size))
    asked = cues(texts, AMOUNTS[amount_of(bench)].cues, seed=bench.seed + size)
    held, probes = [await _with_vectors(embedder, each) for each in (texts, asked)]
    systems, answers = [], {}
    for name in wanted:
        system, answer = await asked_of(name, bench, held=held, cues=probes, limit=LIMIT)
        systems.append(system)
        if answer is not None:
            answers[name] = answer
    return systems, answers


async def _with_vectors(embedder: Embedder, texts: Sequence[str]) -> StoreTexts:
    vectors = np.stack(await embedder.embed(texts, EmbeddingPurpose.STORE))
    return StoreTexts(texts=texts, vectors=vectors)


def _beside(stands: Sequence[RecallMeasurement], answers: dict[str, StoreAnswers], *, embedding: float) -> list[Sample]:
    """The same numbers of the other stores, and how many times as long mem0 takes."""
    found = []
    for name, answer in answers.items():
        p50, p95 = median(answer.seconds), percentile(answer.seconds, 0.95)
        numbers = {"p50": p50, "p95": p95, "embedded": p50 + embedding}
        found += [
            Sample(metric=f"speed.recall.{kind}", system=name, value=MS * value, n=len(answer.seconds))
            for kind, value in numbers.items()
        ]
    if mem0 := answers.get("mem0"):
        times = (median(mem0.seconds) + embedding) / (median(stand_at(stands, LARGE).warm) + embedding)
        found.append(Sample(metric="speed.recall.times_mem0", system=PRODUCT, value=times, n=len(mem0.seconds)))
    return found


def spread(stand: RecallMeasurement, answers: dict[str, StoreAnswers]) -> Curve:
    """Which share of recalls took at most how long."""
    everybody = {PRODUCT: stand.warm, **{name: list(each.seconds) for name, each in answers.items()}}
    return Curve(
        name="speed.spread",
        title=f"How long recalls take among {stand.memories:,} memories",
        x="milliseconds",
        y="share of recalls",
        points={
            name: [(MS * percentile(took, share / 20), share / 20) for share in range(1, 20)]
            for name, took in everybody.items()
        },
        log_x=True,
        counted=False,
    )


def growth(stands: Sequence[RecallMeasurement]) -> Curve:
    return Curve(
        name="growth.recall",
        title="How long a recall takes, by how much is remembered",
        x="memories",
        y="milliseconds",
        points={
            "median": [(each.memories, MS * median(each.warm)) for each in stands],
            "p95": [(each.memories, MS * percentile(each.warm, 0.95)) for each in stands],
            "small space": [(each.memories, MS * median(each.small)) for each in stands],
        },
        log_x=True,
        log_y=True,
        counted=False,
    )


SPEED = Suite(
    name="speed",
    about="Recalls in a memory of a hundred thousand, beside other stores with the same vectors.",
    metrics=SPEED_METRICS,
    measure=measure_speed,
)

GROWTH = Suite(
    name="growth",
    about="How the time and the room of recalling grow from a thousand memories to a hundred thousand, or a million.",
    metrics=GROWTH_METRICS,
    measure=measure_growth,
)
