"""The command `festinger`: every command family in its place.

A family is a module with a `register` function. Only the one that is called is imported, because together they
bring every room and take seconds to load; for the help page and for completion all of them are.
"""

import sys
from importlib import import_module

import typer

FAMILIES = {
    "serve": "serve",
    "worker": "serve",
    "status": "status",
    "doctor": "doctor",
    "settings": "settings",
    "migrate": "migrate",
    "backup": "backup",
    "restore": "backup",
    "jobs": "jobs",
    "events": "events",
    "keys": "keys",
    "spaces": "spaces",
    "models": "models",
    "secrets": "secrets",
    "version": "version",
}
"""Which module holds a command, in the order of the help page."""


def command_line(wanted: str | None = None) -> typer.Typer:
    """The command line with the family of one command, or with all."""
    app = typer.Typer(
        name="festinger",
        help="One memory for LLM agents that keeps itself true.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def several_commands() -> None:
        """One memory for LLM agents that keeps itself true."""

    modules = [FAMILIES[wanted]] if wanted in FAMILIES else dict.fromkeys(FAMILIES.values())
    for module in modules:
        import_module(f"festinger.cli.{module}").register(app)
    return app


def main() -> None:
    command_line(sys.argv[1] if len(sys.argv) > 1 else None)()
