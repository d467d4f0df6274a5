"""Who is using the embedded server right now?

One line an open: the pid and the moment at which that process began. A pid alone says little, since numbers
are used again; a process that died left no word, so the dead are dropped whenever the list is read. The list
says which folder it was written for: in a copy of a home it speaks of another server. The callers hold the
start lock.

When does the embedded server rest?

When nobody holds it any more. Whoever leaves last does not wait for the grace to pass: a small process of its
own does, looks again under the start lock, and stops the server if nobody has come. Run as a program:
`python -m festinger.store.embedded.holders HOME SECONDS`.
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
from festinger.store.paths import Layout, open_private

SAME_START_SECONDS = 0.05
"""The system counts a process's start in ticks of 10 ms; two readings of it may differ by rounding."""

StartedAt = Callable[[int], float | None]
"""When the live process with this pid began, in seconds since boot; none if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    pid: int
    started: float


def process_start_time(pid: int) -> float | None:
    try:
        process = psutil.Process(pid)
        # A zombie is dead; only its parent has not noticed. Counted from boot, because a clock that is set
        # moves both readings: nobody may seem dead because the time was corrected.
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time() - psutil.boot_time()
    except psutil.Error:
        return None


def current_holder() -> Holder:
    pid = os.getpid()
    return Holder(pid=pid, started=process_start_time(pid) or 0.0)


def live_holders(holders: Iterable[Holder], *, started: StartedAt) -> list[Holder]:
    """Those whose process is still the one that came."""

    def lives(holder: Holder) -> bool:
        began = started(holder.pid)
        return began is not None and abs(began - holder.started) < SAME_START_SECONDS

    return [holder for holder in holders if lives(holder)]


def remove_holder(holders: Iterable[Holder], leaving: Holder) -> list[Holder]:
    """The others, and the further opens of the same process."""
    rest = list(holders)
    if leaving in rest:
        rest.remove(leaving)
    return rest


def read_holders(path: Path) -> list[Holder]:
    """The list as it was left. A line that cannot be read was cut off by a crash, so its writer is dead."""
    if not path.exists():
        return []
    whose, *lines = path.read_text(encoding="utf-8").splitlines() or [""]
    if whose != _identity(path.parent):
        return []
    found = []
    for line in lines:
        pid, _, started = line.partition(" ")
        try:
            found.append(Holder(pid=int(pid), started=float(started)))
        except ValueError:
            continue
    return found


def write_holders(path: Path, holders: Iterable[Holder]) -> None:
    beside = path.with_name(f"{path.name}.new")
    beside.unlink(missing_ok=True)
    with os.fdopen(open_private(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="utf-8") as file:
        file.write(f"{_identity(path.parent)}\n")
        file.writelines(f"{holder.pid} {holder.started!r}\n" for holder in holders)
    beside.rename(path)


def _identity(folder: Path) -> str:
    found = folder.stat()
    return f"{found.st_dev}:{found.st_ino}"


def register_holder(path: Path, holder: Holder) -> None:
    write_holders(path, [*live_holders(read_holders(path), started=process_start_time), holder])


def unregister_holder(path: Path, holder: Holder) -> list[Holder]:
    """Those who are left."""
    rest = live_holders(remove_holder(read_holders(path), holder), started=process_start_time)
    write_holders(path, rest)
    return rest


log = structlog.get_logger()

LOCK_SECONDS = 120.0


def start_lock(layout: Layout) -> Path:
    return layout.run / "start.lock"


def holders_file(layout: Layout) -> Path:
    return layout.run / "holders"


async def release_server(
    layout: Layout, holder: Holder, *, stop_when_idle: bool, grace: float, stopwatch: Stopwatch
) -> None:
    """Stop holding the server; the last one has it stopped."""
    try:
        async with paths.hold_lock(start_lock(layout), stopwatch=stopwatch, seconds=LOCK_SECONDS):
            rest = unregister_holder(holders_file(layout), holder)
            if rest or not stop_when_idle:
                return
            if grace <= 0 or not sys.executable:
                await cluster.stop_server(layout, stopwatch=stopwatch)
                return
        start_detached([sys.executable, "-m", "festinger.store.embedded.holders", layout.home, str(grace)])
    except OSError as error:
        # A home that was removed under us: its server ends by itself, and a close must not fail for it.
        log.warning("embedded server could not be left in order", room="store", reason=str(error))


async def stop_if_idle(layout: Layout, *, stopwatch: Stopwatch) -> bool:
    """Stop the server unless somebody holds it; whether it was stopped."""
    if not layout.run.is_dir():
        return False
    async with paths.hold_lock(start_lock(layout), stopwatch=stopwatch, seconds=LOCK_SECONDS):
        if live_holders(read_holders(holders_file(layout)), started=process_start_time):
            return False
        await cluster.stop_server(layout, stopwatch=stopwatch)
        return True


async def _after(grace: float, home: Path) -> None:
    await asyncio.sleep(grace)
    await stop_if_idle(Layout(home=home), stopwatch=system_stopwatch)


if __name__ == "__main__":
    asyncio.run(_after(float(sys.argv[2]), Path(sys.argv[1])))
