"""Restores a backup without bringing back what was forgotten.

All in one transaction: the database is emptied if requested, the dump is loaded, every table is counted
against the manifest, missing migrations are applied, and the forget ledger is applied again. A crash leaves
the database as it was. The `apply` hook decides what a ledger entry means for rows.
"""

import asyncio
import os
import re
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.rows import dict_row

from festinger.clock import Clock, system_clock
from festinger.errors import BadInput, Refused
from festinger.store.backup import backup as manifests
from festinger.store.backup.backup import (
    BackupManifest,
    Connection,
    choose_backup_programs,
    create_backup,
    file_fingerprint,
    format_timestamp,
    summarize_database,
)
from festinger.store.connection import closing_connection, translate_store_errors
from festinger.store.embedded.programs import Binaries, Command, clean_environment, run_program
from festinger.store.erasure import ErasureEntry
from festinger.store.migration import Migration, pending_migrations
from festinger.store.paths import check_database_url, make_folder
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.store")

Apply = Callable[[Transaction, Sequence[ErasureEntry]], Awaitable[int]]
"""Erases again what the ledger names, in the given transaction; returns how many items it erased."""

_OF_EXTENSIONS = re.compile(r"^\d+; \d+ \d+ (EXTENSION|COMMENT - EXTENSION) ", re.MULTILINE)
_COPY = re.compile(rb"^COPY .* FROM stdin;$")
_END_OF_COPY = b"\\.\n"
_RESTRICT_KEY = "festinger"
_RESTRICTIONS = (b"\\restrict festinger\n", b"\\unrestrict festinger\n")
"""Commands for psql, which is not used here; with our own key they cannot be mistaken for data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreResult:
    manifest: BackupManifest
    migrated: tuple[str, ...]
    """Migrations that the dump lacked."""
    forgotten_again: int
    before: Path | None
    """The backup of what was replaced."""


async def restore(
    source: Path,
    url: str,
    *,
    replace: bool,
    migrations: Sequence[Migration],
    forgotten: Sequence[ErasureEntry],
    apply: Apply,
    backups: Path,
    clock: Clock = system_clock,
) -> RestoreResult:
    """Restore `source` into an empty database, or with `replace` into any, after a backup to `backups`."""
    manifest = manifests.read_manifest(source)
    todo = pending_migrations(migrations, manifest.migrations.items())
    if await asyncio.to_thread(file_fingerprint, source) != (manifest.bytes, manifest.sha256):
        raise BadInput(f"`{source.name}` is damaged: it is not the file that was backed up.", hint="Use another.")
    before = await _back_up_before_replace(url, replace=replace, backups=backups, clock=clock)
    with translate_store_errors():
        async with _one_transaction(url) as connection:
            programs = _programs(connection, manifest)
            await connection.execute(Q["remove_everything"].sql)
            await connection.execute(Q["install_vector"].sql)
            await _load_dump(connection, source, programs)
            await _require_counts(connection, manifest)
            for migration in todo:
                await _apply_migration(connection, migration)
            again = await apply(Transaction(connection), forgotten)
    return RestoreResult(
        manifest=manifest, migrated=tuple(migration.name for migration in todo), forgotten_again=again, before=before
    )


async def _back_up_before_replace(url: str, *, replace: bool, backups: Path, clock: Clock) -> Path | None:
    """Back up a database that has tables, which requires `replace`; do nothing for an empty one."""
    with translate_store_errors():
        async with closing_connection(
            await Connection.connect(check_database_url(url), row_factory=dict_row)
        ) as connection:
            cursor = await connection.execute(Q["find_tables"].sql, {})
            tables = [row["name"] for row in await cursor.fetchall()]
    if not tables:
        return None
    if not replace:
        raise Refused(
            f"The database is not empty: it has {len(tables)} tables.",
            hint="Restore into an empty one, or add `--replace`, which makes a backup first.",
        )
    make_folder(backups)
    target = backups / f"before-restore-{format_timestamp(clock())}.dump"
    await create_backup(url, target, clock=clock)
    return target


@asynccontextmanager
async def _one_transaction(url: str) -> AsyncIterator[Connection]:
    async with (
        closing_connection(
            await Connection.connect(check_database_url(url), row_factory=dict_row, autocommit=True)
        ) as connection,
        connection.transaction(),
    ):
        # The lock of migrations, so that nobody changes the schema meanwhile. This also lifts the statement
        # limit.
        await connection.execute(Q["lock_migrations"].sql)
        yield connection


def _programs(connection: Connection, manifest: BackupManifest) -> Binaries:
    programs = choose_backup_programs(connection.info.server_version)
    if manifest.postgres > programs.major:
        raise Refused(
            f"The backup is of PostgreSQL {manifest.postgres}, and this server is older.",
            hint="Restore it into a server of at least that version, such as the embedded one.",
        )
    return programs


async def _load_dump(connection: Connection, source: Path, programs: Binaries) -> None:
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".list") as contents:
        contents.write(await _table_of_contents(source, programs))
        contents.flush()
        base: list[str | Path] = [programs["pg_restore"], "--no-owner", "--no-privileges", "--use-list", contents.name]
        base += [f"--restrict-key={_RESTRICT_KEY}", "--file=-"]
        await _run_section(connection, [*base, "--section=pre-data", source])
        await _copy_section(connection, [*base, "--section=data", source])
        await _run_section(connection, [*base, "--section=post-data", source])
    # pg_dump's script empties the search path; what follows here needs it again.
    await connection.execute(Q["reset_session"].sql)


async def _table_of_contents(source: Path, programs: Binaries) -> str:
    """List what the dump holds without extensions, which a plain role may neither create nor comment on."""
    listed = await run_program([programs["pg_restore"], "--list", source])
    if listed.status != 0:
        raise BadInput(f"`{source.name}` cannot be read: {listed.reason}.", hint="Use another backup.")
    return _OF_EXTENSIONS.sub(lambda found: f";{found[0]}", listed.out)


async def _run_section(connection: Connection, command: Command) -> None:
    """Run the statements of a section that holds no rows."""
    script = b"".join([line async for line in _lines(command) if line not in _RESTRICTIONS])
    await connection.execute(script)


async def _copy_section(connection: Connection, command: Command) -> None:
    """Stream the rows of each table, and run the statements between them."""
    lines = _lines(command)
    statement = b""
    async for line in lines:
        if line in _RESTRICTIONS:
            continue
        if not _COPY.match(line):
            statement += line
            continue
        await connection.execute(statement)
        statement = b""
        async with connection.cursor() as cursor, cursor.copy(line) as copy:
            async for row in lines:
                if row == _END_OF_COPY:
                    break
                await copy.write(row)
    await connection.execute(statement)


async def _lines(command: Command) -> AsyncIterator[bytes]:
    """Yield the lines that a program writes; raise if it fails."""
    with tempfile.TemporaryFile() as errors:
        process = _start_process(command, errors.fileno())
        assert process.stdout is not None
        try:
            # Many lines at a time: a thread per row of a large table would take far longer than the row.
            while batch := await asyncio.to_thread(process.stdout.readlines, 1 << 20):
                for line in batch:
                    yield line
            status = await asyncio.to_thread(process.wait)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        if status != 0:
            errors.seek(0)
            reason = errors.read().decode(errors="replace").strip().partition("\n")[0]
            raise BadInput(f"The backup cannot be read: {reason}.", hint="Use another backup.")


def _start_process(command: Command, errors: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [os.fspath(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=clean_environment(),
        start_new_session=True,
    )


async def _require_counts(connection: Connection, manifest: BackupManifest) -> None:
    found = (await summarize_database(connection)).tables
    wrong = sorted(
        table for table in found.keys() | manifest.tables.keys() if found.get(table) != manifest.tables.get(table)
    )
    if wrong:
        raise BadInput(
            f"The backup does not hold what its manifest says: {', '.join(wrong)}.",
            hint="Nothing was changed. Use another backup.",
        )


async def _apply_migration(connection: psycopg.AsyncConnection[psycopg.rows.DictRow], migration: Migration) -> None:
    await connection.execute(migration.sql.encode())
    await connection.execute(Q["record_migration"].sql, {"name": migration.name, "sha256": migration.sha256})
