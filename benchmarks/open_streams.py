"""Measures hundreds of answers that stream at the same time.

A slow model gives each of them a word now and then. A proxy must pass every word on at once: the longest time
that any stream waited for its next word, beyond the model's own pace, is how long it starved. How long they wait
for their first word is measured with fewer streams, which are all asked for at once, too.
"""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import cast

from benchmarks.contenders import DIRECT, PLAIN
from benchmarks.conversation import ConversationGenerator
from benchmarks.large_world import LargeWorldSize
from benchmarks.load import HOST, request
from benchmarks.passing import PATH
from benchmarks.result import BenchMetric, Sample, at_most, percentile
from benchmarks.server import BenchProcess
from benchmarks.start import held_by
from benchmarks.stub import PACE_S, STREAMED
from benchmarks.suite import PRODUCT, Bench
from festinger.clock import Stopwatch

STREAMS, FEW = 1_000, 20
FIRST_STREAMS = 300
PATIENCE_S = 60.0

METRICS = (
    BenchMetric(name="proxy.streams.memory", unit="MiB", about=f"what {STREAMS:,} open streams add", goal=at_most(300)),
    BenchMetric(
        name="proxy.streams.starved",
        unit="ms",
        about="the longest that a stream waited beyond the model's pace",
        goal=at_most(50),
    ),
    BenchMetric(
        name="proxy.streams.first", unit="ms", about=f"median time until the first byte of {FIRST_STREAMS} streams"
    ),
    BenchMetric(name="proxy.streams.broken", unit="", about="streams without an end", goal=at_most(0)),
)


class OpenStreamListener(asyncio.Protocol):
    """Reads one stream to its end, and records how long its first byte took and its longest silence."""

    def __init__(self, wire: bytes, stopwatch: Stopwatch) -> None:
        self.ended: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.longest = self.first = 0.0
        self._wire, self._stopwatch = wire, stopwatch
        self._began = 0.0
        self._last: float | None = None
        self._tail = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._began = self._stopwatch()
        self._transport.write(self._wire)

    def data_received(self, data: bytes) -> None:
        now = self._stopwatch()
        # The first word takes longer than the pace: everybody connects at once.
        if self._last is not None:
            self.longest = max(self.longest, now - self._last)
        else:
            self.first = now - self._began
        self._last = now
        self._tail = (self._tail + data)[-8:]
        if self._tail.endswith(b"0\r\n\r\n"):
            self._end(whole=True)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(whole=False)

    def _end(self, *, whole: bool) -> None:
        if not self.ended.done():
            self.ended.set_result(whole)
            self._transport.abort()


def _itself(listener: OpenStreamListener) -> OpenStreamListener:
    return listener


async def measure(servers: Mapping[str, BenchProcess], size: LargeWorldSize, bench: Bench) -> list[Sample]:
    """All streams through the product and a plain proxy, and directly from the model."""
    found: list[Sample] = []
    for name in (DIRECT, PLAIN, PRODUCT):
        if name not in servers:
            continue
        heard, _ = await _listen(servers[name], FEW if bench.quick else FIRST_STREAMS, "first", size, bench)
        values = {"first": 1000 * percentile([listener.first for listener in heard], 0.5)}
        heard, grown = await _listen(servers[name], FEW if bench.quick else STREAMS, "streams", size, bench)
        values["starved"] = 1000 * max(max(listener.longest for listener in heard) - PACE_S, 0.0)
        values["broken"] = float(sum(not listener.ended.done() or not listener.ended.result() for listener in heard))
        values |= {"memory": grown} if name == PRODUCT else {}
        found += [
            Sample(metric=f"proxy.streams.{kind}", system=name, value=value, n=len(heard))
            for kind, value in values.items()
        ]
    return found


async def _listen(
    server: BenchProcess, count: int, seed: str, size: LargeWorldSize, bench: Bench
) -> tuple[list[OpenStreamListener], float]:
    """Open so many streams and hear them to their end; also how much more the server held midway."""
    talks = ConversationGenerator(size, kib=2, seed=f"{bench.seed}.{seed}", streamed=True, model="slow")
    before, loop = held_by([server.pid]).rss, asyncio.get_running_loop()
    wires = [request(server.port, PATH, body) for body in talks.beginning(count).timed]
    listeners = [OpenStreamListener(wire, bench.stopwatch) for wire in wires]
    for listener in listeners:
        await loop.create_connection(partial(_itself, listener), HOST, server.port)
    await asyncio.sleep(PACE_S * len(STREAMED) / 2)
    during = held_by([server.pid]).rss
    await asyncio.wait({listener.ended for listener in listeners}, timeout=PATIENCE_S)
    return listeners, during - before
