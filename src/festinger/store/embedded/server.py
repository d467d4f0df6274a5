"""Starts or joins the embedded server, prepares its database, and releases it at the end.

Under the start lock the cluster is created, upgraded to the current major version and started, and the caller
is registered as a holder; any number of processes then share it. The last one to leave has it stopped after a
grace period, in case the next command follows at once. A holder that crashes leaves the server up, and the
next one joins it. The database needs a role that owns it and can do nothing else, and the pgvector that the
programs bring; only these steps need the superuser. Each is checked first, so an interrupted run is completed
by the next.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Never

import psycopg
import structlog
from psycopg import sql
from psycopg.rows import DictRow, dict_row

from festinger.clock import Clock, Stopwatch, system_clock, system_stopwatch
from festinger.errors import CannotStart, StoreUnfit, Unavailable
from festinger.settings.tree import StoreSettings
from festinger.store import paths
from festinger.store.connection import cancel_tasks, closing_connection, translate_store_errors
from festinger.store.embedded import cluster, holders, upgrade
from festinger.store.embedded.cluster import SUPERUSER
from festinger.store.embedded.password import Secret, load_or_create_password
from festinger.store.embedded.programs import (
    MAJOR,
    Account,
    bundled_binaries,
    ensure_runnable,
    prune_binary_copies,
    run_program,
    server_account,
)
from festinger.store.embedded.start import (
    DATABASE,
    ROLE,
    Deadline,
    EmbeddedServerSpec,
    deadline_in,
    start_server,
    wait_for_running_server,
)
from festinger.store.paths import PRIVATE_FOLDER, WALKABLE_BY_GROUP, HomeLayout, explain_os_errors, make_folder
from festinger.store.queries import load_queries

Q = load_queries("festinger.store")

Connection = psycopg.AsyncConnection[DictRow]


async def ensure_database(server: EmbeddedServerSpec, socket: Path) -> None:
    """Create whatever is missing; afterwards the application's own connection has run a statement."""
    with translate_store_errors():
        if not await _accepts_login(server, socket):
            await _make_role_and_database(server, socket)
        await _make_extension(server, socket)
        await cluster.ping(server.url(socket=socket))


async def _accepts_login(server: EmbeddedServerSpec, socket: Path) -> bool:
    try:
        await cluster.ping(server.url(socket=socket))
    except psycopg.OperationalError:
        return False
    return True


async def _make_role_and_database(server: EmbeddedServerSpec, socket: Path) -> None:
    async with closing_connection(await _connect_as_superuser(server, socket, database="postgres")) as connection:
        # Hashed here, so that the plain password never reaches the server.
        sealed = connection.pgconn.encrypt_password(server.password.encode(), ROLE.encode(), b"scram-sha-256")
        query = "change_role" if await _found(connection, "find_role", ROLE) else "make_role"
        statement = sql.SQL(Q[query].sql).format(password=sql.Literal(sealed.decode()))
        await connection.execute(statement)
        if not await _found(connection, "find_database", DATABASE):
            await connection.execute(Q["make_database"].sql)
        await connection.execute(Q["close_database"].sql)


async def _make_extension(server: EmbeddedServerSpec, socket: Path) -> None:
    async with closing_connection(await _connect_as_superuser(server, socket, database=DATABASE)) as connection:
        cursor = await connection.execute(Q["vector_is_behind"].sql)
        if await cursor.fetchone():
            await connection.execute(Q["install_vector"].sql)
            await connection.execute(Q["update_vector"].sql)


async def _found(connection: Connection, query: str, name: str) -> bool:
    cursor = await connection.execute(Q[query].sql, {"name": name})
    return await cursor.fetchone() is not None


async def _connect_as_superuser(server: EmbeddedServerSpec, socket: Path, *, database: str) -> Connection:
    url = server.url(socket=socket, role=SUPERUSER, database=database)
    return await Connection.connect(url, autocommit=True, row_factory=dict_row)


GRACE_SECONDS = 5.0
LOOK_SECONDS = 1.0
"""How often a holder checks that the server is alive."""

log = structlog.get_logger(room="store")

Progress = Callable[[str], None]
"""Called with one line about a step that may take a while."""


