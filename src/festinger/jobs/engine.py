"""Connects procrastinate to the store.

The engine works on the store's pool, all workers of a process share one LISTEN connection, and its database
errors become ours. Its schema comes as numbered SQL files, offered here as migrations under names of their
own, so that one migrator brings up the whole database and an upgrade of the engine is an ordinary migration.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import structlog
from procrastinate import PsycopgConnector
from procrastinate.connector import Notify
from procrastinate.exceptions import ConnectorException

from festinger.errors import StoreDown
from festinger.store.connection import translate_store_errors
from festinger.store.migration import Migration
from festinger.store.pool import Store
from festinger.store.queries import queries_of

log = structlog.get_logger()

Q = queries_of("festinger.jobs")

Pause = Callable[[float], Awaitable[None]]

RELISTEN_SECONDS = 5.0


@contextmanager
def translate_engine_errors() -> Iterator[None]:
    """Translate the engine's database errors into ours, by their cause."""
    try:
        yield
    except ConnectorException as error:
        if error.__cause__ is None:
            raise
        with translate_store_errors():
            raise error.__cause__ from error


class StoreConnector(PsycopgConnector):
    """The engine's connection: the store's pool, and one listener for all workers."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store
        self._hearers: defaultdict[str, set[Notify]] = defaultdict(set)
        self.listening = asyncio.Event()

    @property
    def pool(self) -> Any:
        return self._store.pool

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        """Receive notifications from the shared listener, until cancelled."""
        mine = list(channels)
        for channel in mine:
            self._hearers[channel].add(on_notification)
        try:
            await asyncio.Event().wait()
        finally:
            for channel in mine:
                self._hearers[channel].discard(on_notification)

    async def hear(self, queues: Iterable[str], *, pause: Pause = asyncio.sleep) -> None:
        """Run the shared listener until cancelled. Without a connection, workers fall back to polling."""
        while True:
            try:
                await self._hear(queues)
            except StoreDown as error:
                log.warning("job listener lost", room="jobs", error=error.message)
            finally:
                self.listening.clear()
            await pause(RELISTEN_SECONDS)

    async def _hear(self, queues: Iterable[str]) -> None:
        async with self._store.apart() as connection:
            for queue in queues:
                await connection.execute(Q[f"listen_{queue}"].sql)
            self.listening.set()
            async for notification in connection.notifies():
                for hearer in tuple(self._hearers[notification.channel]):
                    await hearer(channel=notification.channel, payload=notification.payload)


PREFIX = "procrastinate/"


def job_migrations() -> list[Migration]:
    """Return the engine's migrations in order; they come after our own."""
    folder = files("procrastinate.sql").joinpath("migrations")
    found = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda e: e.name)
    return [
        Migration(name=PREFIX + entry.name.removesuffix(".sql"), sql=entry.read_text(encoding="utf-8"))
        for entry in found
    ]
