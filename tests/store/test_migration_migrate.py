import asyncio

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.rows import dict_row

from festinger.errors import CannotStart, MigrationChanged, SchemaTooNew, StoreDown, StoreUnfit
from festinger.store.migration import Migration, load_own_migrations, migrate, pending_migrations
from festinger.store.pool import Store
from festinger.store.queries import Query

FIRST = Migration(name="0001_create_a.pre", sql="create table a (id int)")
SECOND = Migration(name="0002_create_b.pre", sql="create table b (id int)")
BROKEN = Migration(name="0003_create_c.pre", sql="create table c (id int); select 1 / 0")


def tables(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute("select tablename from pg_tables where schemaname = 'public' order by 1")
        return [name for (name,) in rows]


async def test_a_clone_has_the_default_space(store: Store) -> None:
    row = await store.one(Query(room="test", name="x", purpose="x", sql="select name from space"))

    assert row["name"] == "main"


async def test_migrating_twice_applies_nothing_the_second_time(empty_database_url: str) -> None:
    first = await migrate(empty_database_url, load_own_migrations())
    second = await migrate(empty_database_url, load_own_migrations())

    assert first == [migration.name for migration in load_own_migrations()]
    assert second == []


@pytest.mark.requirement("X-34")
async def test_ten_that_start_at_once_on_an_empty_database_make_one_schema(empty_database_url: str) -> None:
    own = load_own_migrations()

    applied = await asyncio.gather(*(migrate(empty_database_url, own) for _ in range(10)))

    assert sorted(name for names in applied for name in names) == [migration.name for migration in own]


@pytest.mark.requirement("X-34")
async def test_each_migration_is_recorded_with_its_hash(empty_database_url: str) -> None:
    await migrate(empty_database_url, [FIRST, SECOND])

    with psycopg.connect(empty_database_url, row_factory=dict_row) as connection:
        rows = connection.execute("select name, sha256 from schema_migration order by name").fetchall()
    assert rows == [{"name": each.name, "sha256": each.sha256} for each in (FIRST, SECOND)]


@pytest.mark.requirement("X-34")
async def test_a_migration_that_changed_after_it_was_applied_stops_the_start(empty_database_url: str) -> None:
    await migrate(empty_database_url, [FIRST])
    edited = Migration(name=FIRST.name, sql=FIRST.sql + " -- edited")

    with pytest.raises(MigrationChanged, match=FIRST.name):
        await migrate(empty_database_url, [edited, SECOND])

    assert tables(empty_database_url) == ["a", "schema_migration"]


@pytest.mark.requirement("X-34")
async def test_a_database_that_is_newer_than_the_code_is_not_touched(empty_database_url: str) -> None:
    await migrate(empty_database_url, [FIRST, SECOND])
    new_here = Migration(name="0000_create_z.pre", sql="create table z (id int)")

    with pytest.raises(SchemaTooNew, match=SECOND.name):
        await migrate(empty_database_url, [new_here, FIRST])

    assert tables(empty_database_url) == ["a", "b", "schema_migration"]


@pytest.mark.requirement("X-34")
async def test_manual_and_behind_cannot_start_and_names_the_command(empty_database_url: str) -> None:
    with pytest.raises(CannotStart, match="behind by 1") as caught:
        await migrate(empty_database_url, [FIRST], allowed=False)

    assert "festinger migrate" in caught.value.hint
    assert tables(empty_database_url) == []


@pytest.mark.requirement("X-34")
async def test_manual_and_up_to_date_starts(empty_database_url: str) -> None:
    await migrate(empty_database_url, [FIRST])

    assert await migrate(empty_database_url, [FIRST], allowed=False) == []


@pytest.mark.requirement("X-34")
async def test_a_failing_migration_leaves_what_was_before_it(empty_database_url: str) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        await migrate(empty_database_url, [FIRST, SECOND, BROKEN])

    assert tables(empty_database_url) == ["a", "b", "schema_migration"]
    assert await migrate(empty_database_url, [FIRST, SECOND]) == []


@pytest.mark.requirement("X-34")
async def test_after_the_mend_only_what_is_missing_is_applied(empty_database_url: str) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        await migrate(empty_database_url, [FIRST, BROKEN])
    mended = Migration(name=BROKEN.name, sql="create table c (id int)")

    assert await migrate(empty_database_url, [FIRST, mended]) == [mended.name]


async def test_a_migration_with_a_percent_sign_is_taken_as_it_stands(empty_database_url: str) -> None:
    await migrate(
        empty_database_url, [Migration(name="0001_create_a.pre", sql="create table a (id text check (id like 'x%'))")]
    )

    assert tables(empty_database_url) == ["a", "schema_migration"]


@pytest.mark.requirement("X-27")
async def test_a_database_that_cannot_be_reached_is_store_down_without_the_password() -> None:
    with pytest.raises(StoreDown) as caught:
        await migrate("postgresql://ann:s3cret@127.0.0.1:1/notes", [FIRST])

    assert "s3cret" not in str(caught.value)


@pytest.mark.requirement("X-20")
async def test_a_server_that_is_too_old_is_not_touched(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("festinger.store.migration.OLDEST_PGVECTOR", (99,))

    with pytest.raises(StoreUnfit, match=r"pgvector 0\."):
        await migrate(empty_database_url, [FIRST])

    assert tables(empty_database_url) == []


NAMES = st.lists(st.from_regex(r"[0-9]{4}_create_[a-z]{1,3}\.pre", fullmatch=True), unique=True).map(sorted)


@pytest.mark.requirement("X-34")
@given(names=NAMES, data=st.data())
def test_what_was_applied_and_what_is_outstanding_are_the_whole_in_order(names: list[str], data: st.DataObject) -> None:
    migrations = [Migration(name=name, sql=f"select '{name}'") for name in names]
    done = [m for m in migrations if data.draw(st.booleans())]

    todo = pending_migrations(migrations, [(m.name, m.sha256) for m in done])

    assert [m.name for m in todo] == [name for name in names if name not in {m.name for m in done}]


def test_a_stranger_is_reported_before_a_change() -> None:
    with pytest.raises(SchemaTooNew):
        pending_migrations([FIRST], [("9999_create_far.pre", "x"), (FIRST.name, "changed")])
