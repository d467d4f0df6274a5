"""Commands whose code lies beside the package: benchmarks and demos ship with the source, not with the wheel."""

import sys
from importlib import import_module
from pathlib import Path

import typer

import festinger
from festinger.cli.command import command
from festinger.cli.context import CommandContext
from festinger.errors import BadInput


def register_from_checkout(app: typer.Typer, name: str, folder: str) -> None:
    """Register the command of a folder of the source, or one that says where it is."""
    root = Path(festinger.__file__).parents[2]
    if not (root / folder / "command.py").is_file():
        _register_missing(app, name, folder)
        return
    if str(root) not in sys.path:
        sys.path.append(str(root))
    import_module(f"{folder}.command").register(app)


def _register_missing(app: typer.Typer, name: str, folder: str) -> None:
    async def missing(context: CommandContext) -> None:
        """Runs from a checkout of the source only.

        Example: festinger bench list
        """
        raise BadInput(
            f"`festinger {name}` runs from a checkout of the source; this is an installed package.",
            hint=f"Clone the repository and run it there: its code is in `{folder}/`.",
        )

    missing.__name__ = name
    command(app)(missing)
