"""The first migration makes the whole schema, and databases made with the 23 before it open as they are."""

from hashlib import sha256
from pathlib import Path

import psycopg
import pytest
from tests.catalogue import shape

from festinger.errors import CannotStart, MigrationChanged, SchemaTooNew
from festinger.store.migration import WHOLE_SCHEMA, Migration, load_own_migrations, migrate, pending_migrations

FORMER: list[tuple[str, str]] = [
    (name, digest)
    for name, digest in map(str.split, (Path(__file__).parent / "former_migrations.txt").read_text().splitlines())
]
"""Names and hashes of the migrations that the whole schema replaced, as their databases have recorded them."""

FORMER_SHAPE = "d6b837162669a56b3c6c9c23e58dc6e787840a92500b7da9b04a82b9e0ddf60f"
"""Of the catalogue that these 23 made."""

NEXT = Migration(name="0024_add_color.pre", sql="alter table space add column color text")


@pytest.mark.requirement("X-35")
async def test_the_whole_schema_is_what_the_former_migrations_added_up_to(empty_database_url: str) -> None:
    await migrate(empty_database_url, load_own_migrations()[:1])

    assert sha256("\n".join(shape(empty_database_url)).encode()).hexdigest() == FORMER_SHAPE


@pytest.mark.requirement("X-35")
async def test_a_database_of_the_former_migrations_takes_only_what_came_after_them(empty_database_url: str) -> None:
    first = load_own_migrations()[:1]
    await migrate(empty_database_url, first)
    with psycopg.connect(empty_database_url) as connection:
        connection.execute("delete from schema_migration")
        connection.cursor().executemany("insert into schema_migration (name, sha256) values (%s, %s)", FORMER)

    assert await migrate(empty_database_url, first, allowed=False) == []
    assert await migrate(empty_database_url, [*first, NEXT]) == [NEXT.name]
    assert await migrate(empty_database_url, [*first, NEXT]) == []


@pytest.mark.requirement("X-35")
@pytest.mark.parametrize("applied", [FORMER[:1], FORMER[:22], [*FORMER[:22], (FORMER[22][0], "changed")]])
def test_a_database_that_lacks_some_of_the_former_migrations_is_refused_with_what_to_do(
    applied: list[tuple[str, str]],
) -> None:
    with pytest.raises(CannotStart, match="made before the migrations became one") as caught:
        pending_migrations(load_own_migrations(), applied)

    assert not isinstance(caught.value, SchemaTooNew | MigrationChanged)
    assert "Open it once with commit" in caught.value.hint


def test_a_stranger_beside_the_former_migrations_is_a_newer_version() -> None:
    with pytest.raises(SchemaTooNew, match=NEXT.name):
        pending_migrations(load_own_migrations()[:1], [*FORMER, (NEXT.name, NEXT.sha256)])
    assert load_own_migrations()[0].name == WHOLE_SCHEMA


@pytest.mark.requirement("X-35")
@pytest.mark.parametrize(
    "statement",
    [
        "alter table config add column extra int",
        "alter table config alter column value drop not null",
        "alter table space alter column settings_version set default 7",
        "alter table api_key drop constraint api_key_role_known",
        "create index extra on config (value)",
        "drop index api_key_hash",
        "comment on column run.pid is 'something else'",
        "create sequence extra",
        "create view extra as select 1 as one",
        "create function extra() returns int language sql as 'select 1'",
        "create type extra as enum ('a')",
        "alter table config enable row level security",
    ],
)
def test_a_difference_of_any_kind_is_seen(database_url: str, statement: str) -> None:
    before = shape(database_url)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(statement.encode())

    assert shape(database_url) != before
