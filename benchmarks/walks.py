"""The suite `walks`: how many modules, functions and classes one operation runs through, and how deep its stack is.

Six walks on the real server, in this process, with a stub upstream. Each begins at an outward interface (HTTP, library,
name of a job), so that it is the same walk after a restructuring, and lasts until none of its tasks is left. The second
time counts, without what is loaded once. Frames of benchmarks, of demos and of tasks that ran before do not.
"""

import asyncio
import json
import sys
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from types import FrameType
from typing import Any

from examples.ground import WAIT_MS, DemoEnvironment, open_environment

from benchmarks.contenders import stub_program
from benchmarks.load import HOST, LoadResponse, connect, request
from benchmarks.own_server import throw_away_home
from benchmarks.result import BenchMetric, GoalOp, Sample, at_most
from benchmarks.server import running
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult, silence
from festinger.client.memory import Memory
from festinger.clock import system_stopwatch
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE
from festinger.jobs.worker import WorkerPool
from festinger.services.access import issue_key
from festinger.store.repositories.auth import AccessRole

COUNTS = ("modules", "functions", "classes", "depth")
GOALS = dict.fromkeys(("chat.modules", "learn.modules"), at_most(60))
GOALS |= dict.fromkeys(("chat.classes", "learn.classes"), at_most(30))
SERVERS = ("orion", "vega")  # what a walk is about: one to warm up, one to count
SETTINGS = {"embedding.model": "hashed:64", "llm.resolve": "", "proxy.first_memory_deadline_ms": WAIT_MS}
HARNESS = ("benchmarks.", "examples.")
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
Work = Coroutine[Any, Any, object]


@dataclass(slots=True, kw_only=True)
class Walk:
    """What was run through since it was made, but for what tasks did that ran before."""

    modules: set[str] = field(default_factory=set)
    functions: set[tuple[str, str]] = field(default_factory=set)
    classes: set[type] = field(default_factory=set)
    depth: int = 0
    others: set[asyncio.Task[Any]] = field(default_factory=asyncio.all_tasks)

    def note(self, frame: FrameType, module: str) -> None:
        owner, name = _owner(frame), frame.f_code.co_qualname
        if owner is not None:
            self.classes.add(owner)
            # What dataclasses generate does not say whose it is.
            name = name.replace("__create_fn__.<locals>", owner.__qualname__)
        self.modules.add(module)
        self.functions.add((module, name))
        self.depth = max(self.depth, _depth(frame))

    def count(self, what: str) -> int:
        return self.depth if what == "depth" else len(getattr(self, what))


def _module(frame: FrameType) -> str:
    """The module of a frame that counts; empty for any other."""
    name = str(frame.f_globals.get("__name__", ""))
    counts = name.startswith("festinger.") and not name.startswith(HARNESS)
    return name if counts and frame.f_code.co_name not in COMPREHENSIONS else ""


def _owner(frame: FrameType) -> type | None:
    """The class of ours whose method a frame runs."""
    first = frame.f_code.co_varnames[0] if frame.f_code.co_argcount else ""
    value = frame.f_locals[first] if first in ("self", "cls") else None
    owner = value if isinstance(value, type) else type(value)
    return owner if owner.__module__.startswith("festinger.") else None


def _depth(frame: FrameType | None) -> int:
    """Frames that count, down to the event loop or the start of the thread."""
    depth = 0
    while frame is not None and frame.f_globals.get("__name__") != "asyncio.events":
        depth, frame = depth + bool(_module(frame)), frame.f_back
    return depth


@contextmanager
def noted_calls() -> Iterator[list[Walk]]:
    """The walks in which calls are noted: of this thread, and of those that start from now on."""
    walks, loop_thread = list[Walk](), threading.get_ident()

    def called(frame: FrameType, event: str, _arg: Any) -> None:
        if event == "call" and walks and (module := _module(frame)):
            task = asyncio.current_task() if threading.get_ident() == loop_thread else None
            if task not in walks[-1].others:
                walks[-1].note(frame, module)

    threading.setprofile(called)
    sys.setprofile(called)
    try:
        yield walks
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


