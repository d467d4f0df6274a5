"""Tracks the processes that use the embedded server and stops it when the last one leaves.

The holders file has one line per open: the pid and the start time of the process, since pids are reused. Dead
processes are dropped whenever the list is read. The list records the folder it was written for, because in a
copy of a home it refers to another server. Callers hold the start lock. The last holder does not wait for the
grace period itself: a small detached process (`python -m festinger.store.embedded.holders HOME SECONDS`)
waits, checks again under the start lock, and stops the server if nobody has come.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil
import structlog

from festinger.clock import Stopwatch, system_stopwatch
from festinger.store import paths
from festinger.store.embedded import cluster
from festinger.store.embedded.programs import start_detached
from festinger.store.paths import HomeLayout, open_private_file

SAME_START_SECONDS = 0.05
"""The system counts process starts in ticks of 10 ms; two readings may differ by rounding."""

StartedAt = Callable[[int], float | None]
"""Returns when the live process with this pid began, in seconds since boot, or `None` if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerHolder:
    pid: int
    started: float


def process_start_time(pid: int) -> float | None:
    try:
        process = psutil.Process(pid)
        # A zombie is dead; its parent just has not noticed. Measured from boot, because setting the clock
        # moves both readings: a time correction must not make a live process look dead.
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time() - psutil.boot_time()
    except psutil.Error:
        return None


def current_holder() -> ServerHolder:
    pid = os.getpid()
    return ServerHolder(pid=pid, started=process_start_time(pid) or 0.0)


def filter_live_holders(holders: Iterable[ServerHolder], *, started: StartedAt) -> list[ServerHolder]:
    """Return the holders whose process is still the one that registered."""

    def lives(holder: ServerHolder) -> bool:
        began = started(holder.pid)
        return began is not None and abs(began - holder.started) < SAME_START_SECONDS

    return [holder for holder in holders if lives(holder)]


def remove_holder(holders: Iterable[ServerHolder], leaving: ServerHolder) -> list[ServerHolder]:
    """Remove one open of a process; its other opens stay."""
    rest = list(holders)
    if leaving in rest:
        rest.remove(leaving)
    return rest


def read_holders(path: Path) -> list[ServerHolder]:
    """Read the list. A line that cannot be parsed was cut off by a crash, so its writer is dead."""
    if not path.exists():
        return []
    whose, *lines = path.read_text(encoding="utf-8").splitlines() or [""]
    if whose != _identity(path.parent):
        return []
    found = []
    for line in lines:
        pid, _, started = line.partition(" ")
        try:
            found.append(ServerHolder(pid=int(pid), started=float(started)))
        except ValueError:
            continue
    return found


def write_holders(path: Path, holders: Iterable[ServerHolder]) -> None:
    beside = path.with_name(f"{path.name}.new")
    beside.unlink(missing_ok=True)
    with os.fdopen(open_private_file(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="utf-8") as file:
        file.write(f"{_identity(path.parent)}\n")
        file.writelines(f"{holder.pid} {holder.started!r}\n" for holder in holders)
    beside.rename(path)


def _identity(folder: Path) -> str:
    found = folder.stat()
    return f"{found.st_dev}:{found.st_ino}"


def register_holder(path: Path, holder: ServerHolder) -> None:
    write_holders(path, [*filter_live_holders(read_holders(path), started=process_start_time), holder])


def unregister_holder(path: Path, holder: ServerHolder) -> list[ServerHolder]:
    """Remove a holder; return those that are left."""
    rest = filter_live_holders(remove_holder(read_holders(path), holder), started=process_start_time)
    write_holders(path, rest)
    return rest


log = structlog.get_logger()

LOCK_SECONDS = 120.0


def start_lock(layout: HomeLayout) -> Path:
    return layout.run / "start.lock"


def holders_path(layout: HomeLayout) -> Path:
    return layout.run / "holders"


async def release_server(
    layout: HomeLayout, holder: ServerHolder, *, stop_when_idle: bool, grace: float, stopwatch: Stopwatch
) -> None:
    """Stop holding the server; the last holder has it stopped."""
    try:
        async with paths.hold_lock(start_lock(layout), stopwatch=stopwatch, seconds=LOCK_SECONDS):
            rest = unregister_holder(holders_path(layout), holder)
            if rest or not stop_when_idle:
                return
            if grace <= 0 or not sys.executable:
                await cluster.stop_server(layout, stopwatch=stopwatch)
                return
        start_detached([sys.executable, "-m", "festinger.store.embedded.holders", layout.home, str(grace)])
    except OSError as error:
        # If the home was removed, its server ends by itself; closing must not fail because of it.
        log.warning("embedded server could not be left in order", room="store", reason=str(error))


async def stop_if_idle(layout: HomeLayout, *, stopwatch: Stopwatch) -> bool:
    """Stop the server unless somebody holds it; return whether it was stopped."""
    if not layout.run.is_dir():
        return False
    async with paths.hold_lock(start_lock(layout), stopwatch=stopwatch, seconds=LOCK_SECONDS):
        if filter_live_holders(read_holders(holders_path(layout)), started=process_start_time):
            return False
        await cluster.stop_server(layout, stopwatch=stopwatch)
        return True


async def _after(grace: float, home: Path) -> None:
    await asyncio.sleep(grace)
    await stop_if_idle(HomeLayout(home=home), stopwatch=system_stopwatch)


if __name__ == "__main__":
    asyncio.run(_after(float(sys.argv[2]), Path(sys.argv[1])))
