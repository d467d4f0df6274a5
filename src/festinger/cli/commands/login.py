"""`festinger login`: a one-time link to the console."""

import getpass
from typing import Annotated

import typer

from festinger.cli.client import find_local_server
from festinger.cli.command import command
from festinger.cli.context import CommandContext
from festinger.errors import BadInput


def register(app: typer.Typer) -> None:
    command(app, "login")(login)


async def login(
    context: CommandContext,
    name: Annotated[str | None, typer.Option("--name", help="Who will decide; else who is logged in here.")] = None,
    at: Annotated[
        str | None, typer.Option("--at", help="Address of the server, if not the one that runs here.")
    ] = None,
) -> None:
    """Print a one-time link to the console.

    Example: festinger login --name ann
    """
    from festinger.proxy.remote_client import normalize_address
    from festinger.runtime.environment import local_base_url

    async with context.app() as app:
        link = await app.logins.invite(name or _user())
        server, minutes = app.settings.now.server, app.settings.now.auth.login_link_minutes
        running = find_local_server(app.settings)
    base = normalize_address(at) if at else running.url if running else local_base_url(server.host, server.port)
    address = f"{base}/admin/login?code={link}"
    context.show({"link": address, "minutes": minutes}, text=address)
    context.say(f"It works once, within {minutes} minutes.")


def _user() -> str:
    try:
        return getpass.getuser()
    except OSError as error:  # a user id without a name, as in some containers
        raise BadInput("This user has no name.", hint="Give one with `--name`.") from error
