"""Provides the connection pool, transactions and named-query execution.

Other packages hold a `Store`: they open a transaction, run named queries in it and get plain rows back;
psycopg stays inside this package. A hot transaction has the tighter limit of the request path, a patient one
has none. With a `NestedStore`, operations that open their own transaction run inside the caller's, so that
the work of several packages commits or fails together.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from enum import StrEnum
from functools import cache
from typing import Any

import psycopg
import psycopg_pool
from psycopg import sql
from psycopg.rows import DictRow

from festinger.errors import FestingerError, NotFound, StoreDown
from festinger.observability.metrics import STORE_POOL_SIZE, STORE_POOL_WAITING, STORE_SECONDS
from festinger.settings.tree import StoreSettings
from festinger.store.connection import (
    CONNECT_SECONDS,
    Connection,
    DatabaseConnector,
    RetryingConnection,
    TimedTransaction,
    build_store_down_error,
    build_too_slow_error,
    closing_connection,
    cut_if_frozen,
    has_nothing_to_read,
    translate_store_errors,
)
from festinger.store.migration import require_supported_server
from festinger.store.queries import Query, load_queries

Row = Mapping[str, Any]

Q = load_queries("festinger.store")

LIFETIME_SECONDS = 30 * 60
"""Connections are replaced after this long, to pick up a server that moved or changed its permissions."""
GRACE_SECONDS = 1.0
"""Extra time for a server to report that it hit its own limit; after that it counts as frozen."""

_INSIDE: ContextVar[bool] = ContextVar("festinger_in_transaction", default=False)


def is_in_transaction() -> bool:
    """Return whether the caller is inside a transaction. Model calls check this: they must not hold one."""
    return _INSIDE.get()


@contextmanager
def _mark_in_transaction() -> Iterator[None]:
    outer = _INSIDE.get()
    _INSIDE.set(True)
    try:
        yield
    finally:
        _INSIDE.set(outer)


class PlanMode(StrEnum):
    """How the server plans a prepared statement."""

    BY_COST = "auto"
    ANEW = "force_custom_plan"
    """For statements whose best plan depends on the parameters, such as a rare word or the caller."""
    KEPT = "force_generic_plan"
    """For statements whose plan never depends on the parameters; planning may take longer than running."""


class Transaction:
    """A transaction in progress. Its changes commit together when the block ends without error."""

    def __init__(self, connection: Connection, *, limit: float = math.inf) -> None:
        self.connection = connection
        self._deadline = limit + GRACE_SECONDS

    async def all(self, query: Query, **parameters: Any) -> list[DictRow]:
        cursor = await self._execute(query, parameters)
        return await cursor.fetchall()

    async def maybe(self, query: Query, **parameters: Any) -> DictRow | None:
        """Return the first row, if there is one."""
        cursor = await self._execute(query, parameters)
        return await cursor.fetchone()

    async def one(self, query: Query, missing: FestingerError | None = None, /, **parameters: Any) -> DictRow:
        """Return the first row; raise `missing`, or else `NotFound`, if there is none."""
        row = await self.maybe(query, **parameters)
        if row is None:
            raise missing or NotFound
        return row

    async def value(self, query: Query, **parameters: Any) -> Any:
        """Return the first column of the first row; raise `NotFound` if there is none."""
        return next(iter((await self.one(query, **parameters)).values()))

    async def run(self, query: Query, **parameters: Any) -> int:
        """Return the number of rows changed."""
        cursor = await self._execute(query, parameters)
        return cursor.rowcount

    async def run_many(self, query: Query, rows: Sequence[Mapping[str, Any]]) -> int:
        """Run the query once per row, in one round trip."""
        with translate_store_errors(), STORE_SECONDS.labels(query.room).time():
            # Each row is a statement and gets the whole limit of one.
            with cut_if_frozen(self.connection, self._deadline * max(1, len(rows))):
                cursor = self.connection.cursor()
                await cursor.executemany(query.sql, rows)
                return cursor.rowcount

    async def each(self, query: Query, rows: Sequence[Mapping[str, Any]]) -> list[DictRow | None]:
        """Run the query once per row, in one round trip; return the first result row of each, if any."""
        if not rows:
            return []
        with translate_store_errors(), STORE_SECONDS.labels(query.room).time():
            with cut_if_frozen(self.connection, self._deadline * len(rows)):
                cursor = self.connection.cursor()
                await cursor.executemany(query.sql, rows, returning=True)
                return [await result.fetchone() async for result in cursor.results()]

    async def plan(self, plan: PlanMode) -> None:
        """Set how the following statements are planned."""
        await self.run(Q["choose_plan"], plan=plan)

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        """Open a savepoint: an error inside rolls back only what was done since."""
        with translate_store_errors():
            async with self.connection.transaction():
                yield

    async def _execute(self, query: Query, parameters: Mapping[str, Any]) -> psycopg.AsyncCursor[DictRow]:
        with translate_store_errors(), STORE_SECONDS.labels(query.room).time():
            with cut_if_frozen(self.connection, self._deadline):
                # We number the parameters once; psycopg would parse the names of a long statement every time.
                cursor = psycopg.AsyncRawCursor[DictRow](self.connection)
                given = [parameters[name] for name in query.parameters]
                return await cursor.execute(query.positional, given, binary=query.packed)


@cache
def _begin_limited(milliseconds: int, plan: PlanMode) -> bytes:
    bound = sql.SQL(Q["begin_limited"].sql).format(timeout=milliseconds, plan=str(plan))
    return bound.as_bytes(None)


class Store:
    """An open database, created by `open_store`."""

    def __init__(
        self,
        pool: psycopg_pool.AsyncConnectionPool[Connection],
        settings: StoreSettings,
        *,
        line: DatabaseConnector,
        direct: DatabaseConnector,
    ) -> None:
        self.pool = pool
        self._settings = settings
        self._line = line
        self._direct = direct

    @property
    def is_database_down(self) -> bool:
        """Whether the last attempt to connect failed."""
        return self._line.trouble is not None

    @asynccontextmanager
    async def transaction(
        self, *, hot: bool = False, patient: bool = False, plan: PlanMode = PlanMode.BY_COST, snapshot: bool = False
    ) -> AsyncIterator[Transaction]:
        """Open a transaction on its own connection.

        `hot` applies the limit of the request path and `plan` sets how statements are planned; `patient`
        removes the limit, for work that is known to take long. A `snapshot` is patient, sees one moment and
        cannot write.
        """
        patient = patient or snapshot
        limit = self._settings.hot_timeout_ms if hot else self._settings.statement_timeout_ms
        with translate_store_errors():
            async with AsyncExitStack() as stack:
                is_plain = plan is PlanMode.BY_COST and not (hot or patient)
                first = b"" if is_plain else _begin_limited(0 if patient else limit, plan)
                first = Q["begin_reading"].sql.encode() if snapshot else first
                connection = await self._begin(stack, wait=limit / 1000, first=first)
                transaction = Transaction(connection, limit=math.inf if patient else limit / 1000)
                if self._line.pooler:
                    await self._configure(transaction, timeout=0 if patient else limit, plan=plan)
                with _mark_in_transaction():
                    yield transaction

    async def all(self, query: Query, *, hot: bool = False, **parameters: Any) -> list[DictRow]:
        """Run one statement, which the server begins and ends by itself: one round trip, not three."""
        limit = (self._settings.hot_timeout_ms if hot else self._settings.statement_timeout_ms) / 1000
        with translate_store_errors():
            connection = await self._take_live_connection(limit)
        if connection is not None:
            try:
                with _mark_in_transaction():
                    # The session has the limit of other statements; the tighter one is kept here.
                    async with asyncio.timeout(limit if hot else None):
                        return await Transaction(connection, limit=limit).all(query, **parameters)
            except TimeoutError as error:
                raise build_too_slow_error() from error
            except StoreDown:
                # A connection that its server ended just now: what only reads is asked again on another one.
                if not (connection.closed and query.sql.startswith("select")):
                    raise
            finally:
                await self.pool.putconn(connection)
        async with self.transaction(hot=hot) as transaction:
            return await transaction.all(query, **parameters)

    async def maybe(self, query: Query, *, hot: bool = False, **parameters: Any) -> DictRow | None:
        return next(iter(await self.all(query, hot=hot, **parameters)), None)

    async def one(
        self, query: Query, missing: FestingerError | None = None, /, *, hot: bool = False, **parameters: Any
    ) -> DictRow:
        for row in await self.all(query, hot=hot, **parameters):
            return row
        raise missing or NotFound

    async def value(self, query: Query, *, hot: bool = False, **parameters: Any) -> Any:
        return next(iter((await self.one(query, hot=hot, **parameters)).values()))

    async def run(self, query: Query, *, hot: bool = False, **parameters: Any) -> int:
        async with self.transaction(hot=hot) as transaction:
            return await transaction.run(query, **parameters)

    @asynccontextmanager
    async def apart(self) -> AsyncIterator[Connection]:
        """Open a direct connection outside the pool, in autocommit and without a statement limit.

        For long-lived work: LISTEN, and building an index while writes continue.
        """
        with translate_store_errors():
            async with closing_connection(await self._direct.connect_once()) as connection:
                await connection.set_autocommit(True)
                await connection.execute(Q["limit_session"].sql)
                yield connection

    @asynccontextmanager
    async def locked(self, query: Query, **parameters: Any) -> AsyncIterator[bool]:
        """Try for a lock on a connection of its own, and hold it; yields whether it was free."""
        async with self.apart() as connection:
            cursor = await connection.execute(query.sql, parameters)
            row = await cursor.fetchone()
            try:
                yield bool(row and row["locked"])
            finally:
                # The server frees it by itself some time after the connection is closed.
                with suppress(psycopg.Error):
                    await connection.execute(Q["unlock_all"].sql)

    async def ping(self) -> None:
        """Return if the database answers within the limit of the request path; else raise `StoreDown`."""
        await self.value(Q["answer"], hot=True)

    def measure(self) -> None:
        """Update the pool gauges."""
        stats = self.pool.get_stats()
        STORE_POOL_SIZE.set(stats.get("pool_size", 0))
        STORE_POOL_WAITING.set(stats.get("requests_waiting", 0))

    async def _configure(self, transaction: Transaction, *, timeout: int, plan: PlanMode) -> None:
        """Give a transaction what a connection of its own would have."""
        limits = {**self._line.limits, "statement_timeout": f"{timeout}ms"}
        await transaction.run(Q["configure_connection"], **limits, local=True)
        await transaction.plan(plan)

    async def _begin(self, stack: AsyncExitStack, *, wait: float, first: bytes) -> Connection:
        """Return a connection with an open transaction that ends with `stack`.

        A pooled connection may have died since its last use, which only its first statement reveals. After a
        server restart all of them have, so each may fail once before a fresh one is opened.
        """
        for spare in range(self.pool.max_size, -1, -1):
            async with AsyncExitStack() as attempt:
                connection = await self._take(wait)
                attempt.push_async_callback(self.pool.putconn, connection)
                try:
                    begun = TimedTransaction(connection, deadline=wait + GRACE_SECONDS, first=first)
                    await attempt.enter_async_context(begun)
                except psycopg.OperationalError:
                    if not (connection.closed and spare):
                        raise
                    continue
                await stack.enter_async_context(attempt.pop_all())
                return connection
        raise AssertionError("the last try returns or raises")

    async def _take_live_connection(self, wait: float) -> Connection | None:
        """Return a connection that lives, as far as can be told without asking; none behind a pooler."""
        if self._line.pooler:
            return None
        connection = await self._take(wait)
        if has_nothing_to_read(connection):
            return connection
        await self.pool.putconn(connection)
        return None

    async def _take(self, wait: float) -> Connection:
        try:
            return await self.pool.getconn(timeout=wait)
        except psycopg_pool.PoolTimeout as error:
            if self._line.trouble is None:
                raise
            raise build_store_down_error("lost", f"The database does not answer: {self._line.trouble}") from error


@asynccontextmanager
async def open_store(url: str, settings: StoreSettings, *, door: str) -> AsyncIterator[Store]:
    """Open a store on an existing, migrated database. `door` names the process in Postgres.

    Raises `StoreDown` if the database does not answer and `StoreUnfit` if it is too old. Once open, a store
    survives server restarts: it reconnects by itself.
    """
    listen_url = settings.listen_url.get_secret_value() if settings.listen_url else None
    line = DatabaseConnector(url, settings, door=door, pooler=listen_url is not None)
    direct = DatabaseConnector(listen_url or url, settings, door=door)
    pool: psycopg_pool.AsyncConnectionPool[Connection] = psycopg_pool.AsyncConnectionPool(
        connection_class=RetryingConnection,
        kwargs={"line": line},
        min_size=settings.pool_min,
        max_size=max(settings.pool_min, settings.pool_max),
        max_lifetime=LIFETIME_SECONDS,
        # The connector never gives up, so the pool need not either.
        reconnect_timeout=math.inf,
        open=False,
    )
    with translate_store_errors():
        async with closing_connection(await line.connect_once()) as connection:
            await require_supported_server(connection)
        await pool.open(wait=True, timeout=CONNECT_SECONDS)
    try:
        yield Store(pool, settings, line=line, direct=direct)
    finally:
        line.stop_retrying()
        await pool.close()


class NestedStore(Store):
    """A store whose transactions are all savepoints of the given transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._outer = transaction

    @asynccontextmanager
    async def transaction(
        self, *, hot: bool = False, patient: bool = False, plan: PlanMode = PlanMode.BY_COST, snapshot: bool = False
    ) -> AsyncIterator[Transaction]:
        """Open a savepoint; limits and plans are those of the outer transaction."""
        async with self._outer.savepoint():
            yield self._outer

    async def all(self, query: Query, *, hot: bool = False, **parameters: Any) -> list[DictRow]:
        async with self.transaction() as transaction:
            return await transaction.all(query, **parameters)
