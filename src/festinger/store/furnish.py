"""What must be in a cluster before anybody works in it?

A role that owns one database and can do nothing else, that database, and pgvector in it at the version that the
programs bring. Only these need the superuser; the application never does. Each piece is looked for first, so
whoever dies in between is followed by one who completes it. The callers hold the start lock.
"""

from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.rows import DictRow, dict_row

from festinger.store import postmaster
from festinger.store.closing import held
from festinger.store.cluster import SUPERUSER
from festinger.store.faults import translated
from festinger.store.launch import DATABASE, ROLE, Server
from festinger.store.queries import queries_of

Q = queries_of("festinger.store")

Connection = psycopg.AsyncConnection[DictRow]


async def furnish(server: Server, socket: Path) -> None:
    """Make whatever is missing; afterwards the application's own connection has run a statement."""
    with translated():
        if not await _lets_in(server, socket):
            await _make_role_and_database(server, socket)
        await _make_extension(server, socket)
        await postmaster.ping(server.url(socket=socket))


async def _lets_in(server: Server, socket: Path) -> bool:
    try:
        await postmaster.ping(server.url(socket=socket))
    except psycopg.OperationalError:
        return False
    return True


async def _make_role_and_database(server: Server, socket: Path) -> None:
    async with held(await _as_superuser(server, socket, database="postgres")) as connection:
        # Sealed here: the words of the password never reach the server.
        sealed = connection.pgconn.encrypt_password(server.password.encode(), ROLE.encode(), b"scram-sha-256")
        query = "change_role" if await _found(connection, "find_role", ROLE) else "make_role"
        statement = sql.SQL(Q[query].sql).format(password=sql.Literal(sealed.decode()))
        await connection.execute(statement)
        if not await _found(connection, "find_database", DATABASE):
            await connection.execute(Q["make_database"].sql)
        await connection.execute(Q["close_database"].sql)


async def _make_extension(server: Server, socket: Path) -> None:
    async with held(await _as_superuser(server, socket, database=DATABASE)) as connection:
        cursor = await connection.execute(Q["vector_is_behind"].sql)
        if await cursor.fetchone():
            await connection.execute(Q["install_vector"].sql)
            await connection.execute(Q["update_vector"].sql)


async def _found(connection: Connection, query: str, name: str) -> bool:
    cursor = await connection.execute(Q[query].sql, {"name": name})
    return await cursor.fetchone() is not None


async def _as_superuser(server: Server, socket: Path, *, database: str) -> Connection:
    url = server.url(socket=socket, role=SUPERUSER, database=database)
    return await Connection.connect(url, autocommit=True, row_factory=dict_row)
