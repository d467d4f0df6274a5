"""`festinger spaces`: isolated shared worlds."""

from dataclasses import asdict
from typing import Annotated

import typer

from festinger.cli.command import command, register_list_command
from festinger.cli.context import CommandContext
from festinger.cli.terminal import format_time
from festinger.services.access import add_space, change_space_name, count_space_rows, erase_space
from festinger.store.repositories.spaces import find_space, load_spaces

Name = Annotated[str, typer.Argument(help="Name of the space.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Isolated shared worlds: make, rename and delete them.\n\nExample: festinger spaces")
    app.add_typer(group, name="spaces")
    register_list_command(group)(list_spaces)
    command(group, "create")(create)
    command(group, "rename")(rename)
    command(group, "delete")(delete)


async def list_spaces(context: CommandContext) -> None:
    """Every space.

    Example: festinger spaces list
    """
    async with context.app() as app:
        found = await load_spaces(app.store)
    rows = ((space.name, space.id, format_time(space.created_at)) for space in found)
    context.show([asdict(space) for space in found], table=context.table(("name", "id", "since"), rows))


async def create(context: CommandContext, name: Name) -> None:
    """Make a new, empty space.

    Example: festinger spaces create team
    """
    async with context.app() as app:
        space = await add_space(app, name)
    context.show(asdict(space), text=f"Space `{space.name}` is there.")


async def rename(context: CommandContext, name: Name, new: Annotated[str, typer.Argument(help="New name.")]) -> None:
    """Give a space another name; its id stays.

    Example: festinger spaces rename team crew
    """
    async with context.app() as app:
        space = await find_space(app.store, name)
        renamed = await change_space_name(app, space, new)
    context.show(asdict(renamed), text=f"Space `{name}` is called `{renamed.name}` now.")


async def delete(context: CommandContext, name: Name) -> None:
    """Erase a space and everything in it, for ever.

    Example: festinger spaces delete team
    """
    async with context.app() as app:
        space = await find_space(app.store, name)
        going = await count_space_rows(app, space)
        context.confirm(space.name, f"Space `{space.name}` and its {going} rows are erased for ever.")
        rows = await erase_space(app, space)
    context.show({"space": space.name, "rows": rows}, text=f"Space `{space.name}` is gone, with {rows} rows.")
