"""Reads plans of queries: how many rows the busiest scan of one reads."""

from collections.abc import Iterator, Mapping
from typing import Any

from festinger.store.pool import Transaction


async def most_read(transaction: Transaction, sql: str, asked: Mapping[str, Any]) -> int:
    """The rows that the busiest scan of a statement reads."""
    cursor = await transaction.connection.execute(
        f"explain (analyze, timing off, format json) {sql}".encode(), dict(asked)
    )
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
