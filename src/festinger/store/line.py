"""How is a connection made, and made again when the database went away?

`dial` tries once; `redial` tries until the database answers or the store closes, with pauses that grow from
0.1 to 5 seconds. Every connection leaves here configured: limits, UTC, a name, vector types. Who uses it for
what, and for how long, is the pool's matter.
"""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any, Self

import psycopg
from pgvector.psycopg.halfvec import register_halfvec_info
from psycopg.rows import DictRow, dict_row
from psycopg.types import TypeInfo

from festinger.settings.tree import StoreSettings
from festinger.store.address import checked, without_password
from festinger.store.queries import queries_of

Connection = psycopg.AsyncConnection[DictRow]

Q = queries_of("festinger.store")

CONNECT_SECONDS = 5
LOCK_TIMEOUT_MS = 5_000
PREPARE_AFTER = 5
"""Uses of a statement by one connection after which the server keeps its plan."""
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0


def pauses() -> Iterator[float]:
    """Seconds to wait before each next try; they double up to the longest and never end."""
    pause = FIRST_PAUSE
    while True:
        yield pause
        pause = min(pause * 2, LONGEST_PAUSE)


class Line:
    """The way to one database. `trouble` is why it cannot be reached now, if that is so.

    Behind a `pooler` in transaction mode a session is nobody's: the next transaction may meet another server
    process. Limits are then given to each transaction instead, and no plan is prepared by name.
    """

    def __init__(self, url: str, settings: StoreSettings, *, door: str, pooler: bool = False) -> None:
        self.trouble: str | None = None
        self.pooler = pooler
        self._url = checked(url)
        self._settings = settings
        self._door = door
        self._hung_up = asyncio.Event()

    @property
    def limits(self) -> dict[str, str]:
        """What every connection has, as the parameters of `configure_connection`."""
        return {
            "statement_timeout": f"{self._settings.statement_timeout_ms}ms",
            "lock_timeout": f"{LOCK_TIMEOUT_MS}ms",
            "application_name": f"festinger:{self._door}",
        }

    async def dial(self) -> Connection:
        """One try. A message of libpq leaves here without the password."""
        try:
            connection = await psycopg.AsyncConnection[DictRow].connect(
                self._url, row_factory=dict_row, **self._options()
            )
            await self._configure(connection)
        except psycopg.OperationalError as error:
            self.trouble = without_password(_first_line(error), self._url)
            raise psycopg.OperationalError(self.trouble) from error
        self.trouble = None
        return connection

    async def redial(self) -> Connection:
        """Tries until the database answers; gives up only when the store closes."""
        for pause in pauses():
            try:
                return await self.dial()
            except psycopg.OperationalError:
                if await self._hangs_up_within(pause):
                    raise
        raise AssertionError("pauses never end")

    def hang_up(self) -> None:
        """No more tries: the store closes."""
        self._hung_up.set()

    async def _hangs_up_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._hung_up.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def _options(self) -> dict[str, Any]:
        limit = self._settings.statement_timeout_ms
        return {
            "connect_timeout": CONNECT_SECONDS,
            # A network that swallows packets is noticed by the system, since the server cannot say so.
            "tcp_user_timeout": limit,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "prepare_threshold": None if self.pooler else PREPARE_AFTER,
        }

    async def _configure(self, connection: Connection) -> None:
        async with AsyncExitStack() as on_failure:
            on_failure.push_async_callback(connection.close)
            if not self.pooler:
                await connection.execute(Q["configure_connection"].sql, {**self.limits, "local": False})
            # A database before its first migration has no vectors yet.
            if halfvec := await TypeInfo.fetch(connection, "halfvec"):
                register_halfvec_info(connection, halfvec)
            await connection.commit()
            on_failure.pop_all()


class Redialled(psycopg.AsyncConnection[DictRow]):
    """What the pool makes: it asks the line, which does not give up, instead of giving up on its own."""

    @classmethod
    async def connect(cls, conninfo: str = "", *, line: Line, **_: Any) -> Self:  # type: ignore[override]
        return await line.redial()  # type: ignore[return-value]


def _first_line(error: Exception) -> str:
    # libpq repeats the reason for every address that it tried; the first line has it.
    return str(error).strip().partition("\n")[0] or type(error).__name__
