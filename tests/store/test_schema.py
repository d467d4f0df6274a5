import psycopg
import pytest
from tests import database
from tests.catalogue import shape
from tests.schema import SCHEMA, normalised

from festinger.store.migration import migrate, own_migrations

BOOKKEEPING = "schema_migration"


def without_bookkeeping(lines: list[str]) -> list[str]:
    """The record of migrations is made by the migrator itself, not by a migration."""
    return [line for line in lines if BOOKKEEPING not in line]


@pytest.fixture
def second_database_url(run_folder):
    url = database.empty(run_folder)
    yield url
    database.drop(run_folder, url)


@pytest.mark.requirement("X-35")
async def test_the_schema_file_is_what_all_migrations_add_up_to(
    empty_database_url: str, second_database_url: str
) -> None:
    await migrate(empty_database_url, own_migrations())
    with psycopg.connect(second_database_url, autocommit=True) as connection:
        connection.execute(SCHEMA.read_text().encode())

    by_migrations = without_bookkeeping(shape(empty_database_url))
    by_file = without_bookkeeping(shape(second_database_url))

    assert by_file == by_migrations, "run `make schema` and look at what changed"


@pytest.mark.requirement("X-35")
@pytest.mark.parametrize(
    "statement",
    [
        "alter table config add column extra int",
        "alter table config alter column value drop not null",
        "alter table space alter column settings_version set default 7",
        "alter table api_key drop constraint api_key_role_check",
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


def test_what_changes_from_run_to_run_is_left_out() -> None:
    dump = "--\n-- PostgreSQL database dump\n--\n\n\\restrict abc\n\nSET row_security = off;\n\n\n\nCREATE TABLE a ();\n\n\\unrestrict abc\n"

    assert normalised(dump).splitlines()[2:] == ["CREATE TABLE a ();"]