@asynccontextmanager
async def open_embedded_server(
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
    """Start or join the server in `home/pg`; yield the socket URL of database `festinger`, with its password.

    `account` chooses the user that the server runs as; `grace` is how long it stays up after the last holder
    left.
    """
    layout = _layout(home)
    deadline = deadline_in(settings.start_timeout, stopwatch)
    me = holders.current_holder()
    server = await _prepared(layout, account(layout.data), password=load_or_create_password(config, secret))
    async with paths.hold_lock(holders.start_lock(layout), stopwatch=stopwatch, seconds=settings.start_timeout):
        socket = await _ensure_running(server, deadline, progress=progress, clock=clock)
        with explain_os_errors(layout.run):
            holders.register_holder(holders.holders_path(layout), me)
    keeping = asyncio.create_task(_restart_if_dead(server, settings, clock=clock, stopwatch=stopwatch))
    try:
        yield server.url(socket=socket)
    finally:
        await cancel_tasks([keeping])
        await holders.release_server(
            layout, me, stop_when_idle=settings.stop_when_idle, grace=grace, stopwatch=stopwatch
        )


async def _restart_if_dead(
    server: EmbeddedServerSpec, settings: StoreSettings, *, clock: Clock, stopwatch: Stopwatch
) -> Never:
    """Restart the server if it dies while somebody holds it. Its socket path stays the same."""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        if cluster.is_running(server.layout):
            continue
        log.warning("embedded server died, starting it again")
        try:
            start_lock = holders.start_lock(server.layout)
            async with paths.hold_lock(start_lock, stopwatch=stopwatch, seconds=settings.start_timeout):
                deadline = deadline_in(settings.start_timeout, stopwatch)
                # After the start the log reports instead.
                await _ensure_running(server, deadline, progress=lambda _line: None, clock=clock)
        except (CannotStart, Unavailable) as error:
            log.error("embedded server does not start again", error=error.message, hint=error.hint)


def _layout(home: Path) -> HomeLayout:
    # Resolved, because it is compared with the server's working directory.
    return HomeLayout(home=home.expanduser().resolve())


async def _prepared(layout: HomeLayout, account: Account, *, password: str) -> EmbeddedServerSpec:
    """Prepare folders that the server's user can reach and programs that it can run."""
    foreign = account.uid != os.geteuid()
    with explain_os_errors(layout.home):
        make_folder(
            layout.home, mode=WALKABLE_BY_GROUP if foreign else PRIVATE_FOLDER, gid=account.gid if foreign else -1
        )
        make_folder(layout.run)
        if layout.data.exists() and layout.data.stat().st_uid != account.uid:
            raise CannotStart(
                f"The data in `{layout.data}` belongs to another user than `{account.name}`.",
                hint="Start Festinger as its owner, or choose another home with `FESTINGER_HOME`.",
            )
    if foreign and (await run_program(["test", "-x", layout.home], account=account)).status != 0:
        raise CannotStart(
            f"The database server runs as `{account.name}`, who cannot enter `{layout.home}`.",
            hint="Choose a home that other users can pass through, such as `/var/lib/festinger`.",
        )
    binaries = await ensure_runnable(bundled_binaries(), account=account, copies=layout.binaries)
    return EmbeddedServerSpec(layout=layout, binaries=binaries, account=account, password=password)


async def _ensure_running(server: EmbeddedServerSpec, deadline: Deadline, *, progress: Progress, clock: Clock) -> Path:
    """Return the socket folder of a server that answers. The caller holds the start lock."""
    if cluster.is_running(server.layout) and (socket := await wait_for_running_server(server, deadline)):
        await ensure_database(server, socket)
        return socket
    await _ensure_cluster(server, deadline, progress=progress, clock=clock)
    progress("Starting the embedded database …")
    with explain_os_errors(server.layout.data):
        cluster.write_cluster_config(server.layout.data, account=server.account)
        prune_binary_copies(server.layout.binaries)
    # The start gets its own deadline: an upgrade of much data may have taken longer than any start.
    socket = await start_server(server, deadline.restart_from_now())
    await ensure_database(server, socket)
    upgrade.remove_old_cluster(server.layout)
    return socket


async def _ensure_cluster(server: EmbeddedServerSpec, deadline: Deadline, *, progress: Progress, clock: Clock) -> None:
    """Ensure that a cluster of the current major version is in place: found, created or upgraded."""
    layout = server.layout
    with explain_os_errors(layout.home):
        upgrade.finish_upgrade(layout)
        major = cluster.cluster_major_version(layout.data)
        empty = not layout.data.exists() or not any(layout.data.iterdir())
    if major is None and empty:
        progress("Preparing the embedded database; this happens only once …")
        await cluster.create_cluster(layout, server.binaries, account=server.account, password=server.password)
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
        await upgrade.upgrade_cluster(server, deadline, clock=clock)
