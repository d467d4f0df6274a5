"""Opens and configures connections, translates database errors and cuts frozen ones.

`connect_once` tries once; `connect_with_retries` tries until the database answers or the store closes, with pauses that grow from
0.1 to 5 seconds. Psycopg errors become ours only here: if the database is down, full, too slow or shutting
down, the error is `StoreDown` and can be retried; contention for rows is `StoreBusy`; a constraint violation
is `Refused`; anything else is a bug and passes through. A server that froze, or a network that swallows
packets, reports nothing, so after a time limit the socket is cut from this side and the caller gets
`StoreDown`.
"""

import asyncio
import os
import select
import socket
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from types import TracebackType
from typing import Any, Self, TypeVar

import psycopg
import psycopg_pool
from pgvector.psycopg.halfvec import register_halfvec_info
from psycopg import errors as pg
from psycopg.abc import PQGen
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.rows import DictRow, dict_row
from psycopg.types import TypeInfo
from psycopg.waiting import wait_async

from festinger.clock import backoff_delays
from festinger.errors import Refused, StoreBusy, StoreDown
from festinger.observability.metrics import STORE_ERRORS, STORE_ROUND_TRIPS
from festinger.settings.tree import StoreSettings
from festinger.store.paths import check_database_url, redact_password
from festinger.store.queries import load_queries

Connection = psycopg.AsyncConnection[DictRow]
Result = TypeVar("Result")

Q = load_queries("festinger.store")

CONNECT_SECONDS = 5
WAKE_SECONDS = 0.1
"""How often a waiting connection looks for interrupts; psycopg's own value."""
LOCK_TIMEOUT_MS = 5_000
PREPARE_AFTER = 5
"""Uses of a statement on one connection after which the server keeps its plan."""
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0


