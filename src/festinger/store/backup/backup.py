"""Backs up the database to a dump file with a manifest.

The database takes one snapshot: rows are counted in it and `pg_dump` reads the same one, so the manifest
matches the dump exactly. Both files are written under temporary names and renamed, the manifest last: a
backup without a manifest was interrupted. The manifest lets a restore reject damaged, foreign or too new
backups before touching anything, and verify afterwards that every row came back. It holds no secret and
nobody's text. The master key is not in a backup; secrets stay sealed.
"""

import asyncio
import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow, dict_row

from festinger.clock import Clock, aware, iso, system_clock
from festinger.errors import BadInput, NotFound, Refused, StoreDown, StoreUnfit
from festinger.store.connection import closing_connection, translate_store_errors
from festinger.store.embedded.programs import FOLDERS, Binaries, bundled_binaries, run_program
from festinger.store.paths import check_database_url, make_folder, open_private_file, suggest_remedy, sync_folder
from festinger.store.queries import load_queries

FORMAT = 1
SUFFIX = ".json"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupManifest:
    made_at: datetime
    festinger: str
    postgres: int
    """Major version of the programs that wrote the dump."""
    migrations: Mapping[str, str]
    """Applied migrations, with their hashes."""
    tables: Mapping[str, int]
    """Rows per table."""
    embedders: tuple[str, ...]
    """Models whose vectors are in the dump."""
    bytes: int
    sha256: str

    @property
    def schema_version(self) -> str:
        """The last of our own migrations; empty if none was applied. Foreign ones have a `/` in the name."""
        return max((name for name in self.migrations if "/" not in name), default="")

    @property
    def rows(self) -> int:
        return sum(self.tables.values())


def manifest_path(dump: Path) -> Path:
    return dump.with_name(dump.name + SUFFIX)


def format_manifest(manifest: BackupManifest) -> str:
    body: dict[str, Any] = {
        "format": FORMAT,
        "schema_version": manifest.schema_version,
        **asdict(manifest),
        "made_at": iso(manifest.made_at),
    }
    return json.dumps(body, indent=2, sort_keys=True) + "\n"


def read_manifest(dump: Path) -> BackupManifest:
    """Read the manifest of a dump; a dump without one is left over from an interrupted backup."""
    path = manifest_path(dump)
    if not path.exists():
        raise NotFound(
            f"There is no backup `{dump.name}` with its manifest `{path.name}`.",
            hint="Give the file that `festinger backup` made, and keep the two files together.",
        )
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        if body.pop("format") != FORMAT:
            raise BadInput(f"`{path.name}` was written by a newer Festinger.", hint="Restore it with that version.")
        del body["schema_version"]
        made_at = aware(datetime.fromisoformat(body.pop("made_at")))
        return BackupManifest(made_at=made_at, embedders=tuple(body.pop("embedders")), **body)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"`{path.name}` is not a manifest of a backup.", hint="Use another backup.") from error


Q = load_queries("festinger.store")

Connection = psycopg.AsyncConnection[DictRow]

