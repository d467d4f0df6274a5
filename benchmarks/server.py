"""How is a server started for a measurement, on a core of its own, and how does it surely end?

`running` starts a program in a process group of its own, waits until it answers, and ends it whatever happens.
What it says goes to a file in the throw-away folder; when it does not come up, its last words are the reason.
"""

import asyncio
import os
import re
import signal
import socket
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load import HOST, ask_once
from festinger.clock import Stopwatch
from festinger.errors import Unavailable

LOOK_AGAIN_S = 0.01
END_S = 40.0
"""Longer than a server of ours gives running requests at a stop."""

KEPT_BACK = re.compile(r"(?i)^(FESTINGER|XDG)_|_PROXY$|KEY|TOKEN|SECRET|PASSWORD")
"""What a measured server does not see of our environment: settings, proxies and secrets of the person who measures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What is to be run, and when it counts as up."""

    name: str
    command: Sequence[str]
    port: int
    ready: str
    """A path that answers 200 when it is up."""
    folder: Path
    environment: Mapping[str, str]
    patience_s: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchProcess:
    name: str
    port: int
    pid: int


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind((HOST, 0))
        port: int = listening.getsockname()[1]
        return port


def bare_environment(home: Path, **more: str) -> dict[str, str]:
    """An environment with an empty home, in which the modules of this folder can be run."""
    kept = {name: value for name, value in os.environ.items() if KEPT_BACK.search(name) is None}
    paths = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**kept, "HOME": str(home), "PYTHONPATH": os.pathsep.join(paths), **more}


def two_cores() -> tuple[int, int] | tuple[None, None]:
    """A core for the server and one for everything else; none where there are not two, or none can be chosen."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return (cores[0], cores[1]) if len(cores) > 1 else (None, None)


@contextmanager
def on_core(core: int | None) -> Iterator[None]:
    """Stay on one core; what is started meanwhile stays there with all of its threads."""
    if core is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@asynccontextmanager
async def launched(program: Program, *, core: int | None = None) -> AsyncIterator[BenchProcess]:
    """Start a program, without waiting until it answers; it ends with the block."""
    with (program.folder / f"{program.name}.log").open("ab") as said, on_core(core):
        process = await asyncio.create_subprocess_exec(
            *program.command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env=dict(program.environment),
            cwd=program.folder,
            # Not our group: Ctrl-C reaches us first, and we end the servers in order.
            start_new_session=True,
        )
    try:
        yield BenchProcess(name=program.name, port=program.port, pid=process.pid)
    finally:
        await _end(process)


@asynccontextmanager
async def running(program: Program, *, core: int | None, stopwatch: Stopwatch) -> AsyncIterator[BenchProcess]:
    """Start a program on a core and wait until it answers; `Unavailable` with its last words if it does not."""
    async with launched(program, core=core) as server:
        await until_up(program, server, stopwatch=stopwatch)
        yield server


async def until_up(program: Program, server: BenchProcess, *, stopwatch: Stopwatch) -> float:
    """Wait until a server answers; when that was on the stopwatch."""
    deadline = stopwatch() + program.patience_s
    while stopwatch() < deadline:
        answer = await ask_once(program.port, program.ready, stopwatch=stopwatch)
        if answer is not None and answer.status == 200:
            return stopwatch()
        if not _lives(server.pid):
            raise Unavailable(f"`{program.name}` ended before it answered: {_last_words(program)}")
        await asyncio.sleep(LOOK_AGAIN_S)
    raise Unavailable(f"`{program.name}` did not answer within {program.patience_s:g} s: {_last_words(program)}")


def _lives(pid: int) -> bool:
    # asyncio collects its children by itself, so one that ended is no zombie.
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _last_words(program: Program) -> str:
    lines = (program.folder / f"{program.name}.log").read_text(errors="replace").strip().splitlines()
    return lines[-1][-300:] if lines else "it said nothing."


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ask the process to end, then end it and whatever it started in its group."""
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(END_S):
            await process.wait()
    except TimeoutError:
        pass
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
