"""What is written down when a process begins and ends?

Its row in the ledger of runs, the crashes that it finds there, and the new shape of the database if its start
brought one: one transaction, with the events that tell of it. A process that cannot write its end is taken for
crashed by the next one, which is the truth as far as anybody can know it.
"""

import asyncio
import os
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

import structlog

from festinger import __version__
from festinger.errors import StoreDown
from festinger.ids import MAIN_SPACE
from festinger.store.pool import Transaction
from festinger.store.repositories.spaces import Run, begin, end

if TYPE_CHECKING:
    from festinger.app.wiring import App

log = structlog.get_logger(room="app")

END_SECONDS = 2.0
"""How long a process that stops waits for a store that does not answer."""


async def begin_life(app: "App", migrations: Sequence[str]) -> Run:
    """Write that this process lives, and tell of those that died; `migrations` are the names of all there are."""
    run = Run(
        id=app.tools.new_id(),
        door=app.door,
        version=__version__,
        host=socket.gethostname(),
        pid=os.getpid(),
        started_at=app.tools.clock(),
        pins=app.settings.pinned,
    )
    async with app.store.transaction() as transaction:
        for crashed in await begin(transaction, run):
            await _tell_of_crash(app, transaction, crashed)
        if app.applied:
            await _tell_of_shape(app, transaction, before=shape_before(app.applied, migrations))
    return run


async def end_life(app: "App", run: Run) -> None:
    """Write that this process ends well. With the store away that cannot be written, and the end goes on."""
    try:
        async with asyncio.timeout(END_SECONDS):
            await end(app.store, run.id, at=app.tools.clock())
    except (StoreDown, TimeoutError) as error:
        log.warning("end of this process not written down", run=str(run.id), error=type(error).__name__)


def shape_before(applied: Sequence[str], migrations: Sequence[str]) -> str | None:
    """The migration that the database had reached before these were applied; none if it was empty."""
    first = migrations.index(applied[0])
    return migrations[first - 1] if first else None


async def _tell_of_crash(app: "App", transaction: Transaction, crashed: Run) -> None:
    await app.outbox.emit(
        transaction,
        "process_crashed",
        space=MAIN_SPACE,
        subject=f"run:{crashed.id}",
        payload={"run": str(crashed.id)},
    )


async def _tell_of_shape(app: "App", transaction: Transaction, *, before: str | None) -> None:
    await app.outbox.emit(
        transaction,
        "schema_migrated",
        space=MAIN_SPACE,
        subject="schema",
        payload={"from": before, "to": app.applied[-1]},
    )
