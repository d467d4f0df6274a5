"""The suite `world`: what a graph of a hundred thousand concepts and a million edges costs.

Filling, loading and holding it; recalling what is known of a text, short or long; reading words and claims
from texts; writing counts and conflicts. `thinking` measures, in a process started for it. The world is
generated once per run of the command and shared by all who need it.
"""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

from benchmarks.curve import Curve
from benchmarks.own_server import run_apart, throw_away_home
from benchmarks.result import BenchMetric, Sample, at_most, percentile
from benchmarks.run import WALKABLE
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult
from benchmarks.thinking import WorldTimes

MILLION = 1_000_000

METRICS: Sequence[BenchMetric] = (
    BenchMetric(name="world.fill", unit="s", about="writing a million triples", goal=at_most(120)),
    BenchMetric(name="world.load", unit="s", about="loading the world at a start", goal=at_most(10)),
    BenchMetric(name="world.memory", unit="MiB", about="what the loaded world adds", goal=at_most(600)),
    BenchMetric(name="world.recollect_2k.p50", unit="ms", about="2 KiB of unseen text, median", goal=at_most(1)),
    BenchMetric(name="world.recollect_2k.p99", unit="ms", about="2 KiB of unseen text, p99", goal=at_most(5)),
    BenchMetric(name="world.recollect_16k.p50", unit="ms", about="16 KiB of unseen text, median", goal=at_most(3)),
    BenchMetric(name="world.recollect_16k.p99", unit="ms", about="16 KiB of unseen text, p99", goal=at_most(8)),
    BenchMetric(name="world.tokens_1mb", unit="ms", about="words of a text of 1 MB", goal=at_most(250)),
    BenchMetric(name="world.cues_4k.p50", unit="ms", about="words and claims of 4 KiB, median"),
    BenchMetric(name="world.cues_4k.p99", unit="ms", about="words and claims of 4 KiB, p99", goal=at_most(2)),
    BenchMetric(name="world.flush_10k", unit="s", about="writing 10,000 counts", goal=at_most(1)),
    BenchMetric(name="world.collision.p50", unit="ms", about="a statement that collides, median"),
    BenchMetric(name="world.collision.p99", unit="ms", about="a statement that collides, p99", goal=at_most(20)),
)

SPREAD = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


async def measure(bench: Bench) -> SuiteResult:
    async with filled_home(bench) as (home, filled):
        bench.say("Loading the large world and thinking about texts.")
        thought = await _measured("think", home, bench)
    return SuiteResult(samples=samples(filled, thought), curves=[distribution(thought)])


@asynccontextmanager
async def filled_home(bench: Bench) -> AsyncIterator[tuple[Path, WorldTimes]]:
    """A home with the large world, and how filling it went; made once, and kept while the command runs."""
    folder = bench.folder.parent / "large"
    folder.mkdir(mode=WALKABLE, exist_ok=True)
    told = folder / "filled.json"
    async with throw_away_home(folder, stopwatch=bench.stopwatch) as home:
        if not told.exists():
            bench.say("Writing the large world (once).")
            filled = await _measured("fill", home, bench)
            told.write_text(json.dumps({"fill": filled.fill, "edges": filled.edges}))
        yield home, WorldTimes(**json.loads(told.read_text()))


async def _measured(what: str, home: Path, bench: Bench) -> WorldTimes:
    """The result of a process that does this in the home."""
    file = bench.folder / f"{what}.json"
    amount = "quick" if bench.quick else "full"
    await run_apart("thinking", what, str(file), amount, str(bench.seed), home=home)
    return WorldTimes(**json.loads(file.read_bytes()))


def samples(filled: WorldTimes, thought: WorldTimes) -> list[Sample]:
    """The numbers of one run; filling is scaled to a million triples, however many there were."""
    found: dict[str, tuple[float, int]] = {
        "world.fill": (sum(filled.fill) * MILLION / max(filled.edges, 1), filled.edges),
        "world.load": (median(thought.load), len(thought.load)),
        "world.memory": (thought.memory, 1),
        "world.tokens_1mb": (1000 * median(thought.tokens_1mb), len(thought.tokens_1mb)),
        "world.flush_10k": (median(thought.flush_10k), len(thought.flush_10k)),
    }
    for name, times in (
        ("world.recollect_2k", thought.recollect_2k),
        ("world.recollect_16k", thought.recollect_16k),
        ("world.cues_4k", thought.cues_4k),
        ("world.collision", thought.collision),
    ):
        for kind, share in (("p50", 0.5), ("p99", 0.99)):
            found[f"{name}.{kind}"] = (1000 * percentile(times, share), len(times))
    return [Sample(metric=name, system=PRODUCT, value=value, n=n) for name, (value, n) in found.items()]


def distribution(thought: WorldTimes) -> Curve:
    return Curve(
        name="world.recollect",
        title="How long bringing to mind takes: the share of texts that are done by then",
        x="milliseconds",
        y="share of texts",
        points={
            name: [(1000 * percentile(times, share), share) for share in SPREAD]
            for name, times in (
                ("2 KiB", thought.recollect_2k),
                ("16 KiB", thought.recollect_16k),
                ("claims of 4 KiB", thought.cues_4k),
            )
        },
        counted=False,
    )


WORLD = Suite(
    name="world",
    about="A graph of 100,000 concepts and a million edges: filling, loading, bringing to mind, writing.",
    metrics=METRICS,
    measure=measure,
)
