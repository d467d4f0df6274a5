"""How does a connection end that belongs to no pool?

Closed, whatever happens. Left to itself, a connection of psycopg that is let go first commits or rolls back, and stays
open if it is interrupted there: whoever is cancelled twice, or while committing, would leave one behind.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

import psycopg

Row = TypeVar("Row")


@asynccontextmanager
async def held(connection: "psycopg.AsyncConnection[Row]") -> AsyncIterator["psycopg.AsyncConnection[Row]"]:
    """A connection, committed or rolled back in the end, and closed in any case."""
    try:
        async with connection:
            yield connection
    finally:
        # Does not wait for anything, so that nothing can interrupt it.
        await connection.close()
