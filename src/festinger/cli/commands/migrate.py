"""`festinger migrate`: bring the database to the current schema."""

import typer

from festinger.cli.command import command
from festinger.cli.context import CommandContext
from festinger.runtime.app import StartOptions


def register(app: typer.Typer) -> None:
    command(app)(migrate)


async def migrate(context: CommandContext) -> None:
    """Apply what the database still needs. With `store.migrate: manual` nothing else does.

    Example: festinger migrate --database postgresql://…
    """
    async with context.app(start=StartOptions(migrate=True)) as app:
        applied = list(app.applied)
    context.show({"applied": applied}, text="\n".join(applied) or "Nothing to do: the database has its present shape.")
