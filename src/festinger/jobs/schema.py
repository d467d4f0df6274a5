"""Which tables does the job engine need?

Procrastinate packages its schema as numbered SQL files. They are offered here as migrations of the store, in
their order, under names of their own, so that one migrator brings the whole database to shape and an upgrade
of the engine is an ordinary migration. What stands in those files is the engine's matter.
"""

from importlib.resources import files

from festinger.store.migrate import Migration

PREFIX = "procrastinate/"


def job_migrations() -> list[Migration]:
    """The engine's migrations, in order; they come after our own."""
    folder = files("procrastinate.sql").joinpath("migrations")
    found = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda e: e.name)
    return [
        Migration(name=PREFIX + entry.name.removesuffix(".sql"), sql=entry.read_text(encoding="utf-8"))
        for entry in found
    ]