AUTOMATIC = "auto-"
"""Name prefix of automatic backups; only those are ever deleted automatically."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSummary:
    """What a snapshot of a database holds."""

    tables: Mapping[str, int]
    embedders: tuple[str, ...]
    migrations: Mapping[str, str]


async def create_backup(url: str, target: Path, *, clock: Clock = system_clock) -> BackupManifest:
    """Write the whole database to `target` with its manifest next to it. Never replace an existing backup."""
    _require_free(target)
    part = target.with_name(target.name + ".part")
    try:
        made = await _dump(url, part, at=clock())
        _publish(part, target, made)
    except OSError as error:
        reason = error.strerror or str(error)
        raise Refused(f"The backup `{target}` cannot be written: {reason}.", hint="Choose another place.") from error
    finally:
        _remove_partial_files(part)
    return made


def _require_free(target: Path) -> None:
    if target.exists() or manifest_path(target).exists():
        raise Refused(f"There is already a backup at `{target}`.", hint="Choose another file name.")


def _publish(part: Path, target: Path, made: BackupManifest) -> None:
    _replace_with_private_text(manifest_path(part), format_manifest(made))
    part.rename(target)
    manifest_path(part).rename(manifest_path(target))
    sync_folder(target.parent)


def _remove_partial_files(part: Path) -> None:
    for left in (part, manifest_path(part)):
        with suppress(OSError):
            left.unlink()


async def create_automatic_backup(url: str, folder: Path, *, keep: int, clock: Clock = system_clock) -> Path:
    """Make the next automatic backup in `folder` and delete the oldest beyond `keep`; return the file."""
    make_folder(folder)
    target = folder / f"{AUTOMATIC}{format_timestamp(clock())}.dump"
    await create_backup(url, target, clock=clock)
    _prune(folder, keep=keep)
    return target


def _prune(folder: Path, *, keep: int) -> None:
    for old in select_outdated_dumps([path.name for path in folder.iterdir()], keep=keep):
        for path in (manifest_path(folder / old), folder / old):
            path.unlink(missing_ok=True)


def format_timestamp(at: datetime) -> str:
    """Format a time for a file name, so that names sort by time."""
    return at.strftime("%Y%m%dT%H%M%S%fZ")


def select_outdated_dumps(names: list[str], *, keep: int) -> list[str]:
    """Return the automatic dumps among `names` that are older than the newest `keep`."""
    dumps = sorted(name for name in names if name.startswith(AUTOMATIC) and name.endswith(".dump"))
    return dumps[: max(0, len(dumps) - keep)]


async def summarize_database(connection: Connection) -> DatabaseSummary:
    """Count all rows that the transaction of this connection sees."""
    await connection.execute(Q["tally_rows"].sql)
    cursor = await connection.execute(Q["tallied_rows"].sql)
    row = await cursor.fetchone()
    assert row is not None
    found = json.loads(row["tally"])
    return DatabaseSummary(
        tables=found["tables"], embedders=tuple(sorted(found["embedders"])), migrations=found["migrations"]
    )


async def load_database_summary(url: str) -> DatabaseSummary:
    """Return what a database holds now."""
    with translate_store_errors():
        async with closing_connection(
            await Connection.connect(check_database_url(url), row_factory=dict_row)
        ) as connection:
            return await summarize_database(connection)


def choose_backup_programs(server_version: int) -> Binaries:
    """Return the oldest bundled programs that can read a server of this version (180001 is 18.1)."""
    major = server_version // 10_000
    fitting = [known for known in sorted(FOLDERS) if known >= major]
    if not fitting:
        raise StoreUnfit(
            f"The server is PostgreSQL {major}; the backup programs here are of {max(FOLDERS)}.",
            hint="Use the `pg_dump` and `pg_restore` of that server.",
        )
    return bundled_binaries(fitting[0])


def split_off_password(url: str) -> tuple[str, dict[str, str]]:
    """Return the database as a program argument, and the password where `ps` does not show it."""
    parts = conninfo_to_dict(check_database_url(url))
    password = parts.pop("password", None)
    return make_conninfo("", **parts), {"PGPASSWORD": str(password)} if password else {}


async def _dump(url: str, part: Path, *, at: datetime) -> BackupManifest:
    with translate_store_errors():
        async with (
            closing_connection(
                await Connection.connect(check_database_url(url), row_factory=dict_row, autocommit=True)
            ) as connection,
            connection.transaction(),
        ):
            cursor = await connection.execute(Q["begin_snapshot"].sql)
            cursor = await connection.execute(Q["export_snapshot"].sql)
            snapshot = await cursor.fetchone()
            assert snapshot is not None
            counted = await summarize_database(connection)
            programs = choose_backup_programs(connection.info.server_version)
            await _run_dump(url, part, programs=programs, snapshot=snapshot["snapshot"])
    size, sha256 = await asyncio.to_thread(file_fingerprint, part)
    return BackupManifest(
        made_at=at,
        festinger=version("festinger"),
        postgres=programs.major,
        migrations=counted.migrations,
        tables=counted.tables,
        embedders=counted.embedders,
        bytes=size,
        sha256=sha256,
    )


async def _run_dump(url: str, part: Path, *, programs: Binaries, snapshot: str) -> None:
    address, environment = split_off_password(url)
    _remove_partial_files(part)
    output = open_private_file(part, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    try:
        done = await run_program(
            [programs["pg_dump"], "-Fc", "--no-password", f"--snapshot={snapshot}", "-d", address],
            environment=environment,
            output=output,
        )
        os.fsync(output)
    finally:
        os.close(output)
    if done.status != 0:
        raise StoreDown(f"The backup was not made: {done.reason}.", hint=suggest_remedy(done.reason, part.parent))


def file_fingerprint(path: Path) -> tuple[int, str]:
    """Return the size and SHA-256 of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return file.tell(), digest.hexdigest()


def _replace_with_private_text(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    with os.fdopen(open_private_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
