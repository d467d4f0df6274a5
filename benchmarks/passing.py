"""Measures what a request costs that passes through a system instead of going straight to the model.

The contenders take turns in short blocks, so that whatever else the machine does hits all of them alike. What
a proxy adds is the difference from the direct block of the same turn, quantile by quantile; the median of all
turns counts. `contenders` defines the systems, the suites define the requests.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from benchmarks.contenders import DIRECT
from benchmarks.load import LoadResult, Timing, at_once, in_turn, request
from benchmarks.peer_systems import LITELLM
from benchmarks.result import BenchMetric, Goal, Sample, System, SystemKind, SystemStatus, at_least, at_most, percentile
from benchmarks.server import BenchProcess
from benchmarks.suite import PRODUCT, Bench

PATH = "/v1/chat/completions"

FINEST_MS = 0.01
"""A smaller difference than this counts as none."""

USUAL_P50, USUAL_P99 = at_most(0.8), at_most(5)

LITELLM_TIMES = 5
"""How many times better than LiteLLM's proxy the product should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassingShape:
    """A kind of request, and how much a proxy may add to it."""

    name: str
    kib: int
    streamed: bool
    added_p50: Goal | None = USUAL_P50
    added_p99: Goal | None = USUAL_P99
    """`None` for what is larger or rarer than most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassingAmount:
    """How much is measured in one run."""

    warm_up: int
    turns: int
    requests: int
    """In one block of one shape."""
    throughput_turns: int
    clients: int
    seconds: float
    most: int
    """The most requests of one client in one block."""
    different: int = 1
    """How many requests a client has before it starts over."""


FULL = PassingAmount(warm_up=10, turns=3, requests=20, throughput_turns=3, clients=32, seconds=3.0, most=2000)
QUICK = PassingAmount(warm_up=2, turns=2, requests=5, throughput_turns=1, clients=4, seconds=0.2, most=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """Bodies of one shape, to be sent one after the other."""

    timed: Sequence[bytes]
    before: Sequence[bytes] = ()
    """Sent to all systems beforehand and not timed."""


Bodies = Callable[[int], Requests]
"""Makes this many requests to be timed."""

Blocks = Mapping[str, Sequence[LoadResult]]
"""The blocks of each system, turn by turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassingRoute:
    """One way of sending requests through all systems: its name and the headers."""

    name: str
    headers: Sequence[str] = ()


def metrics(route: PassingRoute, shapes: Iterable[PassingShape]) -> list[BenchMetric]:
    """The metrics of a route with these shapes."""
    found: list[BenchMetric] = []
    for shape in shapes:
        about = f"{shape.kib} KiB request, {'streamed' if shape.streamed else 'whole'} answer"
        name = f"{route.name}.{shape.name}"
        found += [
            BenchMetric(name=f"{name}.p50", unit="ms", about=f"{about}: median time"),
            BenchMetric(name=f"{name}.added_p50", unit="ms", about=f"{about}: added median", goal=shape.added_p50),
            BenchMetric(name=f"{name}.added_p99", unit="ms", about=f"{about}: added p99", goal=shape.added_p99),
            BenchMetric(
                name=f"{name}.against_litellm",
                unit="x",
                about=f"{about}: LiteLLM's added median over ours",
                goal=at_least(LITELLM_TIMES),
            ),
        ]
        if shape.streamed:
            first = f"{about}: added median time to the first byte"
            found.append(BenchMetric(name=f"{name}.added_first", unit="ms", about=first, goal=at_most(1.2)))
    throughput = f"{route.name}.throughput"
    return [
        *found,
        BenchMetric(name=throughput, unit="req/s", about="5 KiB requests on one core", goal=at_least(1500)),
        BenchMetric(
            name=f"{throughput}.against_litellm",
            unit="x",
            about="our requests on one core over LiteLLM's",
            goal=at_least(LITELLM_TIMES),
        ),
        BenchMetric(name=f"{route.name}.errors", unit="", about="requests without an answer", goal=at_most(0)),
    ]


# Turn -1 is the warm-up: it is sent and not kept.


async def latencies(
    servers: Mapping[str, BenchProcess], route: PassingRoute, bodies: Bodies, *, amount: PassingAmount, bench: Bench
) -> dict[str, list[LoadResult]]:
    """One request at a time, the systems in turn; in one turn all get the same requests.

    `before` is sent to all of them first, as a person pauses between two turns.
    """
    found: dict[str, list[LoadResult]] = {name: [] for name in servers}
    for turn in range(-1, amount.turns):
        sent = bodies(amount.warm_up if turn < 0 else amount.requests)
        for server in servers.values():
            await _in_turn(server, route, sent.before, bench=bench)
        for name, server in servers.items():
            block = await _in_turn(server, route, sent.timed, bench=bench)
            if turn >= 0:
                found[name].append(block)
    return found


