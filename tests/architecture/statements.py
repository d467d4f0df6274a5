"""Every named query of every room, with what its plan says that it reads and writes.

The server itself is asked: a plan names each table that a statement touches, through views, joins and nested
statements alike, which no reading of the text would find as surely. Rooms are found by their `queries.sql`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
from tests.architecture.source import PACKAGE

from festinger.store.health import INVARIANTS
from festinger.store.queries import Query, load_queries
from festinger.store.vectors import EmbeddingModelSpec, bind_model

UNPLANNED = {
    "jobs.listen_index": "turns hearing on",
    "jobs.listen_judge": "turns hearing on",
    "jobs.listen_learn": "turns hearing on",
    "jobs.listen_send": "turns hearing on",
    "jobs.listen_sleep": "turns hearing on",
    "memory.size_up": "looks at tables for later plans",
    "store.begin_limited": "begins a transaction",
    "store.begin_reading": "begins a transaction",
    "store.begin_snapshot": "sets the isolation of a transaction",
    "store.change_role": "changes a role",
    "store.close_database": "changes who may enter a database",
    "store.create_schema_migration": "makes a table",
    "store.create_purpose_index": "makes an index",
    "store.create_vector_index": "makes an index",
    "store.cut_text": "stands over whatever columns there are",
    "store.cut_texts": "stands over whatever columns there are",
    "store.drop_vector_index": "takes an index away",
    "store.find_documents": "stands over whatever columns there are",
    "store.install_vector": "makes an extension",
    "store.listen": "turns hearing on",
    "store.make_database": "makes a database",
    "store.make_role": "makes a role",
    "store.put_document": "stands over whatever columns there are",
    "store.remove_everything": "a block of code over whatever tables there are",
    "store.reset_session": "resets the session",
    "store.tally_rows": "a block of code over whatever tables there are",
    "store.tidy_everything": "gives room back",
    "store.update_vector": "changes an extension",
    "store.vacuum_everything": "gives room back",
}
"""Statements that have no plan, with what they do instead."""

SOME_MODEL = EmbeddingModelSpec(name="hashed:some", dims=384)

DISTANCE = re.compile(r"<=>|<#>|<->|<\+>|<~>|<%>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Touch:
    """A table that a plan reads, under the name that the statement gives it."""

    table: str
    alias: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the server would do for a statement, whatever its parameters are."""

    query: Query
    reads: frozenset[Touch]
    writes: frozenset[str]
    conditions: tuple[str, ...]


def full_name(query: Query) -> str:
    return f"{query.room}.{query.name}"


def rooms() -> list[str]:
    return sorted(path.parent.name for path in PACKAGE.glob("*/queries.sql"))


def every_query() -> list[Query]:
    named = [query for room in rooms() for query in load_queries(f"festinger.{room}").values()]
    return [*named, *INVARIANTS.values()]


def plannable() -> list[Query]:
    return [query for query in every_query() if full_name(query) not in UNPLANNED]


def plan(connection: psycopg.Connection[Any], query: Query) -> Plan:
    """The generic plan of a query; a statement that does not fit the schema raises here."""
    filled = bind_model(query, SOME_MODEL) if DISTANCE.search(query.sql) and "{" in query.sql else query
    statement = f"explain (generic_plan, verbose, format json) {filled.positional}"
    row = connection.execute(statement.encode()).fetchone()
    assert row is not None
    nodes = list(_nodes(row[0][0]["Plan"]))
    return Plan(
        query=query,
        reads=frozenset(
            Touch(table=node["Relation Name"], alias=node["Alias"])
            for node in nodes
            if "Relation Name" in node and node["Node Type"] != "ModifyTable"
        ),
        writes=frozenset(
            target["Relation Name"]
            for node in nodes
            if node["Node Type"] == "ModifyTable"
            for target in [node, *node.get("Target Tables", [])]
            if "Relation Name" in target
        ),
        conditions=tuple(text for node in nodes for text in _conditions(node)),
    )


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from _nodes(child)


def _conditions(node: dict[str, Any]) -> Iterator[str]:
    for name in ("Index Cond", "Recheck Cond", "Filter", "Hash Cond", "Merge Cond", "Join Filter", "Conflict Filter"):
        if name in node:
            yield node[name]
