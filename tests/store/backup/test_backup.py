import stat
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import MONDAY
from tests.store.homes import names

from festinger.errors import BadInput, NotFound, Refused, StoreUnfit
from festinger.jobs.queue import load_engine_migrations
from festinger.store.backup import backup as manifests
from festinger.store.backup.backup import (
    BackupManifest,
    choose_backup_programs,
    create_automatic_backup,
    create_backup,
    file_fingerprint,
    select_outdated_dumps,
    split_off_password,
)
from festinger.store.migration import load_own_migrations

VECTORS = """
    create table thing_vector (id integer, model text, dims integer, text_hash text, vector halfvec(3));
    insert into thing_vector values (1, 'onnx:small', 3, 'a', '[1,2,3]'), (2, 'onnx:small', 3, 'b', '[1,2,3]'),
                                    (3, 'ollama:large', 3, 'c', null)
"""


@pytest.fixture
async def filled_url(database_url: str) -> str:
    """A database with vectors of two models, and a table that nobody migrated."""
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        await connection.execute(VECTORS)
        await connection.execute("create schema aside; create table aside.odd as select generate_series(1, 5)")
    return database_url


@pytest.mark.requirement("X-37")
async def test_a_manifest_tells_schema_counts_hash_and_embedders(filled_url: str, tmp_path: Path) -> None:
    target = tmp_path / "mine.dump"

    made = await create_backup(filled_url, target, clock=lambda: MONDAY)

    assert made.tables["public.thing_vector"] == 3
    assert made.tables["aside.odd"] == 5
    assert made.tables["public.space"] == 1
    assert made.embedders == ("ollama:large", "onnx:small")
    assert made.migrations == {
        migration.name: migration.sha256 for migration in [*load_own_migrations(), *load_engine_migrations()]
    }
    assert made.schema_version == load_own_migrations()[-1].name
    assert (made.bytes, made.sha256) == file_fingerprint(target)
    assert made.made_at == MONDAY
    assert target.read_bytes().startswith(b"PGDMP")
    assert manifests.read_manifest(target) == made


@pytest.mark.requirement("X-37")
async def test_both_files_are_private_and_nothing_else_is_left(filled_url: str, tmp_path: Path) -> None:
    await create_backup(filled_url, tmp_path / "mine.dump")

    assert names(tmp_path) == ["mine.dump", "mine.dump.json"]
    for name in names(tmp_path):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


async def test_counts_and_rows_are_of_one_moment(
    filled_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from festinger.store.backup import backup as module

    dump = module._run_dump

    async def written_to_meanwhile(*arguments: object, **named: object) -> None:
        with psycopg.connect(filled_url, autocommit=True) as connection:
            connection.execute("insert into aside.odd values (6)")
        await dump(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_run_dump", written_to_meanwhile)
    made = await create_backup(filled_url, tmp_path / "mine.dump")

    rows = await _rows_of_table(tmp_path / "mine.dump", "odd")
    assert rows == made.tables["aside.odd"] == 5


async def _rows_of_table(dump: Path, table: str) -> int:
    from festinger.store.embedded.programs import bundled_binaries, run_program

    script = await run_program([bundled_binaries()["pg_restore"], "--data-only", f"--table={table}", "--file=-", dump])
    return len(script.out.partition("FROM stdin;\n")[2].partition("\\.")[0].splitlines())


async def test_an_existing_backup_is_never_replaced(filled_url: str, tmp_path: Path) -> None:
    (tmp_path / "mine.dump").write_text("precious")

    with pytest.raises(Refused, match="already a backup"):
        await create_backup(filled_url, tmp_path / "mine.dump")

    assert (tmp_path / "mine.dump").read_text() == "precious"


async def test_a_backup_to_a_place_that_is_not_there_says_so_and_leaves_nothing(
    filled_url: str, tmp_path: Path
) -> None:
    with pytest.raises(Refused, match="cannot be written"):
        await create_backup(filled_url, tmp_path / "missing" / "mine.dump")

    assert names(tmp_path) == []


@pytest.mark.requirement("X-37")
async def test_automatic_backups_keep_the_newest_and_never_touch_a_person_s(filled_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    (folder / "mine.dump").write_text("precious")
    moments = [MONDAY + timedelta(days=day) for day in range(3)]

    made = [await create_automatic_backup(filled_url, folder, keep=2, clock=lambda at=at: at) for at in moments]  # type: ignore[misc]

    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [made[1].name, f"{made[1].name}.json", made[2].name, f"{made[2].name}.json", "mine.dump"]
    )


@given(st.lists(st.integers(0, 10**6), unique=True), st.integers(1, 9))
def test_what_is_outdated_is_always_the_oldest_beyond_the_limit(days: list[int], keep: int) -> None:
    names = [f"auto-{day:08}.dump" for day in days]

    gone = select_outdated_dumps([*names, "mine.dump", "auto-00000000.dump.json"], keep=keep)

    assert sorted(names)[-keep:] == sorted(set(names) - set(gone))


def test_a_password_is_never_an_argument_of_a_program() -> None:
    address, environment = split_off_password("postgresql://ada:s3cret@db.example:5433/mind?sslmode=require")

    assert "s3cret" not in address
    assert "sslmode=require" in address
    assert environment == {"PGPASSWORD": "s3cret"}


def test_the_oldest_programs_that_can_read_the_server_are_taken() -> None:
    assert [choose_backup_programs(version).major for version in (150_004, 160_000, 170_001, 180_004)] == [
        16,
        16,
        18,
        18,
    ]
    with pytest.raises(StoreUnfit, match="PostgreSQL 19"):
        choose_backup_programs(190_000)


MANIFEST = BackupManifest(
    made_at=MONDAY, festinger="1", postgres=18, migrations={}, tables={}, embedders=(), bytes=1, sha256="x"
)


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"format": 1}', manifests.format_manifest(MANIFEST)[:-20]])
def test_a_damaged_manifest_is_named(tmp_path: Path, body: str) -> None:
    (tmp_path / "mine.dump.json").write_text(body)

    with pytest.raises(BadInput, match=r"mine\.dump\.json"):
        manifests.read_manifest(tmp_path / "mine.dump")


def test_a_dump_without_manifest_was_cut_short(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="manifest"):
        manifests.read_manifest(tmp_path / "mine.dump")


def test_a_manifest_of_a_newer_format_is_left_to_a_newer_version(tmp_path: Path) -> None:
    (tmp_path / "mine.dump.json").write_text(manifests.format_manifest(MANIFEST).replace('"format": 1', '"format": 2'))

    with pytest.raises(BadInput, match="newer"):
        manifests.read_manifest(tmp_path / "mine.dump")
