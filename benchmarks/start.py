"""Measures startup time, and memory while idle.

A first start on an empty home, then a later one on the same home, both as `festinger serve`, timed from the
call of the program. Forwarding is timed on the later start: the proxy passes requests on before the store is
open. Memory is read from the idle server with its embedder loaded, and from its database server separately.
"""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

from benchmarks.contenders import stub_program
from benchmarks.load import ask_once
from benchmarks.own_server import serving, throw_away_home
from benchmarks.passing import PATH
from benchmarks.passthrough import SHAPES, chat_body
from benchmarks.result import BenchMetric, Sample, at_most
from benchmarks.server import LOOK_AGAIN_S, Program, bare_environment, launched, running, until_up
from benchmarks.suite import PRODUCT, Bench, SuiteResult
from festinger.errors import CannotStart, Unavailable
from festinger.store.embedded.cluster import find_postmaster
from festinger.store.embedded.holders import stop_if_idle
from festinger.store.paths import HomeLayout

MIB = 2**20

IDLE_S = 3.0
"""How long the server is left alone before its memory is read."""

IMPORTS = 5
"""Interpreters that are started to time the import; the median counts."""

METRICS: Sequence[BenchMetric] = (
    BenchMetric(name="start.cold", unit="s", about="first start, to ready", goal=at_most(20)),
    BenchMetric(name="start.warm", unit="s", about="later start, to ready", goal=at_most(4)),
    BenchMetric(name="start.forwarding", unit="s", about="later start, to a forwarded request", goal=at_most(1)),
    BenchMetric(name="start.import", unit="ms", about="`import festinger`", goal=at_most(300)),
    BenchMetric(name="memory.serve.rss", unit="MB", about="idle `serve`, resident", goal=at_most(350)),
    BenchMetric(name="memory.serve.uss", unit="MB", about="idle `serve`, its own pages only"),
    BenchMetric(name="memory.postgres.rss", unit="MB", about="its database server, shared pages in each process"),
    BenchMetric(name="memory.postgres.uss", unit="MB", about="its database server, own pages of each process"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessMemory:
    """In MiB: resident, and what would be freed if the processes ended."""

    rss: float
    uss: float


async def measure(bench: Bench) -> SuiteResult:
    try:
        samples = [*await _starts(bench), await _import(bench)]
    except Unavailable as error:
        raise CannotStart(error.message) from error
    return SuiteResult(samples=samples)


async def _starts(bench: Bench) -> list[Sample]:
    stub = stub_program(bench.folder)
    async with (
        running(stub, core=None, stopwatch=bench.stopwatch),
        throw_away_home(bench.folder, stopwatch=bench.stopwatch) as home,
    ):
        bench.say("Starting on an empty home.")
        cold, _, _ = await _start(serving(home, upstream_port=stub.port), home, bench=bench)
        # The database server too: joining a running one would not be a start.
        await stop_if_idle(HomeLayout(home=home.resolve()), stopwatch=bench.stopwatch)
        bench.say("Starting again on the same home.")
        warm, forwarding, memory = await _start(serving(home, upstream_port=stub.port), home, bench=bench)
    return [
        Sample(metric="start.cold", system=PRODUCT, value=cold),
        Sample(metric="start.warm", system=PRODUCT, value=warm),
        Sample(metric="start.forwarding", system=PRODUCT, value=forwarding),
        *(
            Sample(metric=f"memory.{who}.{kind}", system=PRODUCT, value=value)
            for who, held in memory.items()
            for kind, value in (("rss", held.rss), ("uss", held.uss))
        ),
    ]


async def _start(program: Program, home: Path, *, bench: Bench) -> tuple[float, float, dict[str, ProcessMemory]]:
    """Seconds to ready and to the first forwarded request, and the memory held then."""
    began = bench.stopwatch()
    async with launched(program) as server:
        forwarded = asyncio.create_task(_forwarded(program, bench))
        try:
            ready = await until_up(program, server, stopwatch=bench.stopwatch)
            first = await forwarded
        finally:
            forwarded.cancel()
        await asyncio.sleep(0 if bench.quick else IDLE_S)
        memory = {"serve": held_by([server.pid]), "postgres": held_by(family_of(find_postmaster(home / "pg")))}
    return ready - began, first - began, memory


async def _forwarded(program: Program, bench: Bench) -> float:
    """When the first request came back from the stub."""
    body = chat_body(SHAPES[0], seed=bench.seed)
    while True:
        answer = await ask_once(program.port, PATH, body, stopwatch=bench.stopwatch)
        if answer is not None and answer.status == 200:
            return bench.stopwatch()
        await asyncio.sleep(LOOK_AGAIN_S)


def family_of(pid: int | None) -> list[int]:
    if pid is None:
        raise CannotStart("The embedded database server left no trace of itself.")
    return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]


def held_by(pids: Sequence[int]) -> ProcessMemory:
    """What these processes hold together; a shared page counts twice as resident, and not as their own."""
    found = []
    for pid in pids:
        try:
            found.append(psutil.Process(pid).memory_full_info())
        except psutil.NoSuchProcess:
            continue  # a database server ends its idle helpers at will
    return ProcessMemory(rss=sum(one.rss for one in found) / MIB, uss=sum(one.uss for one in found) / MIB)


async def _import(bench: Bench) -> Sample:
    """What the import takes beyond starting Python at all."""
    times = 1 if bench.quick else IMPORTS
    empty = [await _interpreter("pass", bench) for _ in range(times)]
    loaded = [await _interpreter("import festinger", bench) for _ in range(times)]
    value = 1000 * max(median(loaded) - median(empty), 0.0)
    return Sample(metric="start.import", system=PRODUCT, value=value, n=times)


async def _interpreter(code: str, bench: Bench) -> float:
    began = bench.stopwatch()
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, env=bare_environment(bench.folder))
    if await process.wait():
        raise CannotStart(f"`{code}` failed.")
    return bench.stopwatch() - began
