"""The suite `proxy`: what a request costs that goes through the memory.

Everything is on, with a world of a hundred thousand concepts and a million edges loaded. Requests continue
conversations that have begun, and end with new words; how much more it costs to see a long conversation for
the first time is measured separately. The model itself, the plainest proxy and LiteLLM's take turns with the
product. Also: many streams at once, what an idle session holds, a database that hangs, and whether a real
model can reuse its prompt cache.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import log
from pathlib import Path
from statistics import linear_regression

import psutil

from benchmarks import open_streams, prefix
from benchmarks.contenders import DIRECT, Contenders, contenders
from benchmarks.conversation import ConversationGenerator
from benchmarks.curve import Curve
from benchmarks.large_world import FULL as LARGE
from benchmarks.large_world import QUICK as SMALL
from benchmarks.large_world import LargeWorldSize
from benchmarks.load import LoadResult, ask_once, in_turn, request
from benchmarks.passing import (
    FINEST_MS,
    FULL,
    PATH,
    QUICK,
    PassingAmount,
    PassingRoute,
    PassingShape,
    added,
    judged,
    latencies,
    metrics,
    samples,
    throughput,
)
from benchmarks.result import BenchMetric, Sample, at_most, percentile
from benchmarks.server import BenchProcess, on_core, two_cores
from benchmarks.start import held_by
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult
from benchmarks.world import filled_home
from festinger.errors import CannotStart
from festinger.store.embedded.cluster import find_postmaster

ROUTE = PassingRoute(name="proxy")

SHAPES = (
    PassingShape(name="5k", kib=5, streamed=False),
    PassingShape(name="32k", kib=32, streamed=False),
    PassingShape(name="100k", kib=100, streamed=False),
    PassingShape(name="1m", kib=1024, streamed=False, added_p50=at_most(8), added_p99=None),
    PassingShape(name="5k_streamed", kib=5, streamed=True),
    PassingShape(name="100k_streamed", kib=100, streamed=True),
)

MET_FIRST = PassingShape(name="32k_first", kib=32, streamed=False, added_p50=None, added_p99=None)
"""A conversation with a long history that is new here: after a restart, or from another machine."""

LARGE_KIB, LARGE_FRACTION = 500, 5
"""Above this size of a body, this many times fewer are sent."""

SESSIONS, FEW_SESSIONS = 500, 10
WARM_S = 120.0
"""The longest that loading the large world may take."""

METRICS: Sequence[BenchMetric] = (
    *metrics(ROUTE, (*SHAPES, MET_FIRST)),
    BenchMetric(name="proxy.growth", unit="slope", about="added time against size of the body", goal=at_most(1)),
    BenchMetric(
        name="proxy.stalled.added_p99", unit="ms", about="5 KiB while the database hangs: added p99", goal=at_most(30)
    ),
    BenchMetric(name="proxy.session", unit="KiB", about="what an idle session holds", goal=at_most(64)),
    *open_streams.METRICS,
    *prefix.METRICS,
)


async def measure(bench: Bench) -> SuiteResult:
    amount = replace(QUICK if bench.quick else FULL, different=2 if bench.quick else 50)
    size = SMALL if bench.quick else LARGE
    async with filled_home(bench) as (home, _):
        passed = await _pass(home, size, amount=amount, bench=bench)
        told = await prefix.measure(home, size, bench)
    return SuiteResult(
        samples=[*passed.samples, *told.samples],
        systems=[*passed.systems, *told.systems],
        curves=[*passed.curves, *told.curves],
    )


async def _pass(home: Path, size: LargeWorldSize, *, amount: PassingAmount, bench: Bench) -> SuiteResult:
    """Everything that is measured with the stub."""
    async with contenders(bench, home=home) as there:
        with on_core(two_cores()[1]):
            await _warm(there, size, bench)
            bench.say("Sending requests one by one, with memory.")
            times = {
                shape: await latencies(
                    there.servers, ROUTE, _talks(size, shape, bench).going_on, amount=_for(shape, amount), bench=bench
                )
                for shape in SHAPES
            }
            first = await latencies(
                there.servers, ROUTE, _talks(size, MET_FIRST, bench).beginning, amount=amount, bench=bench
            )
            bench.say("Sending requests at once, with memory.")
            small = _talks(size, SHAPES[0], bench)
            rates = await throughput(there.servers, ROUTE, small.from_the_start, amount=amount, bench=bench)
            bench.say("Letting the database hang, opening sessions and streams.")
            more = [
                await _stalled(there, home, small, amount=amount, bench=bench),
                await _session(there.servers[PRODUCT], size, bench),
                *await open_streams.measure(there.servers, size, bench),
            ]
    return SuiteResult(
        samples=[*samples(ROUTE, {**times, MET_FIRST: first}, rates), *growth(times), *more],
        systems=judged(there.systems, times, rates),
        curves=[distribution(times), sizes(times)],
    )


def _talks(size: LargeWorldSize, shape: PassingShape, bench: Bench) -> ConversationGenerator:
    # A seed for each shape, or the conversations of one would continue in the next.
    seed = f"{bench.seed}.{shape.name}"
    return ConversationGenerator(size, kib=shape.kib, seed=seed, streamed=shape.streamed)


def _for(shape: PassingShape, amount: PassingAmount) -> PassingAmount:
    if shape.kib < LARGE_KIB:
        return amount
    return replace(amount, warm_up=5, requests=max(amount.requests // LARGE_FRACTION, 1))


async def _warm(there: Contenders, size: LargeWorldSize, bench: Bench) -> None:
    """Wait until notes go in: a fast proxy that recalls nothing has won nothing."""
    talks = ConversationGenerator(size, kib=4, seed=f"{bench.seed}.warm")
    until = bench.stopwatch() + WARM_S
    while bench.stopwatch() < until:
        (body,) = talks.beginning(1).timed
        answer = await ask_once(there.servers[PRODUCT].port, PATH, body, stopwatch=bench.stopwatch)
        if answer is not None and b"x-festinger-memory: injected" in answer.head.lower():
            return
    raise CannotStart("The large world brought nothing to mind; the log of the server says why.")


async def _stalled(
    there: Contenders, home: Path, talks: ConversationGenerator, *, amount: PassingAmount, bench: Bench
) -> Sample:
    """What the product adds while every process of its database is stopped."""
    bodies = talks.from_the_start(amount.requests // 2).timed
    found: dict[str, LoadResult] = {}
    with standing_still(home):
        for name in (DIRECT, PRODUCT):
            server = there.servers[name]
            wires = [request(server.port, PATH, body) for body in bodies]
            found[name] = await in_turn(server.port, wires, stopwatch=bench.stopwatch)
    value = added([found[PRODUCT]], [found[DIRECT]], share=0.99)
    return Sample(metric="proxy.stalled.added_p99", system=PRODUCT, value=value, n=len(bodies))


@contextmanager
def standing_still(home: Path) -> Iterator[None]:
    """Stop the database server of a home in the middle of whatever it does."""
    pid = find_postmaster(home / "pg")
    if pid is None:
        raise CannotStart("The embedded database server left no trace of itself.")
    first = psutil.Process(pid)
    family = [first, *first.children(recursive=True)]
    try:
        for process in family:
            process.suspend()
        yield
    finally:
        for process in family:
            process.resume()


async def _session(server: BenchProcess, size: LargeWorldSize, bench: Bench) -> Sample:
    """How much more the server holds for each conversation that it has seen once."""
    count = FEW_SESSIONS if bench.quick else SESSIONS
    talks = ConversationGenerator(size, kib=8, seed=f"{bench.seed}.idle")
    wires = [request(server.port, PATH, body) for body in talks.beginning(2 * count).timed]
    await in_turn(server.port, wires[:count], stopwatch=bench.stopwatch)
    before = held_by([server.pid]).rss
    await in_turn(server.port, wires[count:], stopwatch=bench.stopwatch)
    held = 1024 * (held_by([server.pid]).rss - before) / count
    return Sample(metric="proxy.session", system=PRODUCT, value=max(held, 0.0), n=count)


Times = Mapping[PassingShape, Mapping[str, Sequence[LoadResult]]]


def added_by_size(times: Times, system: str) -> list[tuple[float, float]]:
    """The size of a body in KiB and the median that a system adds to it, for whole answers."""
    return [
        (float(shape.kib), max(added(blocks[system], blocks[DIRECT], share=0.5), FINEST_MS))
        for shape, blocks in times.items()
        if not shape.streamed and _answered(blocks, system) and _answered(blocks, DIRECT)
    ]


def _answered(blocks: Mapping[str, Sequence[LoadResult]], system: str) -> bool:
    return system in blocks and all(block.timings for block in blocks[system])


def growth(times: Times) -> list[Sample]:
    """How steeply what the product adds grows with the size of a body, on a log-log scale."""
    points = [(log(size), log(value)) for size, value in added_by_size(times, PRODUCT)]
    if len(points) < 2:
        return []
    slope, _ = linear_regression(*zip(*points, strict=True))
    return [Sample(metric="proxy.growth", system=PRODUCT, value=slope, n=len(points))]


def sizes(times: Times) -> Curve:
    systems = dict.fromkeys(name for blocks in times.values() for name in blocks if name != DIRECT)
    return Curve(
        name="proxy.sizes",
        title="What is added to a request, by the size of its body",
        x="KiB",
        y="added milliseconds, median",
        points={name: points for name in systems if (points := added_by_size(times, name))},
        log_x=True,
        log_y=True,
        counted=False,
    )


def distribution(times: Times) -> Curve:
    """The distribution of times of 32 KiB requests for each system."""
    blocks = next(blocks for shape, blocks in times.items() if shape.name == "32k")
    every = {name: [1000 * one.whole for turn in turns for one in turn.timings] for name, turns in blocks.items()}
    shares = [number / 100 for number in range(1, 100)]
    return Curve(
        name="proxy.times",
        title="How long requests of 32 KiB take: the share that is answered by then",
        x="milliseconds",
        y="share of requests",
        points={
            name: [(percentile(whole, share), share) for share in shares] for name, whole in every.items() if whole
        },
        log_x=True,
        counted=False,
    )


PROXY = Suite(
    name="proxy",
    about="Requests through our memory with a million edges loaded, beside nobody, a plain proxy and LiteLLM's.",
    metrics=METRICS,
    measure=measure,
)
