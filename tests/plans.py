"""Reads plans of queries: how many rows the busiest scan of one reads."""

from collections.abc import Iterator, Mapping
from typing import Any

from pgvector import HalfVector
from psycopg import sql

from festinger.store.pool import PlanMode, Transaction
from festinger.store.queries import Query

EXPLAIN = "explain (analyze, timing off, format json) "


async def most_read(transaction: Transaction, statement: str, asked: Mapping[str, Any]) -> int:
    """The rows that the busiest scan of a statement reads."""
    return await _most_read(transaction, f"{EXPLAIN}{statement}".encode(), dict(asked))


async def most_read_by_kept_plan(transaction: Transaction, query: Query, asked: Mapping[str, Any]) -> int:
    """The same with the plan that serves whatever is asked."""
    await transaction.plan(PlanMode.KEPT)
    await transaction.connection.execute(f"prepare looked as {query.positional}".encode())
    given = [asked[name] for name in query.parameters]
    plain = [each.to_text() if isinstance(each, HalfVector) else each for each in given]
    execute = sql.SQL("{} execute looked ({})").format(sql.SQL(EXPLAIN), sql.SQL(", ").join(map(sql.Literal, plain)))
    read = await _most_read(transaction, execute.as_bytes(transaction.connection), None)
    await transaction.connection.execute(b"deallocate looked")
    return read


async def _most_read(transaction: Transaction, statement: bytes, asked: dict[str, Any] | None) -> int:
    cursor = await transaction.connection.execute(statement, asked)
    row: Any = await cursor.fetchone()
    return max(_rows(node) for node in _nodes(row["QUERY PLAN"][0]["Plan"]))


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from _nodes(child)


def _rows(node: dict[str, Any]) -> int:
    if "Relation Name" not in node:
        return 0
    dropped = sum(node.get(f"Rows Removed by {why}", 0) for why in ("Filter", "Index Recheck", "Join Filter"))
    return int((node["Actual Rows"] + dropped) * node["Actual Loops"])
