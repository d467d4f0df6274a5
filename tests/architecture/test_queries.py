"""SQL stands in files, fits the schema, keeps to its room and to its space."""

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import psycopg
import pytest
from tests import database
from tests.architecture.source import PACKAGE, Module, dotted, package_modules
from tests.architecture.statements import DISTANCE, UNPLANNED, Plan, every_query, full_name, plan, plannable
from tests.architecture.tables import ACROSS_SPACES, ENGINE, WITHOUT_SPACE, owner

from festinger.store.queries import Query

STATEMENT = re.compile(
    r"^\s*(?:--[^\n]*\n\s*)*"
    r"(?:select\s.+|insert\s+into\s|update\s+\S+\s+set\s|delete\s+from\s|with\s+\w+\s+as\s*\(|merge\s+into\s"
    r"|(?:create|alter|drop)\s+(?:or\s+replace\s+)?(?:unique\s+)?(?:table|index|view|type|function|extension|role|database|sequence|trigger|schema|policy)\s"
    r"|truncate\s+(?:table\s+)?\w+\s*;?$|listen\s+\w+\s*;?$|notify\s+\w+|copy\s+\w+\s+(?:from|to)\s|lock\s+table\s"
    r"|(?:begin|commit|rollback)\s*;?$|set\s+(?:local\s+|session\s+)?\w+\s*(?:=|to)\s)",
    re.IGNORECASE | re.DOTALL,
)

COMPOSERS = {
    "src/festinger/store/erasure.py": "names of tables and columns out of the catalogue, quoted",
    "src/festinger/store/embedded/server.py": "passwords of roles in a place that takes no parameter, quoted",
    "src/festinger/store/pool.py": "limits of a transaction in places that take no parameter, quoted",
    "src/festinger/store/vectors.py": "names of indexes and models in places that take no parameter, quoted",
}
"""Modules that put something into a named query, with the reason."""

OFFERED = {"plpgsql", "vector"}

GIVEN_SPACE = re.compile(r"\b(\w+)\.space_id = (?:\(?\$\d+|ANY \(\$\d+)")
JOINED_SPACE = re.compile(r"\b(\w+)\.space_id = (\w+)\.space_id")


@pytest.fixture(scope="module")
def planner(run_folder: Path) -> Iterator[Callable[[Query], Plan]]:
    """Plans each query once, on a database of its own."""
    url = database.clone(run_folder)
    with psycopg.connect(url, autocommit=True) as connection:
        yield cache(lambda query: plan(connection, query))
    database.drop(run_folder, url)


@pytest.fixture
def plans(planner: Callable[[Query], Plan]) -> list[Plan]:
    return [planner(query) for query in plannable()]


@pytest.mark.requirement("X-29")
@pytest.mark.parametrize("query", plannable(), ids=full_name)
def test_every_named_query_has_a_plan_on_the_migrated_schema(planner: Callable[[Query], Plan], query: Query) -> None:
    assert planner(query).query == query


@pytest.mark.requirement("X-29")
def test_what_cannot_be_planned_is_listed_and_is_still_there() -> None:
    assert UNPLANNED.keys() <= {full_name(query) for query in every_query()}


def strings(module: Module) -> Iterator[tuple[ast.AST, str]]:
    """Every text of a module that is not a docstring; of a formatted one the part before the first value."""
    docstrings = {
        id(node.value)
        for parent in module.nodes
        if isinstance(parent, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for node in parent.body
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in module.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node, node.value


def is_sql(text: str) -> bool:
    """Whether a text reads as a statement rather than as a sentence that begins with the same verb."""
    return bool(STATEMENT.match(text)) and not re.match(r"\s*[A-Z][a-z]", text)


@pytest.mark.requirement("X-29")
def test_no_statement_stands_in_python() -> None:
    found = [module.at(node) for module in package_modules() for node, text in strings(module) if is_sql(text)]

    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "select 1",
        "SELECT a FROM b",
        "\n  insert into a values (1)",
        "update a set b = 1",
        "delete from a",
        "create unique index x on y (z)",
        "with a as (select 1) select * from a",
        "listen changes",
        "set local statement_timeout = 1",
        "-- why\nselect 1",
    ],
)
def test_the_scan_knows_a_statement(text: str) -> None:
    assert is_sql(text)


@pytest.mark.parametrize(
    "text",
    ["select", "Select one of these.", "update", "set by the environment", "create", "with", "Delete it from there."],
)
def test_the_scan_knows_a_sentence(text: str) -> None:
    assert not is_sql(text)


@pytest.mark.requirement("X-29")
def test_what_is_executed_is_never_put_together_from_pieces() -> None:
    found = [
        module.at(call)
        for module in package_modules()
        for name, call in module.calls()
        if name.rpartition(".")[2] in ("execute", "executemany", "copy") and call.args
        if isinstance(call.args[0], ast.JoinedStr | ast.BinOp) or ".format" in dotted(call.args[0])
    ]

    assert found == []


