"""Measures what an exchange costs beyond the answer: processor time and round trips to the database.

Clients hold conversations through `festinger serve` at a steady pace; then the server is left alone until it has
nothing more to do. Counted is the processor time of the process that serves, of its worker and of the database, and
how often either process waited for the database. What they do anyway, measured before, is taken off. Both figures
hang little on how busy the machine is.
"""

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import psutil

from benchmarks.contenders import stub_program
from benchmarks.load import ask_once, in_turn, request
from benchmarks.own_server import serving, throw_away_home
from benchmarks.passing import PATH
from benchmarks.result import BenchMetric, Sample, at_most
from benchmarks.server import BenchProcess, Program, running
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult
from festinger.errors import CannotStart
from festinger.store.embedded.cluster import find_postmaster

CLIENTS, TURNS, QUICK_TURNS = 8, 40, 2
PAUSE_S = 0.25
"""Between an answer and the next message of a client."""
IDLE_S = 10.0
LOOK_S = 2.0
IDLE_CPU = 0.04
"""Processor seconds a second below which the server has nothing more to do."""
WORDS = tuple(
    "server deploy table index branch ticket invoice garden recipe train meeting budget draft chapter report "  # noqa: SIM905
    "printer router backup window engine lesson melody kitchen harbor forest bridge market doctor letter museum".split()
)

METRICS: Sequence[BenchMetric] = (
    BenchMetric(name="background.serving_ms", unit="ms", about="processor time of the serving process an exchange"),
    BenchMetric(
        name="background.worker_ms", unit="ms", about="processor time of the worker without models", goal=at_most(4)
    ),
    BenchMetric(name="background.models_ms", unit="ms", about="processor time of small models, which index and read"),
    BenchMetric(name="background.store_ms", unit="ms", about="processor time of the database an exchange"),
    BenchMetric(name="background.round_trips", unit="", about="waits for the database an exchange", goal=at_most(3)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What was spent since the start: seconds, and round trips."""

    serving: float
    worker: float
    models: float
    store: float
    round_trips: float
    at: float

    def since(self, before: "Spent", *, idle: "Spent | None" = None) -> "Spent":
        """What was spent after `before`, without what is spent in that time anyway."""
        seconds = self.at - before.at
        share = seconds / idle.at if idle else 0.0

        def less(name: str) -> float:
            return float(getattr(self, name) - getattr(before, name) - (share * getattr(idle, name) if idle else 0.0))

        names = ("serving", "worker", "models", "store", "round_trips")
        return Spent(**{name: less(name) for name in names}, at=seconds)


async def measure(bench: Bench) -> SuiteResult:
    stub, turns = stub_program(bench.folder), QUICK_TURNS if bench.quick else TURNS
    async with (
        running(stub, core=None, stopwatch=bench.stopwatch),
        throw_away_home(bench.folder, stopwatch=bench.stopwatch) as home,
        running(
            _without_models(serving(home, upstream_port=stub.port)), core=None, stopwatch=bench.stopwatch
        ) as server,
    ):
        await _talk(server, 1, bench=bench, seed="warm")
        await _quiet(server, home, bench)
        before = await _spent(server, home, bench)
        await asyncio.sleep(0.1 if bench.quick else IDLE_S)
        idle = (await _spent(server, home, bench)).since(before)
        before = await _spent(server, home, bench)
        await _talk(server, turns, bench=bench, seed="timed")
        await _quiet(server, home, bench)
        spent = (await _spent(server, home, bench)).since(before, idle=idle)
    exchanges = CLIENTS * turns
    values = {
        "serving_ms": 1000 * spent.serving,
        "worker_ms": 1000 * spent.worker,
        "models_ms": 1000 * spent.models,
        "store_ms": 1000 * spent.store,
        "round_trips": spent.round_trips,
    }
    samples = [
        Sample(metric=f"background.{name}", system=PRODUCT, value=max(value, 0.0) / exchanges, n=exchanges)
        for name, value in values.items()
    ]
    return SuiteResult(samples=samples)


def _without_models(program: Program) -> Program:
    """The stub stands for a model; that it would also read and judge for us is not measured here."""
    silent = {"FESTINGER_LLM__WRITE": "", "FESTINGER_LLM__JUDGE": ""}
    return replace(program, environment={**program.environment, **silent})


async def _talk(server: BenchProcess, turns: int, *, bench: Bench, seed: str) -> None:
    """Conversations at once, each with its own words; a history grows with every turn."""
    await asyncio.gather(
        *(_converse(server, turns, bench, f"{bench.seed}.{seed}.{client}") for client in range(CLIENTS))
    )


async def _converse(server: BenchProcess, turns: int, bench: Bench, seed: str) -> None:
    chance, history = Random(seed), []  # noqa: S311 - words to send, not a secret
    for turn in range(turns):
        said = " ".join(chance.choices(WORDS, k=20))
        history.append({"role": "user", "content": f"Turn {turn} of {seed}: what about the {said}?"})
        body = json.dumps({"model": "stub", "messages": history}).encode()
        done = await in_turn(server.port, [request(server.port, PATH, body)], stopwatch=bench.stopwatch)
        if done.errors:
            raise CannotStart("A request had no answer.")
        history.append({"role": "assistant", "content": f"About {' '.join(chance.choices(WORDS, k=10))}."})
        await asyncio.sleep(PAUSE_S)


async def _quiet(server: BenchProcess, home: Path, bench: Bench) -> None:
    """Wait until the server has nothing more to do."""
    last = await _spent(server, home, bench)
    while True:
        await asyncio.sleep(0.1 if bench.quick else LOOK_S)
        now = await _spent(server, home, bench)
        spent = now.since(last)
        if bench.quick or spent.serving + spent.worker + spent.models < IDLE_CPU * spent.at:
            return
        last = now


async def _spent(server: BenchProcess, home: Path, bench: Bench) -> Spent:
    serving = psutil.Process(server.pid)
    postmaster = psutil.Process(find_postmaster(home / "pg") or 0)
    workers = [child for child in serving.children() if "worker" in child.cmdline()]
    answer = await ask_once(server.port, "/admin/metrics", stopwatch=bench.stopwatch)
    counted = re.search(rb"^festinger_store_round_trips_total ([\d.e+]+)", answer.body if answer else b"", re.MULTILINE)
    return Spent(
        serving=_main(serving),
        worker=sum(map(_main, workers)),
        models=sum(_seconds(each) - _main(each) for each in (serving, *workers)),
        store=sum(_seconds(each, ended=True) for each in (postmaster, *postmaster.children(recursive=True))),
        round_trips=float(counted[1]) if counted else 0.0,
        at=bench.stopwatch(),
    )


def _main(process: psutil.Process) -> float:
    """What the first thread spent: all but the models and the disk."""
    return sum(float(each.user_time + each.system_time) for each in process.threads() if each.id == process.pid)


def _seconds(process: psutil.Process, *, ended: bool = False) -> float:
    times = process.cpu_times()
    return float(times.user + times.system + (times.children_user + times.children_system if ended else 0.0))


BACKGROUND = Suite(
    name="background",
    about="What an exchange costs the server, its worker and the database beyond the answer.",
    metrics=METRICS,
    measure=measure,
)
