"""`festinger status`: the numbers, on one screen."""

from collections.abc import Iterator, Mapping
from typing import Any

import typer

from festinger.cli.client import find_local_server
from festinger.cli.command import command
from festinger.cli.context import CommandContext

LINES: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("memory", ("memory",), ("pending", "held", "quarantined", "vectors")),
    ("learned, 24 h", ("judge", "24 h"), ("learns", "learns that asked a model", "calls")),
    ("learned, 7 d", ("judge", "7 d"), ("learns", "learns that asked a model", "calls")),
    ("outcomes, 24 h", ("outcomes", "24 h"), ("rate", "resolved", "contradicted")),
    ("outcomes, 7 d", ("outcomes", "7 d"), ("rate", "resolved", "contradicted")),
    ("outcomes", ("outcomes",), ("pending", "unreadable")),
    ("proposals", ("proposals",), ("open", "limit", "paused")),
    ("jobs", ("health", "jobs"), ("waiting", "behind", "dead")),
    ("events", ("health", "events"), ("waiting", "dead")),
    ("degraded", ("health",), ("degraded",)),
    ("cost, 24 h", ("cost", "24 h"), ("calls", "failed", "usd", "unpriced")),
    ("cost, all time", ("cost", "all time"), ("calls", "failed", "usd", "unpriced")),
    ("life", ("life",), ("since", "restarts", "crashes")),
)
"""The lines of the table: name, where its numbers are in the document, and which of them it shows."""


def register(app: typer.Typer) -> None:
    command(app)(status)


async def status(context: CommandContext) -> None:
    """What waits, what died, what it cost, how long it has lived.

    Example: festinger status --json
    """
    from festinger.services.status import build_status as numbers

    async with context.app() as app:
        found = await numbers(app, space=context.space_in(app))
        running = find_local_server(app.settings)
    server = running.url if running else None
    table = context.table(("", ""), _lines(found, server or "not running"))
    context.show({**found, "server": server}, table=table)
    context.say("`festinger status --json` has every number.")


def _lines(found: Mapping[str, Any], server: str) -> Iterator[tuple[str, str]]:
    yield "server", server
    for name, path, shown in LINES:
        numbers: Mapping[str, Any] = found
        for step in path:
            numbers = numbers[step]
        if len(shown) == 1:
            yield name, _short(numbers[shown[0]])
        else:
            yield name, ", ".join(f"{each} {_short(numbers[each])}" for each in shown)


def _short(value: Any) -> str:
    """A value for a line: the sum of numbers by name, a dash for nothing."""
    if isinstance(value, Mapping):
        return str(sum(value.values()))
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)