class DatabaseConnector:
    """Connects to one database. `trouble` is why it cannot be reached now, if that is so.

    Behind a `pooler` in transaction mode a session is shared: the next transaction may run in another server
    process. Limits are then set per transaction, and no plan is prepared by name.
    """

    def __init__(self, url: str, settings: StoreSettings, *, door: str, pooler: bool = False) -> None:
        self.trouble: str | None = None
        self.pooler = pooler
        self._url = check_database_url(url)
        self._settings = settings
        self._door = door
        self._hung_up = asyncio.Event()

    @property
    def limits(self) -> dict[str, str]:
        """Limits of every connection, as the parameters of `configure_connection`."""
        return {
            "statement_timeout": f"{self._settings.statement_timeout_ms}ms",
            "lock_timeout": f"{LOCK_TIMEOUT_MS}ms",
            "application_name": f"festinger:{self._door}",
        }

    async def connect_once(self) -> Connection:
        """Try once. Remove the password from libpq's messages."""
        try:
            connection = await CancelSafeConnection.connect(
                self._url, row_factory=dict_row, autocommit=True, **self._options()
            )
            await self._configure(connection)
        except psycopg.OperationalError as error:
            self.trouble = redact_password(_first_line(error), self._url)
            raise psycopg.OperationalError(self.trouble) from error
        self.trouble = None
        return connection

    async def connect_with_retries(self) -> Connection:
        """Try until the database answers; give up only when the store closes."""
        for pause in backoff_delays(FIRST_PAUSE, LONGEST_PAUSE):
            try:
                return await self.connect_once()
            except psycopg.OperationalError:
                if await self._is_stopped_within(pause):
                    raise
        raise AssertionError("pauses never end")

    def stop_retrying(self) -> None:
        """Stop retrying: the store closes."""
        self._hung_up.set()

    async def _is_stopped_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._hung_up.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def _options(self) -> dict[str, Any]:
        limit = self._settings.statement_timeout_ms
        return {
            "connect_timeout": CONNECT_SECONDS,
            # The system notices a network that swallows packets, since the server cannot report it.
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
            # Before its first migration a database has no vector types.
            if halfvec := await TypeInfo.fetch(connection, "halfvec"):
                register_halfvec_info(connection, halfvec)
            on_failure.pop_all()


class CancelSafeConnection(psycopg.AsyncConnection[DictRow]):
    """A connection that stops its statement when the caller is canceled, however often that happens.

    Psycopg asks the server to stop and waits for it, but a second cancellation would interrupt that. The
    connection would still be busy, so it could neither roll back nor serve anyone else.
    """

    async def wait(self, gen: PQGen[Result], interval: float = WAKE_SECONDS, timeout: float | None = None) -> Result:
        if self.pgconn.pipeline_status == PipelineStatus.OFF:
            # A pipeline counts once, when it is entered: what is sent in it is waited for together.
            STORE_ROUND_TRIPS.inc()
        try:
            return await wait_async(gen, self.pgconn.socket, interval=interval, timeout=timeout)
        except asyncio.CancelledError:
            if self.pgconn.transaction_status == TransactionStatus.ACTIVE:
                await _finish(self._stop(gen))
            raise

    async def _stop(self, gen: PQGen[Result]) -> None:
        try:
            await self.cancel_safe(timeout=CONNECT_SECONDS)
            await wait_async(gen, self.pgconn.socket, interval=WAKE_SECONDS, timeout=CONNECT_SECONDS)
        except pg.QueryCanceled:
            pass
        except psycopg.Error:
            self.pgconn.finish()  # the server may still be busy with it


async def _finish(work: Coroutine[Any, Any, None]) -> None:
    """Wait for this work even if the caller is canceled."""
    task = asyncio.create_task(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)


class RetryingConnection(psycopg.AsyncConnection[DictRow]):
    """The pool's connection class: it connects through the connector, which does not give up."""

    @classmethod
    async def connect(cls, conninfo: str = "", *, line: DatabaseConnector, **_: Any) -> Self:  # type: ignore[override]
        return await line.connect_with_retries()  # type: ignore[return-value]


def has_nothing_to_read(connection: Connection) -> bool:
    """Whether an idle connection has nothing to tell: one whose server is gone has its end to read."""
    if connection.closed:
        return False
    wire = select.poll()
    wire.register(connection.fileno())
    return not any(event & ~select.POLLOUT for _, event in wire.poll(0))


def _first_line(error: Exception) -> str:
    # libpq repeats the reason for every address that it tried; the first line has it.
    return str(error).strip().partition("\n")[0] or type(error).__name__


TOO_SLOW = "too_slow"
DAMAGED = "damaged"
HELD = "held"
"""Another transaction has held a row for longer than anyone waits; retrying at once would only wait again."""

_TOO_SLOW = (pg.QueryCanceled, pg.IdleInTransactionSessionTimeout, pg.TransactionTimeout)
_DAMAGED = (pg.IndexCorrupted, pg.DataCorrupted)
_BUSY = (pg.DeadlockDetected, pg.SerializationFailure)
_TAKEN = (pg.UniqueViolation, pg.ExclusionViolation)


@contextmanager
def translate_store_errors() -> Iterator[None]:
    """Translate psycopg's errors into ours, once, with their cause."""
    try:
        with _without_details():
            yield
    except pg.DiskFull as error:
        raise build_store_down_error(
            "disk_full", "The disk of the database is full.", "Free some space; nothing else is needed."
        ) from error
    except pg.ReadOnlySqlTransaction as error:
        raise build_store_down_error(
            "read_only", "The database takes no writes now.", "Point `database_url` at the primary server."
        ) from error
    except _TOO_SLOW as error:
        raise build_too_slow_error() from error
    except pg.LockNotAvailable as error:
        raise build_store_busy_error(HELD, "Other work has held the same rows for longer than this waits.") from error
    except _DAMAGED as error:
        raise build_store_down_error(
            DAMAGED, "A table or an index is damaged.", "Rebuild it with `reindex`, or restore a backup."
        ) from error
    except _BUSY as error:
        raise build_store_busy_error("busy", "Other work changed the same rows at the same moment.") from error
    except psycopg_pool.PoolTimeout as error:
        raise build_store_down_error("no_connection", "No database connection became free in time.") from error
    except psycopg_pool.PoolClosed as error:
        raise build_store_down_error("closed", "The store is closed.", "Open it again.") from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise build_store_down_error("lost", f"The database does not answer: {_first_line(error)}") from error
    except _TAKEN as error:
        raise _refused("There is already one like this.", error) from error
    except pg.ForeignKeyViolation as error:
        raise _refused("What this belongs to is not there, or something still belongs to it.", error) from error


@contextmanager
def _without_details() -> Iterator[None]:
    """Keep only the primary message of an error: its detail repeats the row, which would reach the log."""
    try:
        yield
    except psycopg.Error as error:
        if error.diag.message_primary:
            error.args = (error.diag.message_primary,)
        raise


def build_store_down_error(kind: str, message: str, hint: str | None = None) -> StoreDown:
    STORE_ERRORS.labels(kind).inc()
    return StoreDown(message, hint=hint, kind=kind)


def build_too_slow_error() -> StoreDown:
    return build_store_down_error(TOO_SLOW, "The database took longer than its limit.")


def build_store_busy_error(kind: str, message: str) -> StoreBusy:
    STORE_ERRORS.labels(kind).inc()
    return StoreBusy(message, kind=kind)


def _refused(message: str, error: psycopg.Error) -> Refused:
    # Only the names of table and constraint: the server's detail repeats the values of the row.
    return Refused(message, table=error.diag.table_name, constraint=error.diag.constraint_name)


LONGEST_SECONDS = 24 * 3600.0
"""Upper limit even for patient work."""


class ConnectionCutter:
    """Closes the socket of a connection from this side, whatever state it is in."""

    def __init__(self, connection: Connection) -> None:
        self.has_cut = False
        self._connection = connection

    def cut(self) -> None:
        self.has_cut = True
        with socket.socket(fileno=os.dup(self._connection.fileno())) as wire:
            wire.shutdown(socket.SHUT_RDWR)


@contextmanager
def cut_if_frozen(connection: Connection, seconds: float) -> Iterator[None]:
    """Cut a connection whose server has been silent for this long.

    The socket is cut rather than the caller canceled: psycopg would react to that by asking the server once
    more.
    """
    watch = ConnectionCutter(connection)
    timer = asyncio.get_running_loop().call_later(min(seconds, LONGEST_SECONDS), watch.cut)
    try:
        yield
    except psycopg.OperationalError as error:
        if not watch.has_cut:
            raise
        raise build_store_down_error(
            "frozen", "The database stopped answering in the middle of a statement."
        ) from error
    finally:
        timer.cancel()


class TimedTransaction:
    """A transaction whose begin and end each have a time limit."""

    def __init__(self, connection: Connection, *, deadline: float, first: bytes = b"") -> None:
        """`first` begins it together with what is said at its beginning, in one round trip."""
        self._transaction = None if first else connection.transaction()
        self._first = first
        self._connection = connection
        self._deadline = deadline

    async def __aenter__(self) -> None:
        with cut_if_frozen(self._connection, self._deadline):
            await (self._transaction.__aenter__() if self._transaction else self._connection.execute(self._first))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        with cut_if_frozen(self._connection, self._deadline):
            if self._transaction is not None:
                return await self._transaction.__aexit__(kind, error, trace)
            if error is None:
                await self._connection.commit()
                return None
            with suppress(psycopg.Error):  # the error that ended it says more
                await self._connection.rollback()
            return None


Row = TypeVar("Row")


@asynccontextmanager
async def closing_connection(
    connection: "psycopg.AsyncConnection[Row]",
) -> AsyncIterator["psycopg.AsyncConnection[Row]"]:
    """Commit or roll back a connection in the end, and close it in any case.

    Otherwise psycopg leaves it open if it is canceled during the commit or rollback.
    """
    try:
        async with connection:
            yield connection
    finally:
        # Does not wait for anything, so nothing can interrupt it.
        await connection.close()


AGAIN_SECONDS = 0.1


async def cancel_tasks(tasks: Iterable[asyncio.Task[Any]], *, again_after: float = AGAIN_SECONDS) -> None:
    """Cancel these tasks, repeatedly, until all are done; ignore how they ended.

    Before Python 3.12, `asyncio.wait_for`, which psycopg uses, loses a cancellation that arrives together
    with the result: the task would then go on as if nobody had canceled it.
    """
    all_of_them = list(tasks)
    while left := [task for task in all_of_them if not task.done()]:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=again_after)
    await asyncio.gather(*all_of_them, return_exceptions=True)
