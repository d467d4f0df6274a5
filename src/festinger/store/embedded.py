"""The embedded server: start it or join it, and let it rest when the last one leaves.

Only the programs are the wheel's; this is their life. Under the start lock the cluster is made, moved to the
present major version and started, and the caller is written down as a holder; from then on any number of
processes share it. Whoever leaves last has it stopped after some grace, in case the next command comes at
once. A holder that crashes leaves the server up, and the next one joins it.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Never

import structlog

from festinger.clock import Clock, Stopwatch, system_clock, system_stopwatch
from festinger.errors import CannotStart, StoreUnfit, Unavailable
from festinger.settings.tree import StoreSettings
from festinger.store import cluster, holders, idle, locks, postmaster, upgrade
from festinger.store.binaries import MAJOR, prune, reachable, shipped
from festinger.store.cancelling import end_all
from festinger.store.furnish import furnish
from festinger.store.home import PRIVATE_FOLDER, WALKABLE_BY_GROUP, Layout, make_folder, usable
from festinger.store.launch import Deadline, Server, deadline_in, join, start
from festinger.store.password import Secret, password
from festinger.store.programs import run
from festinger.store.server_user import Account, server_account

GRACE_SECONDS = 5.0
LOOK_SECONDS = 1.0
"""How often a holder looks whether the server lives."""

log = structlog.get_logger(room="store")

Progress = Callable[[str], None]
"""Told in one line what is happening, when it may take a while."""


@asynccontextmanager
async def embedded_server(
    home: Path,
    config: Path,
    settings: StoreSettings,
    *,
    progress: Progress,
    grace: float = GRACE_SECONDS,
    account: Callable[[Path], Account] = server_account,
    secret: Secret = os.urandom,
    clock: Clock = system_clock,
    stopwatch: Stopwatch = system_stopwatch,
) -> AsyncIterator[str]:
    """Start or join the server in `home/pg`; the URL of database `festinger`, with its password, by the socket.

    `account` says as whom the server on the given data runs; `grace` is how long it stays after the last one left.
    """
    layout = _layout(home)
    deadline = deadline_in(settings.start_timeout, stopwatch)
    me = holders.this_process()
    server = await _prepared(layout, account(layout.data), password=password(config, secret))
    async with locks.held(idle.start_lock(layout), stopwatch=stopwatch, seconds=settings.start_timeout):
        socket = await _up(server, deadline, progress=progress, clock=clock)
        with usable(layout.run):
            holders.enter(idle.holders_file(layout), me)
    keeping = asyncio.create_task(_keep_up(server, settings, clock=clock, stopwatch=stopwatch))
    try:
        yield server.url(socket=socket)
    finally:
        await end_all([keeping])
        await idle.leave(layout, me, stop_when_idle=settings.stop_when_idle, grace=grace, stopwatch=stopwatch)


async def _keep_up(server: Server, settings: StoreSettings, *, clock: Clock, stopwatch: Stopwatch) -> Never:
    """Start the server again if it dies while somebody holds it. Its socket lies where it lay."""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        if postmaster.is_running(server.layout):
            continue
        log.warning("embedded server died, starting it again")
        try:
            start_lock = idle.start_lock(server.layout)
            async with locks.held(start_lock, stopwatch=stopwatch, seconds=settings.start_timeout):
                deadline = deadline_in(settings.start_timeout, stopwatch)
                await _up(server, deadline, progress=_quietly, clock=clock)
        except (CannotStart, Unavailable) as error:
            log.error("embedded server does not start again", error=error.message, hint=error.hint)


def _quietly(_line: str) -> None:
    """What a person is told at a start, the log tells later."""


def _layout(home: Path) -> Layout:
    # Without links: the server's working directory is compared with it.
    return Layout(home=home.expanduser().resolve())


async def _prepared(layout: Layout, account: Account, *, password: str) -> Server:
    """Folders that the server's user can reach, and programs that it can run."""
    foreign = account.uid != os.geteuid()
    with usable(layout.home):
        make_folder(
            layout.home,
            mode=WALKABLE_BY_GROUP if foreign else PRIVATE_FOLDER,
            gid=account.gid if foreign else -1,
        )
        make_folder(layout.run)
        if layout.data.exists() and layout.data.stat().st_uid != account.uid:
            raise CannotStart(
                f"The data in `{layout.data}` belongs to another user than `{account.name}`.",
                hint="Start Festinger as its owner, or choose another home with `FESTINGER_HOME`.",
            )
    if foreign and (await run(["test", "-x", layout.home], account=account)).status != 0:
        raise CannotStart(
            f"The database server runs as `{account.name}`, who cannot enter `{layout.home}`.",
            hint="Choose a home that other users can pass through, such as `/var/lib/festinger`.",
        )
    binaries = await reachable(shipped(), account=account, copies=layout.binaries)
    return Server(layout=layout, binaries=binaries, account=account, password=password)


async def _up(server: Server, deadline: Deadline, *, progress: Progress, clock: Clock) -> Path:
    """The socket folder of a server that answers. The caller holds the start lock."""
    if postmaster.is_running(server.layout) and (socket := await join(server, deadline)):
        await furnish(server, socket)
        return socket
    await _present_cluster(server, deadline, progress=progress, clock=clock)
    progress("Starting the embedded database …")
    with usable(server.layout.data):
        cluster.configure(server.layout.data, account=server.account)
        prune(server.layout.binaries)
    # A start has its own time: before it, an upgrade of much data may have taken longer than any start.
    socket = await start(server, deadline.renewed())
    await furnish(server, socket)
    upgrade.clear(server.layout)
    return socket


async def _present_cluster(server: Server, deadline: Deadline, *, progress: Progress, clock: Clock) -> None:
    """A cluster of the present major version in its place: found, made or upgraded."""
    layout = server.layout
    with usable(layout.home):
        upgrade.finish(layout)
        major = cluster.major_of(layout.data)
        empty = not layout.data.exists() or not any(layout.data.iterdir())
    if major is None and empty:
        progress("Preparing the embedded database; this happens only once …")
        await cluster.grow(layout, server.binaries, account=server.account, password=server.password)
    elif major is None:
        raise CannotStart(
            f"`{layout.data}` is not empty and not a database.",
            hint="Move it away, or choose another home with `FESTINGER_HOME`.",
        )
    elif major > MAJOR:
        raise StoreUnfit(
            f"The data is of PostgreSQL {major}; this version of Festinger brings {MAJOR}.",
            hint="Install the newer version of Festinger again; nothing was touched.",
        )
    elif major < MAJOR:
        progress(f"Moving the embedded database from PostgreSQL {major} to {MAJOR}; a backup is made first …")
        await upgrade.upgrade(server, deadline, clock=clock)
