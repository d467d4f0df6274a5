"""When does the embedded server rest?

When nobody holds it any more. Whoever leaves last does not wait for the grace to pass: a small process of its
own does, looks again under the start lock, and stops the server if nobody has come. Run as a program:
`python -m festinger.store.idle HOME SECONDS`.
"""

import asyncio
import sys
from pathlib import Path

import structlog

from festinger.clock import Stopwatch, system_stopwatch
from festinger.store import holders, locks, postmaster
from festinger.store.holders import Holder
from festinger.store.home import Layout
from festinger.store.programs import detach

log = structlog.get_logger()

LOCK_SECONDS = 120.0


def start_lock(layout: Layout) -> Path:
    return layout.run / "start.lock"


def holders_file(layout: Layout) -> Path:
    return layout.run / "holders"


async def leave(
    layout: Layout, holder: Holder, *, stop_when_idle: bool, grace: float, stopwatch: Stopwatch
) -> None:
    """Stop holding the server; the last one has it stopped."""
    try:
        async with locks.held(start_lock(layout), stopwatch=stopwatch, seconds=LOCK_SECONDS):
            rest = holders.leave(holders_file(layout), holder)
            if rest or not stop_when_idle:
                return
            if grace <= 0 or not sys.executable:
                await postmaster.stop(layout, stopwatch=stopwatch)
                return
        detach([sys.executable, "-m", "festinger.store.idle", layout.home, str(grace)])
    except OSError as error:
        # A home that was removed under us: its server ends by itself, and a close must not fail for it.
        log.warning("embedded server could not be left in order", room="store", reason=str(error))


async def stop_if_idle(layout: Layout, *, stopwatch: Stopwatch) -> bool:
    """Stop the server unless somebody holds it; whether it was stopped."""
    if not layout.run.is_dir():
        return False
    async with locks.held(start_lock(layout), stopwatch=stopwatch, seconds=LOCK_SECONDS):
        if holders.alive(holders.read(holders_file(layout)), started=holders.process_started):
            return False
        await postmaster.stop(layout, stopwatch=stopwatch)
        return True


async def _after(grace: float, home: Path) -> None:
    await asyncio.sleep(grace)
    await stop_if_idle(Layout(home=home), stopwatch=system_stopwatch)


if __name__ == "__main__":
    asyncio.run(_after(float(sys.argv[2]), Path(sys.argv[1])))
