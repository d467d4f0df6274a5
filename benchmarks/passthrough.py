"""Measures a request that passes through the product without using memory.

A header switches memory and loop guard off, so this is the proxy alone: reading, forwarding and streaming.
What they add is measured by the suite `proxy`.
"""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from random import Random

from benchmarks.contenders import Contenders, contenders
from benchmarks.load import ask_once
from benchmarks.passing import (
    FULL,
    PATH,
    QUICK,
    PassingRoute,
    PassingShape,
    Requests,
    judged,
    latencies,
    metrics,
    samples,
    throughput,
)
from benchmarks.result import BenchMetric
from benchmarks.server import on_core, two_cores
from benchmarks.stub import WORDS
from benchmarks.suite import PRODUCT, Bench, SuiteResult
from festinger.errors import CannotStart

ROUTE = PassingRoute(name="passthrough", headers=("X-Festinger-Memory: off", "X-Festinger-Loop: off"))

SHAPES = (
    PassingShape(name="5k", kib=5, streamed=False),
    PassingShape(name="100k", kib=100, streamed=False),
    PassingShape(name="5k_streamed", kib=5, streamed=True),
    PassingShape(name="100k_streamed", kib=100, streamed=True),
)

METRICS: Sequence[BenchMetric] = metrics(ROUTE, SHAPES)


def chat_body(shape: PassingShape, *, seed: int) -> bytes:
    """A chat request of exactly this many bytes, of words that do not repeat in a pattern."""
    chance = Random(seed)  # noqa: S311 - a text to send, not a secret
    words = [f"{chance.randrange(16**6):06x}" for _ in range(shape.kib * 1024 // 7)]

    def body(text: str) -> bytes:
        messages = [{"role": "system", "content": "Answer briefly."}, {"role": "user", "content": text}]
        return json.dumps({"model": "stub", "messages": messages, "stream": shape.streamed}).encode()

    text = " ".join(words)[: shape.kib * 1024 - len(body(""))]
    return body(text)


async def measure(bench: Bench) -> SuiteResult:
    amount = QUICK if bench.quick else FULL

    def bodies(shape: PassingShape, count: int) -> Requests:
        return Requests(timed=[chat_body(shape, seed=bench.seed)] * count)

    async with contenders(bench) as there:
        with on_core(two_cores()[1]):
            await check(there, {shape: chat_body(shape, seed=bench.seed) for shape in SHAPES}, bench)
            bench.say("Sending requests one by one.")
            times = {
                shape: await latencies(there.servers, ROUTE, partial(bodies, shape), amount=amount, bench=bench)
                for shape in SHAPES
            }
            bench.say("Sending requests at once.")
            rates = await throughput(there.servers, ROUTE, partial(bodies, SHAPES[0]), amount=amount, bench=bench)
    return SuiteResult(samples=samples(ROUTE, times, rates), systems=judged(there.systems, times, rates))


async def check(there: Contenders, bodies: Mapping[PassingShape, bytes], bench: Bench) -> None:
    """Check that the stub's words arrive completely: a fast proxy that drops some has won nothing."""
    for shape, body in bodies.items():
        answer = await ask_once(there.servers[PRODUCT].port, PATH, body, stopwatch=bench.stopwatch)
        if answer is None or answer.status != 200 or WORDS[-1].encode() not in answer.body:
            told = "nothing" if answer is None else f"status {answer.status}"
            raise CannotStart(f"A {shape.name} request through `festinger serve` came back with {told}.")