@pytest.mark.requirement("X-29")
def test_only_named_modules_compose_statements() -> None:
    found = {
        module.name
        for module in package_modules()
        for node in module.nodes
        if isinstance(node, ast.ImportFrom) and node.module == "psycopg"
        if "sql" in {alias.name for alias in node.names}
    }

    assert found == COMPOSERS.keys()


@pytest.mark.requirement("X-20")
def test_no_statement_asks_for_another_extension_than_pgvector() -> None:
    wanted = {
        name.lower()
        for path in PACKAGE.rglob("*.sql")
        for name in re.findall(
            r"create\s+extension\s+(?:if\s+not\s+exists\s+)?\"?(\w+)", path.read_text(), re.IGNORECASE
        )
    }

    assert wanted == {"vector"}


@pytest.mark.requirement("X-20")
def test_the_server_that_every_plan_is_made_on_has_nothing_else_to_offer(run_folder: Path) -> None:
    with psycopg.connect(database.server_url(run_folder, "postgres")) as connection:
        rows = connection.execute("select name from pg_available_extensions").fetchall()

    assert {name for (name,) in rows} == OFFERED


@pytest.mark.requirement("X-30")
def test_only_its_own_room_writes_a_table(plans: list[Plan]) -> None:
    found = [
        f"{full_name(each.query)} writes {table}, which belongs to {owner(table)}"
        for each in plans
        for table in sorted(each.writes)
        if owner(table) != each.query.room
    ]

    assert found == []


@pytest.mark.requirement("X-30")
def test_a_write_is_seen_through_nested_statements(run_folder: Path) -> None:
    nested = Query(
        room="test",
        name="x",
        purpose="x",
        sql="with gone as (delete from config where key = %(key)s returning key)"
        " insert into cache_version select key, key, 1 from gone",
    )
    with psycopg.connect(database.server_url(run_folder, database.TEMPLATE)) as connection:
        found = plan(connection, nested)

    assert found.writes == {"config", "cache_version"}
    assert {touch.table for touch in found.reads} == {"config"}


def is_tenant(table: str) -> bool:
    return table not in WITHOUT_SPACE and not table.startswith(ENGINE) and owner(table) is not None


def strays(found: Plan) -> list[str]:
    """The tenant tables that a plan reads without a space: neither one that is given nor that of a table with one."""
    conditions = "\n".join(found.conditions)
    given = set(GIVEN_SPACE.findall(conditions))
    pairs = [frozenset(pair) for pair in JOINED_SPACE.findall(conditions)]
    while near := {alias for pair in pairs if pair & given for alias in pair} - given:
        given |= near
    return sorted(touch.alias for touch in found.reads if is_tenant(touch.table) and touch.alias not in given)


@pytest.mark.requirement("X-32")
def test_a_query_that_reads_a_tenants_rows_names_the_space(plans: list[Plan]) -> None:
    found = [
        f"{full_name(each.query)} reads {', '.join(strays(each))}"
        for each in plans
        if strays(each) and full_name(each.query) not in ACROSS_SPACES
    ]

    assert found == []


@pytest.mark.requirement("X-32")
def test_a_query_that_is_excused_from_naming_a_space_needs_it(plans: list[Plan]) -> None:
    needed = {full_name(each.query) for each in plans if strays(each)}

    assert ACROSS_SPACES.keys() <= needed


@pytest.mark.requirement("X-32")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select value from config where space_id = %(space)s and key = 'a'", []),
        ("select value from config where key = 'a'", ["config"]),
        ("select 1 from config c join api_key k on k.space_id = c.space_id where c.space_id = %(space)s", []),
        ("select 1 from config c join api_key k on k.name = c.key where c.space_id = %(space)s", ["k"]),
        ("select 1 from config c join api_key k on k.space_id = c.space_id", ["c", "k"]),
        ("select 1 from config where space_id <> %(space)s", ["config"]),
        ("select 1 from config where space_id = any(%(spaces)s::text[])", []),
        ("delete from config where updated_at < %(at)s", ["config"]),
        ("select id from run", []),
    ],
)
def test_the_scan_sees_a_table_that_is_read_across_spaces(run_folder: Path, text: str, expected: list[str]) -> None:
    query = Query(room="test", name="x", purpose="x", sql=text)
    with psycopg.connect(database.server_url(run_folder, database.TEMPLATE)) as connection:
        assert strays(plan(connection, query)) == expected


@pytest.mark.requirement("X-33")
def test_a_query_that_compares_vectors_names_the_model() -> None:
    found = [
        full_name(query)
        for query in every_query()
        if DISTANCE.search(query.sql)
        and not ("model = {model}" in query.sql and "{dims}" in query.sql)
        and not re.search(r"(\w+)\.model = (\w+)\.model", query.sql)
    ]

    assert found == []
