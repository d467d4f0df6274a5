"""What does it cost to send a request through us instead of straight to the model?

The contenders take turns in short blocks, so that whatever else the machine does hits all of them alike. What a
proxy adds is the difference to the direct block of the same turn, quantile by quantile; of all turns the median
counts. Who they are and how they run is said in `contenders`.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from statistics import median

from festinger.bench.contenders import DIRECT, Contenders, contenders
from festinger.bench.load import Block, Timing, ask_once, at_once, in_turn, request
from festinger.bench.peers import LITELLM
from festinger.bench.result import (
    Kind,
    Metric,
    Sample,
    Status,
    System,
    at_least,
    at_most,
    percentile,
)
from festinger.bench.server import Running, on_core, two_cores
from festinger.bench.stub import WORDS
from festinger.bench.suite import PRODUCT, Bench, Measured
from festinger.errors import CannotStart

PATH = "/v1/chat/completions"

FINEST_MS = 0.01
"""A smaller difference than this is not told apart from none."""

LITELLM_TIMES = 5
"""How many times better than LiteLLM's proxy we want to be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A kind of request."""

    name: str
    kib: int
    streamed: bool


SHAPES = (
    Shape(name="5k", kib=5, streamed=False),
    Shape(name="100k", kib=100, streamed=False),
    Shape(name="5k_streamed", kib=5, streamed=True),
    Shape(name="100k_streamed", kib=100, streamed=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How much is asked in one run."""

    warm_up: int
    turns: int
    requests: int
    """In one block of one shape."""
    throughput_turns: int
    clients: int
    seconds: float
    most: int
    """Requests of one client in one block at most."""


FULL = Amount(warm_up=50, turns=8, requests=100, throughput_turns=3, clients=32, seconds=3.0, most=2000)
QUICK = Amount(warm_up=2, turns=2, requests=5, throughput_turns=1, clients=4, seconds=0.2, most=10)


def _metrics() -> list[Metric]:
    found: list[Metric] = []
    for shape in SHAPES:
        about = f"{shape.kib} KiB request, {'streamed' if shape.streamed else 'whole'} answer"
        name = f"passthrough.{shape.name}"
        found += [
            Metric(name=f"{name}.p50", unit="ms", about=f"{about}: median time"),
            Metric(name=f"{name}.added_p50", unit="ms", about=f"{about}: added median", goal=at_most(0.8)),
            Metric(name=f"{name}.added_p99", unit="ms", about=f"{about}: added p99", goal=at_most(5)),
            Metric(
                name=f"{name}.against_litellm",
                unit="x",
                about=f"{about}: LiteLLM's added median over ours",
                goal=at_least(LITELLM_TIMES),
            ),
        ]
        if shape.streamed:
            first = f"{about}: added median time to the first byte"
            found.append(Metric(name=f"{name}.added_first", unit="ms", about=first, goal=at_most(1.2)))
    throughput = "passthrough.throughput"
    return [
        *found,
        Metric(name=throughput, unit="req/s", about="5 KiB requests on one core", goal=at_least(1500)),
        Metric(
            name=f"{throughput}.against_litellm",
            unit="x",
            about="our requests on one core over LiteLLM's",
            goal=at_least(LITELLM_TIMES),
        ),
        Metric(name="passthrough.errors", unit="", about="requests without an answer", goal=at_most(0)),
    ]


METRICS: Sequence[Metric] = _metrics()


def chat_body(shape: Shape, *, seed: int) -> bytes:
    """A chat request of exactly so many bytes, of words that do not repeat in a pattern."""
    chance = Random(seed)  # noqa: S311 - a text to send, not a secret
    words = [f"{chance.randrange(16**6):06x}" for _ in range(shape.kib * 1024 // 7)]

    def body(text: str) -> bytes:
        messages = [{"role": "system", "content": "Answer briefly."}, {"role": "user", "content": text}]
        return json.dumps({"model": "stub", "messages": messages, "stream": shape.streamed}).encode()

    text = " ".join(words)[: shape.kib * 1024 - len(body(""))]
    return body(text)


Blocks = Mapping[str, Sequence[Block]]
"""The blocks of each system, turn by turn."""


async def measure(bench: Bench) -> Measured:
    amount = QUICK if bench.quick else FULL
    async with contenders(bench) as there:
        with on_core(two_cores()[1]):
            await _check(there, bench)
            bench.say("Sending requests one by one.")
            latencies = {
                shape: await _latencies(there.servers, shape, amount=amount, bench=bench) for shape in SHAPES
            }
            bench.say("Sending requests at once.")
            throughput = await _throughput(there.servers, amount=amount, bench=bench)
    return Measured(
        samples=samples(latencies, throughput), systems=judged(there.systems, latencies, throughput)
    )


async def _check(there: Contenders, bench: Bench) -> None:
    """We must pass the stub's words on to their end: a fast proxy that drops some has won nothing."""
    for shape in SHAPES:
        port = there.servers[PRODUCT].port
        answer = await ask_once(port, PATH, chat_body(shape, seed=bench.seed), stopwatch=bench.stopwatch)
        if answer is None or answer.status != 200 or WORDS[-1].encode() not in answer.body:
            told = "nothing" if answer is None else f"status {answer.status}"
            raise CannotStart(f"A {shape.name} request through `festinger serve` came back with {told}.")


# Turn -1 is the warm-up: it is asked and not kept.


async def _latencies(
    servers: Mapping[str, Running], shape: Shape, *, amount: Amount, bench: Bench
) -> dict[str, list[Block]]:
    """One request at a time, the systems in turn."""
    found: dict[str, list[Block]] = {name: [] for name in servers}
    body = chat_body(shape, seed=bench.seed)
    for turn in range(-1, amount.turns):
        for name, server in servers.items():
            wire = request(server.port, PATH, body)
            count = amount.warm_up if turn < 0 else amount.requests
            block = await in_turn(server.port, wire, count=count, stopwatch=bench.stopwatch)
            if turn >= 0:
                found[name].append(block)
    return found


async def _throughput(
    servers: Mapping[str, Running], *, amount: Amount, bench: Bench
) -> dict[str, list[Block]]:
    """As many requests as go through, the systems in turn."""
    found: dict[str, list[Block]] = {name: [] for name in servers}
    body = chat_body(SHAPES[0], seed=bench.seed)
    for turn in range(-1, amount.throughput_turns):
        for name, server in servers.items():
            block = await at_once(
                server.port,
                request(server.port, PATH, body),
                clients=amount.clients,
                count=amount.most,
                seconds=amount.seconds,
                stopwatch=bench.stopwatch,
            )
            if turn >= 0:
                found[name].append(block)
    return found


# What the blocks say: pure from here on.


def samples(latencies: Mapping[Shape, Blocks], throughput: Blocks) -> list[Sample]:
    """The numbers of one run; a system that never answered has none."""
    found = [sample for shape, blocks in latencies.items() for sample in _of_shape(shape, blocks)]
    rates = {
        name: median(block.rate for block in blocks)
        for name, blocks in throughput.items()
        if _answered(blocks)
    }
    found += [
        Sample(metric="passthrough.throughput", system=name, value=rate, n=_answered(throughput[name]))
        for name, rate in rates.items()
    ]
    if PRODUCT in rates and LITELLM in rates:
        times = rates[PRODUCT] / rates[LITELLM]
        found.append(Sample(metric="passthrough.throughput.against_litellm", system=PRODUCT, value=times))
    return [*found, *_errors(latencies, throughput)]


def _of_shape(shape: Shape, blocks: Blocks) -> Iterator[Sample]:
    name = f"passthrough.{shape.name}"
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
    turns: Sequence[Block],
    direct: Sequence[Block],
    *,
    share: float,
    of: Callable[[Timing], float] = _whole_ms,
) -> float:
    """How much later a quantile comes than in the direct block of the same turn: the median of all turns, in ms."""
    return median(
        percentile([of(timing) for timing in block.timings], share)
        - percentile([of(timing) for timing in beside.timings], share)
        for block, beside in zip(turns, direct, strict=True)
    )


def _answered(blocks: Sequence[Block]) -> int:
    return sum(len(block.timings) for block in blocks)


def _errors(latencies: Mapping[Shape, Blocks], throughput: Blocks) -> list[Sample]:
    found: list[Sample] = []
    for name in throughput:
        blocks = [*throughput[name], *(block for shape in latencies.values() for block in shape[name])]
        errors = sum(block.errors for block in blocks)
        found.append(
            Sample(metric="passthrough.errors", system=name, value=errors, n=errors + _answered(blocks))
        )
    return found


def judged(systems: Sequence[System], latencies: Mapping[Shape, Blocks], throughput: Blocks) -> list[System]:
    """The systems; one that came up and then answered nothing at all in some part has failed."""
    parts = [*latencies.values(), throughput]
    silent = {name for blocks in parts for name, turns in blocks.items() if not _answered(turns)}
    return [
        replace(system, status=Status.FAILED, reason="it came up, but stopped answering")
        if system.name in silent and system.kind is not Kind.PRODUCT
        else system
        for system in systems
    ]
