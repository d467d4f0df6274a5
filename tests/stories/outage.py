"""A database that nobody can reach for a while: every connection to it ends, and no new one is let in."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg


@contextmanager
def outage(database_url: str) -> Iterator[None]:
    before, _, name = database_url.partition("dbname=")
    with psycopg.connect(f"{before}dbname=postgres", autocommit=True) as connection:
        connection.execute(f"alter database {name} with allow_connections false".encode())
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = %(name)s", {"name": name}
        )
        try:
            yield
        finally:
            connection.execute(f"alter database {name} with allow_connections true".encode())
