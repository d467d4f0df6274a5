"""`festinger bench`, which lies in `benchmarks/`."""

import typer

from festinger.cli.checkout import register_from_checkout


def register(app: typer.Typer) -> None:
    register_from_checkout(app, "bench", "benchmarks")
