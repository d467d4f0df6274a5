"""Where does procrastinate meet the store?

The border to the engine: it works on the store's own pool, all its workers of a process share one LISTEN
connection, and its database errors become ours. Nothing here knows a job.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import structlog
from procrastinate import PsycopgConnector
from procrastinate.connector import Notify
from procrastinate.exceptions import ConnectorException
from procrastinate.manager import get_channel_for_queues

from festinger.store.faults import translated
from festinger.store.pool import Store

log = structlog.get_logger()

Pause = Callable[[float], Awaitable[None]]

RELISTEN_SECONDS = 5.0


@contextmanager
def engine_faults() -> Iterator[None]:
    """Turn the engine's database errors into ours, by what caused them."""
    try:
        yield
    except ConnectorException as error:
        if error.__cause__ is None:
            raise
        with translated():
            raise error.__cause__ from error


class StoreConnector(PsycopgConnector):
    """The engine's way to the database: the store's pool, and one listener for all workers."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store
        self._hearers: defaultdict[str, set[Notify]] = defaultdict(set)

    @property
    def pool(self) -> Any:
        return self._store.pool

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        """Be told by the one listener, until cancelled."""
        mine = list(channels)
        for channel in mine:
            self._hearers[channel].add(on_notification)
        try:
            await asyncio.Event().wait()
        finally:
            for channel in mine:
                self._hearers[channel].discard(on_notification)

    async def hear(self, queues: Iterable[str], *, pause: Pause = asyncio.sleep) -> None:
        """The one listener, until cancelled. While it has no connection, workers go on by polling."""
        channels = list(get_channel_for_queues(queues))
        while True:
            try:
                await super().listen_notify(self._tell, channels)
            except ConnectorException as error:
                log.warning("job listener lost", room="jobs", error=type(error.__cause__).__name__)
            await pause(RELISTEN_SECONDS)

    async def _tell(self, *, channel: str, payload: str) -> None:
        for hearer in tuple(self._hearers[channel]):
            await hearer(channel=channel, payload=payload)
