"""Which shape must the database have, and how does it get there?

Migrations are plain SQL files, `NNNN_verb_noun.pre.sql` (only adds) and `.post.sql` (only removes), applied in
order, each in a transaction of its own, under one advisory lock for the whole cluster. What was applied is
recorded with its hash: a file that changed afterwards, or a database that is ahead of this code, stops the
start before anything is touched. Foreign schemas (the job engine's) come in as more migrations at wiring.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files

import psycopg
import structlog
from psycopg.rows import DictRow, dict_row

from festinger.errors import CannotStart, MigrationChanged, SchemaTooNew
from festinger.store.address import checked, without_password
from festinger.store.closing import held
from festinger.store.faults import translated
from festinger.store.fitness import require_fit
from festinger.store.line import CONNECT_SECONDS, LOCK_TIMEOUT_MS
from festinger.store.queries import queries_of

log = structlog.get_logger()

Q = queries_of("festinger.store")


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


def own_migrations() -> list[Migration]:
    """The migrations that ship with Festinger, in order."""
    folder = files("festinger.store").joinpath("migrations")
    found = [entry for entry in folder.iterdir() if entry.name.endswith((".pre.sql", ".post.sql"))]
    return [
        Migration(name=entry.name.removesuffix(".sql"), sql=entry.read_text(encoding="utf-8"))
        for entry in sorted(found, key=lambda entry: entry.name)
    ]


def outstanding(migrations: Sequence[Migration], applied: Iterable[tuple[str, str]]) -> list[Migration]:
    """Those that a database which has `applied` (names with hashes) still needs."""
    known = {migration.name: migration for migration in migrations}
    done = dict(applied)
    if strangers := sorted(done.keys() - known.keys()):
        raise SchemaTooNew(
            f"The database has migrations that this version does not know: {', '.join(strangers)}."
        )
    if changed := sorted(name for name, sha256 in done.items() if known[name].sha256 != sha256):
        raise MigrationChanged(f"Changed since they were applied: {', '.join(changed)}.")
    return [migration for migration in migrations if migration.name not in done]


async def migrate(url: str, migrations: Sequence[Migration], *, allowed: bool = True) -> list[str]:
    """Bring the database to the present shape; the names of what was applied here.

    With `allowed` false nothing is applied: a database that is behind is `CannotStart`.
    """
    applied = []
    with translated():
        async with held(await _connect(url)) as connection:
            await require_fit(connection)
            while (name := await _step(connection, migrations, allowed=allowed)) is not None:
                log.debug("migration applied", room="store", migration=name)
                applied.append(name)
    return applied


async def _step(
    connection: psycopg.AsyncConnection[DictRow], migrations: Sequence[Migration], *, allowed: bool
) -> str | None:
    """Apply the first outstanding migration in a transaction of its own; its name, or none when all is done."""
    async with connection.transaction():
        # Held to the end of this transaction, not of the session, which behind a pooler is shared. Of ten
        # processes that start at once, each looks again when its turn comes.
        await connection.execute(Q["lock_migrations"].sql)
        todo = outstanding(migrations, await _applied(connection))
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


async def _applied(connection: psycopg.AsyncConnection[DictRow]) -> list[tuple[str, str]]:
    """What the database has taken; asking changes nothing, so a role that may only read can ask."""
    cursor = await connection.execute(Q["find_schema_migration"].sql)
    found = await cursor.fetchone()
    if found is None or found["name"] is None:
        return []
    cursor = await connection.execute(Q["applied_migrations"].sql)
    return [(row["name"], row["sha256"]) for row in await cursor.fetchall()]


async def _connect(url: str) -> psycopg.AsyncConnection[DictRow]:
    try:
        return await psycopg.AsyncConnection[DictRow].connect(
            checked(url),
            autocommit=True,
            row_factory=dict_row,
            connect_timeout=CONNECT_SECONDS,
            application_name="festinger:migrate",
        )
    except psycopg.OperationalError as error:
        raise psycopg.OperationalError(without_password(str(error), url)) from error
