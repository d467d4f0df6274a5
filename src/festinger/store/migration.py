"""Applies schema migrations and checks that the server is supported.

Migrations are plain SQL files, `NNNN_verb_noun.pre.sql` (only adds) and `.post.sql` (only removes), applied
in order, each in its own transaction, under one cluster-wide advisory lock. Applied files are recorded with
their hash: a file that changed afterwards, or a database ahead of this code, stops the start before anything
is touched. Foreign schemas (the job engine's) are passed in as more migrations. The first file makes the whole
schema; a database that was made with the 23 files before it counts as having it. PostgreSQL 15 and pgvector 0.8
are the oldest that have what the queries use (`iterative_scan` and `halfvec`).
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import psycopg
import structlog
from psycopg.rows import DictRow, dict_row

from festinger.errors import CannotStart, MigrationChanged, SchemaTooNew, StoreUnfit
from festinger.store.connection import (
    CONNECT_SECONDS,
    LOCK_TIMEOUT_MS,
    Connection,
    closing_connection,
    translate_store_errors,
)
from festinger.store.paths import check_database_url, redact_password
from festinger.store.queries import load_queries

Q = load_queries("festinger.store")

OLDEST_POSTGRES = 15
OLDEST_PGVECTOR = (0, 8)

WHOLE_SCHEMA = "0023_create_schema.pre"
FORMER_NAME = re.compile(r"00(?:0[1-9]|1\d|2[0-3])_.*")
FORMER_SHA256 = "409edaa9fe1af9fc301a1b3d5919dba4491e4426fc426c2ab70129adc6823576"
"""Of the names and hashes of the 23 migrations that the whole schema replaced."""
LAST_WITH_FORMER = "3775607"
"""The last commit that has them, for a database that lacks some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerVersions:
    """Versions of a server. `installed` is this database's pgvector, `available` what it could install."""

    postgres: int
    """In the server's notation: 180001 is 18.1."""
    installed: str | None
    available: str | None

    @property
    def pgvector(self) -> str | None:
        return self.installed or self.available

    def __str__(self) -> str:
        major, minor = divmod(self.postgres, 10_000)
        extension = f"pgvector {self.pgvector}" if self.pgvector else "no pgvector"
        return f"PostgreSQL {major}.{minor} with {extension}"


def is_supported(versions: ServerVersions) -> bool:
    if versions.postgres < OLDEST_POSTGRES * 10_000 or versions.pgvector is None:
        return False
    return _numbers(versions.pgvector) >= OLDEST_PGVECTOR


async def read_server_versions(connection: Connection) -> ServerVersions:
    cursor = await connection.execute(Q["find_versions"].sql)
    row = await cursor.fetchone()
    assert row is not None
    return ServerVersions(**row)


async def require_supported_server(connection: Connection) -> ServerVersions:
    """Return the versions of the server; raise `StoreUnfit` with the versions found if they are too old."""
    found = await read_server_versions(connection)
    if not is_supported(found):
        raise StoreUnfit(
            f"Found {found}; PostgreSQL {OLDEST_POSTGRES} and pgvector {_dotted(OLDEST_PGVECTOR)} are the oldest that fit.",
            hint=_remedy(found),
            postgres=found.postgres,
            pgvector=found.pgvector,
        )
    return found


def _remedy(found: ServerVersions) -> str | None:
    if found.installed and found.available and _numbers(found.available) >= OLDEST_PGVECTOR:
        return "Run `alter extension vector update` in this database."
    return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        return _sha256(self.sql)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def load_own_migrations() -> list[Migration]:
    """Return the migrations that ship with Festinger, in order."""
    folder = files("festinger.store").joinpath("migrations")
    found = [entry for entry in folder.iterdir() if entry.name.endswith((".pre.sql", ".post.sql"))]
    return [
        Migration(name=entry.name.removesuffix(".sql"), sql=entry.read_text(encoding="utf-8"))
        for entry in sorted(found, key=lambda entry: entry.name)
    ]