async def post(ground: DemoEnvironment, path: str, body: object, *headers: str) -> LoadResponse:
    line = await connect(ground.port, system_stopwatch)
    answer = await line.ask(request(ground.port, path, json.dumps(body).encode(), headers=headers))
    line.close()
    assert answer.status in range(200, 300), answer
    return answer


async def chat(ground: DemoEnvironment, memory: Memory, server: str) -> Work:
    await memory.learn(f"The server {server} is backed up at noon.")

    async def ask() -> None:
        messages = [{"role": "user", "content": f"When is the server {server} backed up?"}]
        await post(ground, "/v1/chat/completions", {"model": "stub", "messages": messages})
        await (await ground.early_server.server()).writer.settled()

    return ask()


async def learn(_ground: DemoEnvironment, memory: Memory, server: str) -> Work:
    await memory.learn(f"The server {server} listens on port 5432.")
    return memory.learn(f"The server {server} listens on port 5433.")


async def recall(_ground: DemoEnvironment, memory: Memory, server: str) -> Work:
    return memory.recall(f"On which port does the server {server} listen?")


async def undo(_ground: DemoEnvironment, memory: Memory, server: str) -> Work:
    return memory.undo(str((await memory.learn(f"The server {server} listens on port 5434.")).change))


async def verdict(ground: DemoEnvironment, _memory: Memory, server: str) -> Work:
    key = await issue_key(ground.app, server, role=AccessRole.REVIEWER, space=MAIN_SPACE, agent=None, by="bench")
    path, header = "/admin/api/proposals", f"X-Festinger-Key: {key[1]}"
    draft = {"what": f"Restart {server} every week", "category": "reliability", "scope": "servers"}
    proposal = json.loads((await post(ground, path, draft, header)).body)["proposal"]
    return post(ground, f"{path}/{proposal['id']}/verdict", {"verdict": "approve"}, header)


async def resolution(ground: DemoEnvironment, _memory: Memory, server: str) -> Work:
    # A rule decides this conflict: the newer fact is the more precise one.
    facts = [f"{server} -isa machine", f"{server}kind -isa machine", f"{server} -isa {server}kind"]
    await post(ground, "/iknowthat", {"facts": facts})

    async def resolve() -> None:
        await ground.app.jobs.run_now("resolve_conflicts")
        await WorkerPool(ground.app.jobs, shutdown_seconds=1).drain()

    return resolve()


PREPARE = (chat, learn, recall, undo, verdict, resolution)  # each returns the walk that it made possible


async def recorded_walks(bench: Bench) -> dict[str, Walk]:
    folder, watch, stub = bench.folder, bench.stopwatch, stub_program(bench.folder)
    given, found = {**SETTINGS, "proxy.upstream": f"http://{HOST}:{stub.port}"}, dict[str, Walk]()
    with noted_calls() as walks:
        async with running(stub, core=None, stopwatch=watch), throw_away_home(folder, stopwatch=watch):
            async with open_environment(folder, say=silence, **given) as ground:
                memory = Memory(space=MAIN_SPACE, agent=DEFAULT_AGENT, session=None, _app=ground.app)
                for prepare, server in product(PREPARE, SERVERS):
                    work = await prepare(ground, memory, server)
                    await WorkerPool(ground.app.jobs, shutdown_seconds=1).drain()
                    walks.append(Walk())
                    begun = asyncio.create_task(work)
                    while left := asyncio.all_tasks() - walks[-1].others:
                        await asyncio.wait(left)
                    found[prepare.__name__] = walks.pop()
                    await begun
    return found


async def measure(bench: Bench) -> SuiteResult:
    walks = await recorded_walks(bench)
    values = {f"walks.{name}.{what}": walks[name].count(what) for name, what in product(walks, COUNTS)}
    return SuiteResult(samples=[Sample(metric=name, system=PRODUCT, value=values[name]) for name in values])


WALKS = Suite(
    name="walks",
    about="What an operation runs through: modules, functions, classes, and frames on the stack.",
    metrics=[
        BenchMetric(name=f"walks.{name}", unit="count", about=name, goal=GOALS.get(name), better=GoalOp.AT_MOST)
        for name in map(".".join, product([each.__name__ for each in PREPARE], COUNTS))
    ],
    measure=measure,
    timed=False,
)
