"""Who may go first, and is anybody still in there?

Two file locks of the kernel (`flock`). The start lock is held by whoever starts or stops the server. The
server lock is handed to the server at its birth and held by all its processes: it is free exactly when the
last of them is gone, which no pid file can say of a killed, undead or copied server.
"""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from festinger.clock import Stopwatch
from festinger.errors import CannotStart
from festinger.store.home import open_private

POLL_SECONDS = 0.02


def taken(path: Path) -> bool:
    """Whether somebody holds this lock exclusively."""
    handle = open_private(path, os.O_RDWR | os.O_CREAT)
    try:
        # Shared, so that two who look at the same moment do not see each other.
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def take(path: Path) -> int | None:
    """A descriptor that holds the lock until it and all its copies are closed; none if it is taken."""
    handle = open_private(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


@asynccontextmanager
async def held(path: Path, *, stopwatch: Stopwatch, seconds: float) -> AsyncIterator[None]:
    """Hold the lock for the block; wait at most `seconds` for it."""
    began = stopwatch()
    while (handle := take(path)) is None:
        if stopwatch() - began > seconds:
            raise CannotStart(
                f"Another process has been starting or stopping the embedded database for {seconds:.0f} seconds.",
                hint="Wait for it, or end it; then try again.",
            )
        await asyncio.sleep(POLL_SECONDS)
    try:
        yield
    finally:
        os.close(handle)
