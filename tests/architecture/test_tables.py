"""Every tenant table can be a shard, has an owner, says its units, and loses every row with its space."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from tests import database
from tests.architecture.statements import every_query, full_name
from tests.architecture.tables import ENGINE, OWNERS, WITHOUT_SPACE, owner

from festinger.ids import SpaceId
from festinger.services.access import ERASERS
from festinger.settings.tree import StoreSettings
from festinger.store.pool import open_store
from festinger.store.repositories.spaces import delete_space

Connection = psycopg.Connection[dict[str, Any]]

TABLES = """
select c.oid, c.relname as name,
       exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'space_id') as has_space
from pg_class c
where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace
order by c.relname
"""

KEYS = """
select i.indisprimary as is_primary, i.indexrelid::regclass::text as name,
       array(select coalesce(a.attname, '') from unnest(i.indkey::int[]) with ordinality as k (number, place)
             left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number
             order by k.place)::text[] as columns
from pg_index i
where i.indrelid = %(table)s and i.indisunique
"""

FOREIGN_KEYS = """
select f.conname as name, target.relname as target, f.confdeltype as on_delete,
       array(select a.attname from unnest(f.conkey) with ordinality as k (number, place)
             join pg_attribute a on a.attrelid = f.conrelid and a.attnum = k.number
             order by k.place)::text[] as columns,
       array(select a.attname from unnest(f.confkey) with ordinality as k (number, place)
             join pg_attribute a on a.attrelid = f.confrelid and a.attnum = k.number
             order by k.place)::text[] as targets
from pg_constraint f
join pg_class target on target.oid = f.confrelid
where f.conrelid = %(table)s and f.contype = 'f'
"""

NUMBERS = """
select a.attname as name, col_description(a.attrelid, a.attnum) as comment
from pg_attribute a
where a.attrelid = %(table)s and a.attnum > 0 and not a.attisdropped
  and a.atttypid in ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype, 'real'::regtype,
                     'double precision'::regtype, 'numeric'::regtype)
