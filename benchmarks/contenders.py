"""Starts the systems that requests pass through, each on its own core.

They are `direct` (the stub itself), the product, the plainest proxy, and LiteLLM's. All stand before the same
stub. A proxy has one core with all that it starts; the stub and the client share another. The product must
come up, or there is nothing to measure; any other that does not is reported as not run.
"""

import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from benchmarks import peer_systems as peers
from benchmarks.load import HOST
from benchmarks.own_server import serving, throw_away_home
from benchmarks.result import System, SystemKind, SystemStatus
from benchmarks.server import BenchProcess, Program, bare_environment, free_port, running, two_cores
from benchmarks.suite import PRODUCT, Bench
from festinger import __version__
from festinger.errors import CannotStart, Unavailable

DIRECT, PLAIN = "direct", "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contenders:
    servers: Mapping[str, BenchProcess]
    """Those that came up, in the order of their turns."""
    systems: Sequence[System]
    """All of them, with their status."""


@asynccontextmanager
async def contenders(bench: Bench, *, home: Path | None = None) -> AsyncIterator[Contenders]:
    """Start all systems, the product on this home or an empty one; all end with the block."""
    server_core, other_core = two_cores()
    pinned = {"pinned_to_one_core": server_core is not None}
    async with AsyncExitStack() as stack:
        stub = await stack.enter_async_context(
            running(stub_program(bench.folder), core=other_core, stopwatch=bench.stopwatch)
        )
        own = throw_away_home(bench.folder, stopwatch=bench.stopwatch)
        there = home if home is not None else await stack.enter_async_context(own)
        ours = await _ourselves(stack, there, bench, core=server_core, upstream_port=stub.port)
        servers = {DIRECT: stub, PRODUCT: ours}
        systems = [
            System(name=PRODUCT, kind=SystemKind.PRODUCT, version=__version__, params=pinned),
            System(name=DIRECT, kind=SystemKind.BASELINE, version=__version__),
        ]
        for system in (
            System(name=PLAIN, kind=SystemKind.BASELINE, params=pinned),
            System(name=peers.LITELLM, kind=SystemKind.PEER, params={**pinned, "workers": 1, "database": False}),
        ):
            joined, server = await _joined(stack, system, bench, core=server_core, upstream_port=stub.port)
            systems.append(joined)
            servers |= {system.name: server} if server is not None else {}
        yield Contenders(servers=servers, systems=systems)


async def _ourselves(
    stack: AsyncExitStack, home: Path, bench: Bench, *, core: int | None, upstream_port: int
) -> BenchProcess:
    program = serving(home, upstream_port=upstream_port)
    try:
        return await stack.enter_async_context(running(program, core=core, stopwatch=bench.stopwatch))
    except Unavailable as error:
        raise CannotStart(error.message) from error


async def _joined(
    stack: AsyncExitStack, system: System, bench: Bench, *, core: int | None, upstream_port: int
) -> tuple[System, BenchProcess | None]:
    """The system with its server, or with the reason why there is none."""
    try:
        if system.name == PLAIN:
            parts = [f"{name} {version(name)}" for name in ("starlette", "uvicorn", "httpx2")]
            system = replace(system, version=", ".join(parts))
            program = _plain(bench.folder, upstream_port=upstream_port)
        else:
            python = await peers.python_of(system.name, bench)
            system = replace(system, version=await peers.version_of(system.name, python))
            program = peers.litellm(python, bench, upstream_port=upstream_port)
        bench.say(f"Starting {system.name}.")
        server = await stack.enter_async_context(running(program, core=core, stopwatch=bench.stopwatch))
    except Unavailable as error:
        return replace(system, status=SystemStatus.NOT_RUN, reason=error.message), None
    return system, server


def stub_program(folder: Path) -> Program:
    port = free_port()
    return _own_module("stub", str(port), port=port, folder=folder)


def _plain(folder: Path, *, upstream_port: int) -> Program:
    port = free_port()
    return _own_module(PLAIN, str(port), f"http://{HOST}:{upstream_port}", port=port, folder=folder)


def _own_module(name: str, *arguments: str, port: int, folder: Path) -> Program:
    return Program(
        name=name,
        command=[sys.executable, "-m", f"benchmarks.{name}", *arguments],
        port=port,
        ready="/",
        folder=folder,
        environment=bare_environment(folder),
    )
