"""The suite `durability`: kill or stop a server under load, and count delivered exchanges that are not in the store.

Each round starts `festinger serve` on the same home, lets clients chat through it from its first second on, and ends
it in the middle: with SIGKILL in one third of the rounds, with SIGTERM in another; in the last, first its worker is
killed, which it starts again, and then the server. An exchange counts as delivered
once its client has read the last byte. After the last round the server starts once more and brings in what the spool
holds; then every delivered exchange must be in the store, once.
"""

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import psutil

from benchmarks.contenders import stub_program
from benchmarks.load import Connection, connect, request
from benchmarks.own_server import run_apart, serving, settings_at, throw_away_home
from benchmarks.passing import PATH
from benchmarks.result import BenchMetric, Sample, at_most
from benchmarks.server import LOOK_AGAIN_S, Program, launched, running, until_up
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult, silence
from festinger.errors import CannotStart, Unavailable
from festinger.ids import MAIN_SPACE
from festinger.runtime.app import StartOptions, open_app
from festinger.store.paths import HomeLayout
from festinger.store.queries import load_queries
from festinger.store.repositories.request_log import ENDING

Q = load_queries("benchmarks")

WORKER = "worker"
ENDS: Mapping[str, signal.Signals] = {"kill": signal.SIGKILL, "stop": signal.SIGTERM, WORKER: signal.SIGKILL}
ROUNDS, QUICK_ROUNDS = 50, 2
CLIENTS = 8
MOST_BEFORE_END = 120
"""A round ends after a random number of deliveries up to this one, once the server is ready."""
THINK_S = 0.1
"""The pause between an answer and the client's next request."""
DRAIN_S = 900.0
"""A busy machine takes a while for what a hundred rounds leave behind."""

METRICS: Sequence[BenchMetric] = tuple(
    metric
    for how, number in ENDS.items()
    for metric in (
        BenchMetric(
            name=f"durability.{how}.lost",
            unit="exchanges",
            about=f"delivered, then {number.name}, and not in the store",
            goal=at_most(0),
        ),
        BenchMetric(
            name=f"durability.{how}.doubled",
            unit="exchanges",
            about=f"delivered, then {number.name}, and in the store more than once",
            goal=at_most(0),
        ),
        BenchMetric(name=f"durability.{how}.delivered", unit="exchanges", about="read to the last byte"),
    )
)


@dataclass(slots=True, kw_only=True)
class DurabilityReplies:
    """What clients read to the last byte, by the text that they sent."""

    texts: list[str] = field(default_factory=list)
    is_over: bool = False


async def measure(bench: Bench) -> SuiteResult:
    try:
        delivered, stored = await _rounds(bench)
    except Unavailable as error:
        raise CannotStart(error.message) from error
    samples: list[Sample] = []
    for how in ENDS:
        own = [text for text in delivered if f" {how}-" in text]
        for name, value in (
            ("lost", sum(stored[text] == 0 for text in own)),
            ("doubled", sum(stored[text] > 1 for text in own)),
            ("delivered", len(own)),
        ):
            samples.append(Sample(metric=f"durability.{how}.{name}", system=PRODUCT, value=value, n=len(own)))
    return SuiteResult(samples=samples)


async def _rounds(bench: Bench) -> tuple[list[str], Counter[str]]:
    """The texts that were delivered, and how often the store holds each text."""
    stub, chance, delivered = stub_program(bench.folder), Random(bench.seed), list[str]()  # noqa: S311
    rounds = QUICK_ROUNDS if bench.quick else bench.data.limit or ROUNDS
    async with (
        running(stub, core=None, stopwatch=bench.stopwatch),
        throw_away_home(bench.folder, stopwatch=bench.stopwatch) as home,
    ):
        for how, number in ENDS.items():
            for at in range(rounds):
                program = serving(home, upstream_port=stub.port)
                enough = chance.randrange(1, MOST_BEFORE_END)
                got = await _round(program, f"{how}-{at}", number, enough=enough, bench=bench)
                delivered += got
                bench.say(f"Round {at + 1} of {rounds} by {number.name}: {len(got)} delivered.")
        program = serving(home, upstream_port=stub.port)
        async with launched(program) as server:
            await until_up(program, server, stopwatch=bench.stopwatch)
            await _drained(home, bench)
        return delivered, await _stored(home)


async def _round(program: Program, name: str, number: signal.Signals, *, enough: int, bench: Bench) -> list[str]:
    """Serve clients and end the server in the middle; returns what was delivered."""
    done = DurabilityReplies()
    async with launched(program) as server, asyncio.TaskGroup() as group:
        for client in range(CLIENTS):
            group.create_task(_chat(program.port, f"{name}-{client}", done, bench))
        try:
            await until_up(program, server, stopwatch=bench.stopwatch)
            before = len(done.texts)
            while len(done.texts) < before + enough:  # noqa: ASYNC110 - many clients add to it
                await asyncio.sleep(LOOK_AGAIN_S)
            if name.startswith(WORKER):
                for worker in psutil.Process(server.pid).children():
                    worker.kill()
                while len(done.texts) < before + 2 * enough:  # noqa: ASYNC110 - many clients add to it
                    await asyncio.sleep(LOOK_AGAIN_S)
            os.kill(server.pid, number)
            await _gone(server.pid)
        finally:
            done.is_over = True
    return done.texts


async def _chat(port: int, name: str, done: DurabilityReplies, bench: Bench) -> None:
    """One client: its next request follows the complete answer to the last one."""
    line: Connection | None = None
    asked = 0
    while not done.is_over:
        asked += 1
        text = f"Remember number {name}-{asked}."
        body = {"model": "stub", "messages": [{"role": "user", "content": text}], "stream": asked % 2 == 0}
        try:
            line = line or await connect(port, bench.stopwatch)
            answer = await line.ask(request(port, PATH, json.dumps(body).encode()))
        except (OSError, TimeoutError):
            if line is not None:
                line.close()
            line = None
            await asyncio.sleep(LOOK_AGAIN_S)
            continue
        if answer.status == 200:
            done.texts.append(text)
        await asyncio.sleep(THINK_S)
    if line is not None:
        line.close()


async def _gone(pid: int) -> None:
    """Wait until a process has ended; asyncio reaps it."""
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        await asyncio.sleep(LOOK_AGAIN_S)


async def _drained(home: Path, bench: Bench) -> None:
    """Wait until a running server has moved everything from its spool to the store."""
    deadline = bench.stopwatch() + DRAIN_S
    while bench.stopwatch() < deadline:
        if not any(file.stat().st_size for file in HomeLayout(home=home).spool.glob(f"*{ENDING}")):
            return
        await asyncio.sleep(LOOK_AGAIN_S)
    raise Unavailable("The spool was not brought to the store.")


async def _stored(home: Path) -> Counter[str]:
    """How often the store holds each text; read by a process that has the home's password."""
    told = home.parent / "stored.json"
    await run_apart("durability", str(told), home=home)
    return Counter(json.loads(told.read_text()))


async def stored_in(home: Path) -> dict[str, int]:
    settings = settings_at(home, {"embedding.model": "none:", "store.stop_when_idle": False})
    async with open_app(settings, door="bench", progress=silence, start=StartOptions()) as app:
        rows = await app.store.all(Q["texts_said"], space=MAIN_SPACE)
    return {row["text"]: row["times"] for row in rows}


DURABILITY = Suite(
    name="durability",
    about="Whether a server that is killed or stopped under load loses an exchange that was delivered.",
    metrics=METRICS,
    measure=measure,
)

if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(asyncio.run(stored_in(Path(os.environ["FESTINGER_HOME"])))))
