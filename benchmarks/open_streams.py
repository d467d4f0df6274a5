"""Measures a thousand answers that stream at the same time.

A slow model gives each of them a word now and then. A proxy must pass every word on at once: the longest time
that any stream waited for its next word, beyond the model's own pace, is how long it starved.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import cast

from benchmarks.contenders import DIRECT
from benchmarks.conversation import ConversationGenerator
from benchmarks.large_world import LargeWorldSize
from benchmarks.load import HOST, request
from benchmarks.passing import PATH
from benchmarks.result import BenchMetric, Sample, at_most
from benchmarks.server import BenchProcess
from benchmarks.start import held_by
from benchmarks.stub import PACE_S, STREAMED
from benchmarks.suite import PRODUCT, Bench
from festinger.clock import Stopwatch

STREAMS, FEW = 1_000, 20
PATIENCE_S = 60.0

METRICS = (
    BenchMetric(name="proxy.streams.memory", unit="MiB", about=f"what {STREAMS:,} open streams add", goal=at_most(300)),
    BenchMetric(
        name="proxy.streams.starved",
        unit="ms",
        about="the longest that a stream waited beyond the model's pace",
        goal=at_most(50),
    ),
    BenchMetric(name="proxy.streams.broken", unit="", about="streams without an end", goal=at_most(0)),
)


class OpenStreamListener(asyncio.Protocol):
    """Reads one stream to its end, and records its longest silence."""

    def __init__(self, wire: bytes, stopwatch: Stopwatch) -> None:
        self.ended: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.longest = 0.0
        self._wire, self._stopwatch = wire, stopwatch
        self._last: float | None = None
        self._tail = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._wire)

    def data_received(self, data: bytes) -> None:
        now = self._stopwatch()
        # The first word takes longer than the pace: everybody connects at once.
        if self._last is not None:
            self.longest = max(self.longest, now - self._last)
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
    """All streams through the product, and directly from the model."""
    count = FEW if bench.quick else STREAMS
    found: list[Sample] = []
    for name in (DIRECT, PRODUCT):
        talks = ConversationGenerator(size, kib=2, seed=f"{bench.seed}.streams", streamed=True, model="slow")
        sent = talks.beginning(count).timed
        found += await _listen(name, servers[name], sent, stopwatch=bench.stopwatch)
    return found


async def _listen(name: str, server: BenchProcess, bodies: Sequence[bytes], *, stopwatch: Stopwatch) -> list[Sample]:
    before = held_by([server.pid]).rss
    loop = asyncio.get_running_loop()
    listeners = [OpenStreamListener(request(server.port, PATH, body), stopwatch) for body in bodies]
    for listener in listeners:
        await loop.create_connection(partial(_itself, listener), HOST, server.port)
    await asyncio.sleep(PACE_S * len(STREAMED) / 2)
    during = held_by([server.pid]).rss
    try:
        async with asyncio.timeout(PATIENCE_S):
            ends = await asyncio.gather(*(listener.ended for listener in listeners))
    except TimeoutError:
        ends = [listener.ended.done() and not listener.ended.cancelled() for listener in listeners]
    starved = 1000 * max(max(listener.longest for listener in listeners) - PACE_S, 0.0)
    values = {"memory": during - before, "starved": starved, "broken": float(ends.count(False))}
    return [
        Sample(metric=f"proxy.streams.{kind}", system=name, value=value, n=len(bodies))
        for kind, value in values.items()
        if kind != "memory" or name == PRODUCT
    ]
