"""Talking to the database: one pool, named queries, short transactions.

`Store` is what the other rooms hold. They open a transaction, run named queries in it and get plain rows
back; psycopg stays inside this room. A hot transaction has the tighter limit of the request path.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import psycopg_pool
from psycopg.rows import DictRow, dict_row

from festinger.errors import NotFound
from festinger.seeing.metrics import STORE_POOL_SIZE, STORE_POOL_WAITING, STORE_SECONDS
from festinger.settings.tree import StoreSettings
from festinger.store.faults import translated
from festinger.store.queries import Query, queries_of

Row = Mapping[str, Any]
Connection = psycopg.AsyncConnection[DictRow]

Q = queries_of("festinger.store")

CONNECT_SECONDS = 5
LOCK_TIMEOUT_MS = 5_000
RECONNECT_SECONDS = 5.0
"""The longest pause between two tries to reach a database that went away."""


class Transaction:
    """One transaction in progress. Its changes are in force together, when the block ends without error."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    async def all(self, query: Query, **parameters: Any) -> list[DictRow]:
        """Every row that the query gives."""
        cursor = await self._execute(query, parameters)
        return await cursor.fetchall()

    async def maybe(self, query: Query, **parameters: Any) -> DictRow | None:
        """Its first row, if there is one."""
        cursor = await self._execute(query, parameters)
        return await cursor.fetchone()

    async def one(self, query: Query, **parameters: Any) -> DictRow:
        """Its first row; none is `NotFound`."""
        row = await self.maybe(query, **parameters)
        if row is None:
            raise NotFound
        return row

    async def value(self, query: Query, **parameters: Any) -> Any:
        """The first column of its first row; none is `NotFound`."""
        return next(iter((await self.one(query, **parameters)).values()))

    async def run(self, query: Query, **parameters: Any) -> int:
        """How many rows it changed."""
        cursor = await self._execute(query, parameters)
        return cursor.rowcount

    async def run_many(self, query: Query, rows: Sequence[Mapping[str, Any]]) -> int:
        """Run it once a row, in one round trip."""
        with translated(), STORE_SECONDS.labels(query.room).time():
            async with self.connection.cursor() as cursor:
                await cursor.executemany(query.sql, rows)
                return cursor.rowcount

    async def _execute(self, query: Query, parameters: Mapping[str, Any]) -> psycopg.AsyncCursor[DictRow]:
        with translated(), STORE_SECONDS.labels(query.room).time():
            return await self.connection.execute(query.sql, parameters)


class Store:
    """The database, open. Made by `open_store`."""

    def __init__(self, pool: psycopg_pool.AsyncConnectionPool[Connection], settings: StoreSettings) -> None:
        self.pool = pool
        self._settings = settings

    @asynccontextmanager
    async def transaction(self, *, hot: bool = False) -> AsyncIterator[Transaction]:
        """A transaction on a connection of its own; `hot` gives it the limits of the request path."""
        limit = self._settings.hot_timeout_ms if hot else self._settings.statement_timeout_ms
        with translated():
            async with self.pool.connection(timeout=limit / 1000) as connection, connection.transaction():
                transaction = Transaction(connection)
                if hot:
                    await transaction.run(Q["limit_statement"], timeout=f"{limit}ms")
                yield transaction

    async def all(self, query: Query, *, hot: bool = False, **parameters: Any) -> list[DictRow]:
        async with self.transaction(hot=hot) as transaction:
            return await transaction.all(query, **parameters)

    async def maybe(self, query: Query, *, hot: bool = False, **parameters: Any) -> DictRow | None:
        async with self.transaction(hot=hot) as transaction:
            return await transaction.maybe(query, **parameters)

    async def one(self, query: Query, *, hot: bool = False, **parameters: Any) -> DictRow:
        async with self.transaction(hot=hot) as transaction:
            return await transaction.one(query, **parameters)

    async def value(self, query: Query, *, hot: bool = False, **parameters: Any) -> Any:
        async with self.transaction(hot=hot) as transaction:
            return await transaction.value(query, **parameters)

    async def run(self, query: Query, *, hot: bool = False, **parameters: Any) -> int:
        async with self.transaction(hot=hot) as transaction:
            return await transaction.run(query, **parameters)

    def measure(self) -> None:
        """Move the gauges of the pool to what it is now."""
        stats = self.pool.get_stats()
        STORE_POOL_SIZE.set(stats.get("pool_size", 0))
        STORE_POOL_WAITING.set(stats.get("requests_waiting", 0))


@asynccontextmanager
async def open_store(url: str, settings: StoreSettings, *, door: str) -> AsyncIterator[Store]:
    """A store on a database that is already there and migrated. `door` names the process in Postgres."""

    async def configure(connection: Connection) -> None:
        parameters = {
            "statement_timeout": f"{settings.statement_timeout_ms}ms",
            "lock_timeout": f"{LOCK_TIMEOUT_MS}ms",
            "application_name": f"festinger:{door}",
        }
        await connection.execute(Q["configure_connection"].sql, parameters)
        await connection.commit()

    pool = psycopg_pool.AsyncConnectionPool(
        url,
        connection_class=Connection,
        kwargs={"row_factory": dict_row, "connect_timeout": CONNECT_SECONDS},
        min_size=settings.pool_min,
        max_size=settings.pool_max,
        configure=configure,
        check=psycopg_pool.AsyncConnectionPool.check_connection,
        reconnect_timeout=RECONNECT_SECONDS,
        open=False,
    )
    with translated():
        await pool.open(wait=True, timeout=settings.start_timeout)
    try:
        yield Store(pool, settings)
    finally:
        await pool.close()
