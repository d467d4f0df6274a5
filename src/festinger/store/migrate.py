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
from festinger.store.faults import translated
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
    """Bring the database to the present shape; the names of what was applied.

    With `allowed` false nothing is applied: a database that is behind is `CannotStart`.
    """
    with translated():
        async with await psycopg.AsyncConnection[DictRow].connect(
            url, autocommit=True, row_factory=dict_row
        ) as connection:
            # Held for the session: ten processes that start at once take turns, nine find nothing to do.
            await connection.execute(Q["lock_migrations"].sql)
            await connection.execute(Q["create_schema_migration"].sql)
            cursor = await connection.execute(Q["applied_migrations"].sql)
            applied = [(row["name"], row["sha256"]) for row in await cursor.fetchall()]
            todo = outstanding(migrations, applied)
            if todo and not allowed:
                raise CannotStart(
                    f"The database is behind by {len(todo)} migrations and `store.migrate` is `manual`.",
                    hint="Run `festinger migrate`.",
                )
            for migration in todo:
                async with connection.transaction():
                    await connection.execute(migration.sql)
                    await connection.execute(
                        Q["record_migration"].sql, {"name": migration.name, "sha256": migration.sha256}
                    )
                log.info("migration applied", room="store", migration=migration.name)
    return [migration.name for migration in todo]
