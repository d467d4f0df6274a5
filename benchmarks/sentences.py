"""Measures the speed and memory of the bundled embedder.

Runs as a process, because memory is measured per process: `python -m benchmarks.sentences ONE BATCHES FILE`
embeds that many single sentences and lists of 32, and writes the times to the file as JSON. Every sentence is
new, so no cache helps.
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import psutil

from benchmarks.result import BenchMetric, Sample, at_least, at_most
from benchmarks.server import bare_environment
from benchmarks.suite import PRODUCT, Bench, SuiteResult
from festinger.clock import system_stopwatch
from festinger.embedding.embedder import Embedder, EmbedderOptions
from festinger.embedding.profiles import EmbeddingPurpose
from festinger.embedding.registry import open_embedder
from festinger.errors import CannotStart
from festinger.settings.tree import EmbeddingSettings

SENTENCE = "She said that the meeting about the new library was moved from Tuesday to Thursday afternoon"
LIST = 32
MIB = 2**20

FULL, QUICK = (100, 20), (3, 1)
"""Single sentences and lists of one run."""

METRICS: Sequence[BenchMetric] = (
    BenchMetric(name="embedding.one", unit="ms", about="one sentence, median", goal=at_most(10)),
    BenchMetric(name="embedding.batch", unit="sentences/s", about=f"lists of {LIST}", goal=at_least(100)),
    BenchMetric(name="embedding.load", unit="s", about="opening the embedder", goal=at_most(1)),
    BenchMetric(name="embedding.rss", unit="MB", about="process with the embedder, resident", goal=at_most(350)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingTimes:
    """Seconds, each a list in the order of measurement."""

    load: float
    one: list[float]
    batches: list[float]
    rss_mb: float


async def measure(bench: Bench) -> SuiteResult:
    bench.say("Embedding sentences.")
    ones, batches = QUICK if bench.quick else FULL
    file = bench.folder / "sentences.json"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.sentences", str(ones), str(batches), str(file)),
        stdin=asyncio.subprocess.DEVNULL,
        env=bare_environment(bench.folder),
    )
    try:
        if await process.wait():
            raise CannotStart("The embedder could not be measured; its last words are above.")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return SuiteResult(samples=samples(EmbeddingTimes(**json.loads(file.read_bytes()))))


def samples(times: EmbeddingTimes) -> list[Sample]:
    """The numbers of one run."""
    rates = [LIST / seconds for seconds in times.batches]
    found = {
        "embedding.one": (1000 * median(times.one), len(times.one)),
        "embedding.batch": (median(rates), LIST * len(rates)),
        "embedding.load": (times.load, 1),
        "embedding.rss": (times.rss_mb, 1),
    }
    return [Sample(metric=name, system=PRODUCT, value=value, n=n) for name, (value, n) in found.items()]


async def embed(ones: int, batches: int) -> EmbeddingTimes:
    """Measure the embedder of the default settings in this process."""
    began = system_stopwatch()
    embedder = await open_embedder(EmbeddingSettings().model, EmbedderOptions(offline=True))
    load = system_stopwatch() - began
    await embedder.embed([SENTENCE], EmbeddingPurpose.QUERY)
    one = [await _took(embedder, [f"{SENTENCE} {number}."], EmbeddingPurpose.QUERY) for number in range(ones)]
    lists = [[f"{SENTENCE}, as of {turn} {number}." for number in range(LIST)] for turn in range(batches)]
    took = [await _took(embedder, sentences, EmbeddingPurpose.STORE) for sentences in lists]
    held = psutil.Process().memory_info().rss / MIB
    await embedder.close()
    return EmbeddingTimes(load=load, one=one, batches=took, rss_mb=held)


async def _took(embedder: Embedder, sentences: Sequence[str], purpose: EmbeddingPurpose) -> float:
    began = system_stopwatch()
    await embedder.embed(sentences, purpose)
    return system_stopwatch() - began


if __name__ == "__main__":
    measured = asyncio.run(embed(int(sys.argv[1]), int(sys.argv[2])))
    Path(sys.argv[3]).write_text(json.dumps(asdict(measured)))
