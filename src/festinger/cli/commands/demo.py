"""`festinger demo`, which lies in `examples/`."""

import typer

from festinger.cli.checkout import register_from_checkout


def register(app: typer.Typer) -> None:
    register_from_checkout(app, "demo", "examples")
