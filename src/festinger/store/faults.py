"""What does a database error mean to the rest of Festinger?

The one place where psycopg's errors become ours. Whatever says that the database is away, full, too slow or
being shut down is `StoreDown` and may be tried again; that others are at the same rows is `StoreBusy`, and soon over.
Rows that another's rows forbid are `Refused`. Everything else is a fault of ours and stays as it is.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import psycopg_pool
from psycopg import errors as pg

from festinger.errors import Refused, StoreBusy, StoreDown
from festinger.observability.metrics import STORE_ERRORS

TOO_SLOW = "too_slow"
DAMAGED = "damaged"
HELD = "held"
"""Somebody else has held a row for longer than anybody waits; trying again at once would only wait again."""

_TOO_SLOW = (pg.QueryCanceled, pg.IdleInTransactionSessionTimeout, pg.TransactionTimeout)
_DAMAGED = (pg.IndexCorrupted, pg.DataCorrupted)
_BUSY = (pg.DeadlockDetected, pg.SerializationFailure)
_TAKEN = (pg.UniqueViolation, pg.ExclusionViolation)


@contextmanager
def translated() -> Iterator[None]:
    """Turn psycopg's errors into ours, once, with their cause."""
    try:
        with _without_details():
            yield
    except pg.DiskFull as error:
        raise down(
            "disk_full", "The disk of the database is full.", "Free some space; nothing else is needed."
        ) from error
    except pg.ReadOnlySqlTransaction as error:
        raise down(
            "read_only", "The database takes no writes now.", "Point `database_url` at the primary server."
        ) from error
    except _TOO_SLOW as error:
        raise down(TOO_SLOW, "The database took longer than its limit.") from error
    except pg.LockNotAvailable as error:
        raise busy(HELD, "Other work has held the same rows for longer than this waits.") from error
    except _DAMAGED as error:
        raise down(
            DAMAGED, "A table or an index is damaged.", "Rebuild it with `reindex`, or restore a backup."
        ) from error
    except _BUSY as error:
        raise busy("busy", "Other work changed the same rows at the same moment.") from error
    except psycopg_pool.PoolTimeout as error:
        raise down("no_connection", "No database connection became free in time.") from error
    except psycopg_pool.PoolClosed as error:
        raise down("closed", "The store is closed.", "Open it again.") from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise down("lost", f"The database does not answer: {_first_line(error)}") from error
    except _TAKEN as error:
        raise _refused("There is already one like this.", error) from error
    except pg.ForeignKeyViolation as error:
        raise _refused(
            "What this belongs to is not there, or something still belongs to it.", error
        ) from error


@contextmanager
def _without_details() -> Iterator[None]:
    """Leave only the first message of an error: its detail repeats the row, and the log would repeat that."""
    try:
        yield
    except psycopg.Error as error:
        if error.diag.message_primary:
            error.args = (error.diag.message_primary,)
        raise


def down(kind: str, message: str, hint: str | None = None) -> StoreDown:
    STORE_ERRORS.labels(kind).inc()
    return StoreDown(message, hint=hint, kind=kind)


def busy(kind: str, message: str) -> StoreBusy:
    STORE_ERRORS.labels(kind).inc()
    return StoreBusy(message, kind=kind)


def _refused(message: str, error: psycopg.Error) -> Refused:
    # The names of table and constraint only: the server's own detail repeats the values of the row.
    return Refused(message, table=error.diag.table_name, constraint=error.diag.constraint_name)


def _first_line(error: Exception) -> str:
    # libpq messages may repeat the connection string over several lines; the first has the reason.
    return str(error).strip().partition("\n")[0] or type(error).__name__