def pending_migrations(migrations: Sequence[Migration], applied: Iterable[tuple[str, str]]) -> list[Migration]:
    """Return the migrations that a database with `applied` (names and hashes) still needs."""
    known = {migration.name: migration for migration in migrations}
    done = _replace_former(dict(applied), known)
    if strangers := sorted(done.keys() - known.keys()):
        raise SchemaTooNew(f"The database has migrations that this version does not know: {', '.join(strangers)}.")
    if changed := sorted(name for name, sha256 in done.items() if known[name].sha256 != sha256):
        raise MigrationChanged(f"Changed since they were applied: {', '.join(changed)}.")
    return [migration for migration in migrations if migration.name not in done]


def _replace_former(done: dict[str, str], known: Mapping[str, Migration]) -> dict[str, str]:
    """The applied migrations, with the whole schema in place of the 23 that it replaced."""
    former = {name: done[name] for name in sorted(done.keys() - known.keys()) if FORMER_NAME.fullmatch(name)}
    if not former or WHOLE_SCHEMA not in known:
        return done
    if _sha256("\n".join(f"{name} {sha256}" for name, sha256 in former.items())) != FORMER_SHA256:
        raise CannotStart(
            f"The database was made before the migrations became one and has only {max(former)[:4]} of 0023.",
            hint=f"Open it once with commit {LAST_WITH_FORMER}, which brings it to 0023, then with this version.",
        )
    rest = {name: sha256 for name, sha256 in done.items() if name not in former}
    return {WHOLE_SCHEMA: known[WHOLE_SCHEMA].sha256, **rest}


async def migrate(url: str, migrations: Sequence[Migration], *, allowed: bool = True) -> list[str]:
    """Migrate the database to the current schema; return the names of the migrations applied.

    With `allowed` false, apply nothing and raise `CannotStart` if the database is behind.
    """
    applied = []
    with translate_store_errors():
        async with closing_connection(await _connect(url)) as connection:
            await require_supported_server(connection)
            while (name := await _step(connection, migrations, allowed=allowed)) is not None:
                log.debug("migration applied", room="store", migration=name)
                applied.append(name)
    return applied


async def _step(
    connection: psycopg.AsyncConnection[DictRow], migrations: Sequence[Migration], *, allowed: bool
) -> str | None:
    """Apply the first pending migration in a transaction; return its name, or `None` if none is left."""
    async with connection.transaction():
        # Held until this transaction ends, not the session, which a pooler shares. If ten processes start at
        # once, each looks again when its turn comes.
        await connection.execute(Q["lock_migrations"].sql)
        todo = pending_migrations(migrations, await _load_applied_migrations(connection))
        if todo and not allowed:
            raise CannotStart(
                f"The database is behind by {len(todo)} migrations and `store.migrate` is `manual`.",
                hint="Run `festinger migrate`.",
            )
        if not todo:
            return None
        await connection.execute(Q["create_schema_migration"].sql)
        await connection.execute(Q["limit_locks"].sql, {"lock_timeout": f"{LOCK_TIMEOUT_MS}ms"})
        await connection.execute(todo[0].sql.encode())
        await connection.execute(Q["record_migration"].sql, {"name": todo[0].name, "sha256": todo[0].sha256})
        return todo[0].name


async def _load_applied_migrations(connection: psycopg.AsyncConnection[DictRow]) -> list[tuple[str, str]]:
    """Return the applied migrations without changing anything, so that a read-only role can ask."""
    cursor = await connection.execute(Q["find_schema_migration"].sql)
    found = await cursor.fetchone()
    if found is None or found["name"] is None:
        return []
    cursor = await connection.execute(Q["applied_migrations"].sql)
    return [(row["name"], row["sha256"]) for row in await cursor.fetchall()]


async def _connect(url: str) -> psycopg.AsyncConnection[DictRow]:
    try:
        return await psycopg.AsyncConnection[DictRow].connect(
            check_database_url(url),
            autocommit=True,
            row_factory=dict_row,
            connect_timeout=CONNECT_SECONDS,
            application_name="festinger:migrate",
        )
    except psycopg.OperationalError as error:
        raise psycopg.OperationalError(redact_password(str(error), url)) from error
