"""`festinger migrate`: bring the database to its present shape."""

import typer

from festinger.cli.command import command
from festinger.cli.context import Desk
from festinger.runtime.app import Start


def register(app: typer.Typer) -> None:
    command(app)(migrate)


async def migrate(desk: Desk) -> None:
    """Apply what the database still needs. With `store.migrate: manual` nothing else does.

    Example: festinger migrate --database postgresql://…
    """
    async with desk.app(start=Start(migrate=True)) as app:
        applied = list(app.applied)
    desk.show(
        {"applied": applied},
        text="\n".join(applied) or "Nothing to do: the database has its present shape.",
    )
