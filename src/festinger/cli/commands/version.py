"""`festinger version`."""

import platform

import typer

from festinger import __version__
from festinger.cli.command import command
from festinger.cli.context import CommandContext


def register(app: typer.Typer) -> None:
    command(app)(version)


async def version(context: CommandContext) -> None:
    """Say which version this is.

    Example: festinger version
    """
    context.show({"festinger": __version__, "python": platform.python_version()}, text=f"festinger {__version__}")