"""

COLUMNS = """
select a.attname as name, t.typname as type, t.typcategory as category, a.attgenerated <> '' as is_generated
from pg_attribute a
join pg_type t on t.oid = a.atttypid
where a.attrelid = %(table)s and a.attnum > 0 and not a.attisdropped
order by a.attnum
"""


@pytest.fixture(scope="module")
def catalogue(run_folder: Path) -> Iterator[Connection]:
    """A migrated database that tests may look at, and change within a transaction that is not kept."""
    url = database.clone(run_folder)
    with psycopg.connect(url, row_factory=dict_row, autocommit=True) as connection:
        yield connection
    database.drop(run_folder, url)


def tables(connection: Connection) -> list[dict[str, Any]]:
    return connection.execute(TABLES).fetchall()


def tenants(connection: Connection) -> list[dict[str, Any]]:
    return [table for table in tables(connection) if table["has_space"]]


def unshardable(connection: Connection) -> list[str]:
    """What keeps a tenant table from being split by space."""
    names = {table["name"] for table in tenants(connection)}
    found = []
    for table in tenants(connection):
        keys = connection.execute(KEYS, {"table": table["oid"]}).fetchall()
        if not any(key["is_primary"] and key["columns"][0] == "space_id" for key in keys):
            found.append(f"{table['name']}: its primary key does not begin with space_id")
        found += [f"{key['name']} is unique across spaces" for key in keys if "space_id" not in key["columns"]]
        for foreign in connection.execute(FOREIGN_KEYS, {"table": table["oid"]}):
            pairs = list(zip(foreign["columns"], foreign["targets"], strict=True))
            if foreign["target"] in names and ("space_id", "space_id") not in pairs:
                found.append(f"{foreign['name']} points across spaces")
            if foreign["target"] not in names and foreign["target"] != "space":
                found.append(f"{foreign['name']} points at {foreign['target']}, which is no tenant's")
    return found


@pytest.mark.requirement("X-32")
def test_every_tenant_table_can_be_split_by_space(catalogue: Connection) -> None:
    assert unshardable(catalogue) == []


@pytest.mark.requirement("X-32")
@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("create table t (space_id text, id int, primary key (id, space_id))", "t: its primary key"),
        ("create table t (space_id text, id int)", "t: its primary key"),
        ("create table t (space_id text, id int unique, primary key (space_id, id))", "t_id_key is unique"),
        ("create unique index config_value on config (value)", "config_value is unique"),
        ("create unique index config_lower on config (lower(value))", "config_lower is unique"),
        (
            "create table t (space_id text, id int, run uuid references run, primary key (space_id, id))",
            "t_run_fkey points at run",
        ),
        (
            "alter table config add unique (key, space_id), add column id text;"
            " create table t (space_id text, other text, key text, primary key (space_id, key),"
            " foreign key (key, other) references config (key, space_id))",
            "t_key_other_fkey points across",
        ),
    ],
)
def test_the_scan_sees_what_cannot_be_split(catalogue: Connection, statement: str, fault: str) -> None:
    with catalogue.transaction(force_rollback=True):
        catalogue.execute(statement)
        found = unshardable(catalogue)

    assert [each for each in found if each.startswith(fault)]


@pytest.mark.requirement("X-32")
def test_a_table_without_a_space_is_listed_with_its_reason(catalogue: Connection) -> None:
    spaceless = {table["name"] for table in tables(catalogue) if not table["has_space"]}

    assert {name for name in spaceless if not name.startswith(ENGINE)} == WITHOUT_SPACE.keys()


@pytest.mark.requirement("X-30")
def test_every_table_has_an_owner_and_every_owner_its_table(catalogue: Connection) -> None:
    names = {table["name"] for table in tables(catalogue)}

    assert {name for name in names if owner(name) is None} == set()
    assert OWNERS.keys() - names == set()


@pytest.mark.requirement("X-30")
def test_a_column_with_a_number_says_what_it_counts(catalogue: Connection) -> None:
    found = [
        f"{table['name']}.{column['name']}"
        for table in tables(catalogue)
        if not table["name"].startswith(ENGINE)
        for column in catalogue.execute(NUMBERS, {"table": table["oid"]})
        if not column["comment"] and not column["name"].endswith("_id")
    ]

    assert found == []


def some_value(column: dict[str, Any]) -> str:
    """A literal that fits the type of a column; what it means does not matter here."""
    if column["name"] == "space_id":
        return "'work'"
    by_type = {
        # Always the same, so that a row which belongs to another by its id does.
        "uuid": "'00000000-0000-7000-8000-000000000001'",
        "jsonb": "'{}'",
        "json": "'{}'",
        "bytea": "'\\\\x00'",
        "halfvec": "'[1]'",
        "vector": "'[1]'",
        "tsvector": "'a'",
        "regconfig": "'english'",
        "interval": "'1 s'",
        "bool": "true",
    }
    by_category = {"N": "1", "D": "now()", "A": "'{}'", "S": "'x'", "B": "true", "T": "'1 s'", "R": "'empty'"}
    return by_type.get(column["type"]) or by_category.get(column["category"], "null")


def fill(connection: Connection) -> None:
    """Put one row of the space `work` into every tenant table, past checks and links to other rows."""
    connection.execute("insert into space (id, name) values ('work', 'work')")
    connection.execute("set session_replication_role = replica")
    for table in tenants(connection):
        checks = connection.execute(
            "select conname from pg_constraint where conrelid = %(table)s and contype = 'c'", {"table": table["oid"]}
        ).fetchall()
        for check in checks:
            connection.execute(f"alter table {table['name']} drop constraint {check['conname']}".encode())
        columns = [
            column for column in connection.execute(COLUMNS, {"table": table["oid"]}) if not column["is_generated"]
        ]
        names = ", ".join(column["name"] for column in columns)
        values = ", ".join(map(some_value, columns))
        connection.execute(f"insert into {table['name']} ({names}) overriding system value values ({values})".encode())
    connection.execute("reset session_replication_role")


def rows_of_work(connection: Connection) -> dict[str, int]:
    counts = {}
    for table in tenants(connection):
        row = connection.execute(
            f"select count(*) as rows from {table['name']} where space_id = 'work'".encode()
        ).fetchone()
        assert row is not None
        counts[table["name"]] = row["rows"]
    return counts


@pytest.mark.requirement("X-31")
async def test_a_deleted_space_leaves_no_row_in_any_tenant_table(database_url: str) -> None:
    with psycopg.connect(database_url, row_factory=dict_row, autocommit=True) as connection:
        fill(connection)
        before = rows_of_work(connection)
        async with open_store(database_url, StoreSettings(), door="test") as store:
            async with store.transaction(patient=True) as transaction:
                erased = await delete_space(transaction, SpaceId("work"), typed_name="work", erasers=ERASERS)
        after = rows_of_work(connection)

    assert set(before.values()) == {1}
    assert after == dict.fromkeys(before, 0)
    assert erased == len(before) + 1


@pytest.mark.requirement("X-31")
def test_every_room_that_erases_by_a_query_is_asked_to() -> None:
    found = {full_name(query) for query in every_query() if query.name == "erase_space"}

    assert {full_name(query) for query in ERASERS} == found
