"""`festinger status`: the numbers."""

from collections.abc import Iterator, Mapping
from typing import Any

import typer

from festinger.app.status import status as numbers
from festinger.cli.command import command
from festinger.cli.desk import Desk


def register(app: typer.Typer) -> None:
    command(app)(status)


async def status(desk: Desk) -> None:
    """What waits, what died, what it cost, how long it has lived.

    Example: festinger status --json
    """
    async with desk.app() as app:
        found = await numbers(app, space=desk.space_in(app))
    desk.show(found, table=desk.table(("what", "number"), _flat(found)))


def _flat(found: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, object]]:
    for name, value in found.items():
        path = f"{above} {name}".strip()
        if isinstance(value, Mapping):
            yield from _flat(value, path)
        else:
            yield path, value if value not in ([], None) else "-"
