"""`festinger spaces`: isolated shared worlds."""

from dataclasses import asdict
from typing import Annotated

import typer

from festinger.cli.command import command, listing
from festinger.cli.context import Desk
from festinger.cli.terminal import moment
from festinger.services.spaces import call_space, erase_space, open_space, rows_in_space
from festinger.store.repositories.spaces import find_space, spaces

Name = Annotated[str, typer.Argument(help="Name of the space.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Isolated shared worlds: make, rename and delete them.\n\nExample: festinger spaces"
    )
    app.add_typer(group, name="spaces")
    listing(group)(list_spaces)
    command(group, "create")(create)
    command(group, "rename")(rename)
    command(group, "delete")(delete)


async def list_spaces(desk: Desk) -> None:
    """Every space.

    Example: festinger spaces list
    """
    async with desk.app() as app:
        found = await spaces(app.store)
    rows = ((space.name, space.id, moment(space.created_at)) for space in found)
    desk.show([asdict(space) for space in found], table=desk.table(("name", "id", "since"), rows))


async def create(desk: Desk, name: Name) -> None:
    """Make a new, empty space.

    Example: festinger spaces create team
    """
    async with desk.app() as app:
        space = await open_space(app, name)
    desk.show(asdict(space), text=f"Space `{space.name}` is there.")


async def rename(desk: Desk, name: Name, new: Annotated[str, typer.Argument(help="New name.")]) -> None:
    """Give a space another name; its id stays.

    Example: festinger spaces rename team crew
    """
    async with desk.app() as app:
        space = await find_space(app.store, name)
        renamed = await call_space(app, space, new)
    desk.show(asdict(renamed), text=f"Space `{name}` is called `{renamed.name}` now.")


async def delete(desk: Desk, name: Name) -> None:
    """Erase a space and everything in it, for ever.

    Example: festinger spaces delete team
    """
    async with desk.app() as app:
        space = await find_space(app.store, name)
        going = await rows_in_space(app, space)
        desk.confirm(space.name, f"Space `{space.name}` and its {going} rows are erased for ever.")
        rows = await erase_space(app, space)
    desk.show({"space": space.name, "rows": rows}, text=f"Space `{space.name}` is gone, with {rows} rows.")