async def _in_turn(server: BenchProcess, route: PassingRoute, bodies: Sequence[bytes], *, bench: Bench) -> LoadResult:
    wires = [request(server.port, PATH, body, headers=route.headers) for body in bodies]
    return await in_turn(server.port, wires, stopwatch=bench.stopwatch)


async def throughput(
    servers: Mapping[str, BenchProcess], route: PassingRoute, bodies: Bodies, *, amount: PassingAmount, bench: Bench
) -> dict[str, list[LoadResult]]:
    """As many requests as go through, the systems in turn. Skips `before`: all time counts here."""
    found: dict[str, list[LoadResult]] = {name: [] for name in servers}
    for turn in range(-1, amount.throughput_turns):
        sent = [bodies(amount.different) for _ in range(amount.clients)]
        for name, server in servers.items():
            block = await at_once(
                server.port,
                [[request(server.port, PATH, body, headers=route.headers) for body in own.timed] for own in sent],
                count=amount.most,
                seconds=amount.seconds,
                stopwatch=bench.stopwatch,
            )
            if turn >= 0:
                found[name].append(block)
    return found


# From here on: pure functions of the blocks.


def samples(route: PassingRoute, latencies: Mapping[PassingShape, Blocks], throughput: Blocks) -> list[Sample]:
    """The numbers of one run; a system that never answered has none."""
    found = [sample for shape, blocks in latencies.items() for sample in _of_shape(route, shape, blocks)]
    rates = {name: median(block.rate for block in blocks) for name, blocks in throughput.items() if _answered(blocks)}
    found += [
        Sample(metric=f"{route.name}.throughput", system=name, value=rate, n=_answered(throughput[name]))
        for name, rate in rates.items()
    ]
    if PRODUCT in rates and LITELLM in rates:
        times = rates[PRODUCT] / rates[LITELLM]
        found.append(Sample(metric=f"{route.name}.throughput.against_litellm", system=PRODUCT, value=times))
    return [*found, *_errors(route, latencies, throughput)]


def _of_shape(route: PassingRoute, shape: PassingShape, blocks: Blocks) -> Iterator[Sample]:
    name = f"{route.name}.{shape.name}"
    there = {system: turns for system, turns in blocks.items() if all(block.timings for block in turns)}
    for system, turns in there.items():
        every = [_whole_ms(timing) for block in turns for timing in block.timings]
        yield Sample(metric=f"{name}.p50", system=system, value=percentile(every, 0.5), n=len(every))
    if DIRECT not in there:
        return
    medians: dict[str, float] = {}
    for system, turns in there.items():
        if system == DIRECT:
            continue
        n = _answered(turns)
        medians[system] = added(turns, there[DIRECT], share=0.5)
        yield Sample(metric=f"{name}.added_p50", system=system, value=medians[system], n=n)
        tail = added(turns, there[DIRECT], share=0.99)
        yield Sample(metric=f"{name}.added_p99", system=system, value=tail, n=n)
        if shape.streamed:
            first = added(turns, there[DIRECT], share=0.5, of=_first_ms)
            yield Sample(metric=f"{name}.added_first", system=system, value=first, n=n)
    if PRODUCT in medians and LITELLM in medians:
        times = medians[LITELLM] / max(medians[PRODUCT], FINEST_MS)
        yield Sample(metric=f"{name}.against_litellm", system=PRODUCT, value=times)


def _whole_ms(timing: Timing) -> float:
    return 1000 * timing.whole


def _first_ms(timing: Timing) -> float:
    return 1000 * timing.first


def added(
    turns: Sequence[LoadResult],
    direct: Sequence[LoadResult],
    *,
    share: float,
    of: Callable[[Timing], float] = _whole_ms,
) -> float:
    """How much later a quantile is than in the direct block of the same turn: the median, in ms."""
    return median(
        percentile([of(timing) for timing in block.timings], share)
        - percentile([of(timing) for timing in beside.timings], share)
        for block, beside in zip(turns, direct, strict=True)
    )


def _answered(blocks: Sequence[LoadResult]) -> int:
    return sum(len(block.timings) for block in blocks)


def _errors(route: PassingRoute, latencies: Mapping[PassingShape, Blocks], throughput: Blocks) -> list[Sample]:
    found: list[Sample] = []
    for name in throughput:
        blocks = [*throughput[name], *(block for shape in latencies.values() for block in shape[name])]
        errors = sum(block.errors for block in blocks)
        found.append(Sample(metric=f"{route.name}.errors", system=name, value=errors, n=errors + _answered(blocks)))
    return found


def judged(systems: Sequence[System], latencies: Mapping[PassingShape, Blocks], throughput: Blocks) -> list[System]:
    """The systems; one that came up but answered nothing in some part has failed."""
    parts = [*latencies.values(), throughput]
    silent = {name for blocks in parts for name, turns in blocks.items() if not _answered(turns)}
    return [
        replace(system, status=SystemStatus.FAILED, reason="it came up, but stopped answering")
        if system.name in silent and system.kind is not SystemKind.PRODUCT
        else system
        for system in systems
    ]
