"""What does a database error mean to the rest of Festinger?

The one place where psycopg's errors become ours. Whatever says that the database is away, full, too slow or
being shut down is `StoreDown` and may be tried again; everything else is a fault of ours and stays as it is.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import psycopg_pool
from psycopg import errors as pg

from festinger.errors import StoreDown
from festinger.seeing.metrics import STORE_ERRORS

_TOO_SLOW = (pg.QueryCanceled, pg.LockNotAvailable, pg.IdleInTransactionSessionTimeout)
_BUSY = (pg.DeadlockDetected, pg.SerializationFailure)


@contextmanager
def translated() -> Iterator[None]:
    """Turn psycopg's errors into ours, once, with their cause."""
    try:
        yield
    except pg.DiskFull as error:
        raise _down(
            "disk_full", "The disk of the database is full.", "Free some space; nothing else is needed."
        ) from error
    except pg.ReadOnlySqlTransaction as error:
        raise _down(
            "read_only", "The database takes no writes now.", "Point `database_url` at the primary server."
        ) from error
    except _TOO_SLOW as error:
        raise _down("too_slow", "The database took longer than its limit.", None) from error
    except _BUSY as error:
        raise _down("busy", "Other work changed the same rows at the same moment.", "Try again.") from error
    except psycopg_pool.PoolTimeout as error:
        raise _down("no_connection", "No database connection became free in time.", None) from error
    except psycopg_pool.PoolClosed as error:
        raise _down("closed", "The store is closed.", "Open it again.") from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise _down("lost", f"The database does not answer: {_first_line(error)}", None) from error


def _down(kind: str, message: str, hint: str | None) -> StoreDown:
    STORE_ERRORS.labels(kind).inc()
    return StoreDown(message, hint=hint, kind=kind)


def _first_line(error: Exception) -> str:
    # libpq messages may repeat the connection string over several lines; the first has the reason.
    return str(error).strip().partition("\n")[0] or type(error).__name__
