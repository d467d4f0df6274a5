"""Records process starts and stops, and runs the background tasks of the app.

A start writes its row in the ledger of runs, the crashes found there and any migration, with their events, in
one transaction. A process that cannot record its stop is taken for crashed by the next one. Background tasks
never outlive the app; one that fails is logged. Recalls and reads are recorded after the answer, which waits
for none of it; a report on a recall first waits until everything begun before is written.
"""

import asyncio
import os
import socket
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import structlog

from festinger import __version__
from festinger.errors import FestingerError, StoreDown
from festinger.ids import MAIN_SPACE
from festinger.store.connection import cancel_tasks
from festinger.store.pool import Transaction
from festinger.store.repositories.spaces import ProcessRun, begin_run, end_run

if TYPE_CHECKING:
    from festinger.runtime.app import App


log = structlog.get_logger(room="app")

END_SECONDS = 2.0
"""How long a stopping process waits for a store that does not answer."""


async def record_start(app: "App", migrations: Sequence[str]) -> ProcessRun:
    """Record that this process started, and which ones crashed; `migrations` are the names of all."""
    run = ProcessRun(
        id=app.tools.new_id(),
        door=app.door,
        version=__version__,
        host=socket.gethostname(),
        pid=os.getpid(),
        started_at=app.tools.clock(),
        pins=app.settings.pinned,
    )
    async with app.store.transaction() as transaction:
        for crashed in await begin_run(transaction, run):
            await _emit_crash(app, transaction, crashed)
        if app.applied:
            await _emit_schema_migrated(app, transaction, before=schema_before(app.applied, migrations))
    return run


async def record_stop(app: "App", run: ProcessRun) -> None:
    """Record a clean stop, unless the store is down."""
    try:
        async with asyncio.timeout(END_SECONDS):
            await end_run(app.store, run.id, at=app.tools.clock())
    except (StoreDown, TimeoutError) as error:
        log.warning("end of this process not written down", run=str(run.id), error=type(error).__name__)


def schema_before(applied: Sequence[str], migrations: Sequence[str]) -> str | None:
    """Return the migration that the database had before these were applied; none if it was empty."""
    first = migrations.index(applied[0])
    return migrations[first - 1] if first else None


async def _emit_crash(app: "App", transaction: Transaction, crashed: ProcessRun) -> None:
    await app.outbox.emit(
        transaction, "process_crashed", space=MAIN_SPACE, subject=f"run:{crashed.id}", payload={"run": str(crashed.id)}
    )


async def _emit_schema_migrated(app: "App", transaction: Transaction, *, before: str | None) -> None:
    await app.outbox.emit(
        transaction,
        "schema_migrated",
        space=MAIN_SPACE,
        subject="schema",
        payload={"from": before, "to": app.applied[-1]},
    )


Result = TypeVar("Result")

AGAIN_SECONDS = 1.0
"""Time that a task gets to end its own tasks before it is cancelled again."""


class BackgroundTasks:
    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def stop(self) -> None:
        """Cancel what still runs and wait until it is gone."""
        await cancel_tasks(self._tasks, again_after=AGAIN_SECONDS)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, FestingerError):
            log.warning("background work failed", error=error.message)
        elif error is not None:
            log.error("background work failed", exc_info=error)


LAST_WORDS_SECONDS = 2.0
"""Time that pending writes get when the app closes."""


class DeferredWrites:
    """The pending writes of one app."""

    def __init__(self) -> None:
        self._writing: set[asyncio.Task[Any]] = set()

    def write(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(work)
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def written(self) -> None:
        """Wait for everything that was begun before now."""
        if self._writing:
            await asyncio.wait(set(self._writing))

    async def finish(self) -> None:
        """Wait a moment for pending writes, and cancel the rest."""
        if self._writing:
            await asyncio.wait(set(self._writing), timeout=LAST_WORDS_SECONDS)
        for task in set(self._writing):
            task.cancel()
