"""Writes `store/schema.sql`: what all our migrations add up to, for people to read and for a test to compare.

Run it after adding a migration: `make schema`. It starts a server of its own, applies every migration and keeps
what the server's own `pg_dump` says, without what changes from run to run.
"""

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from festinger.store.migration import migrate, own_migrations
from tests import database

SCHEMA = Path(__file__).parent.parent / "src" / "festinger" / "store" / "schema.sql"

HEADER = "-- What all migrations add up to. Written by `make schema`; a test holds both together.\n"
NOISE = re.compile(
    r"^(?:--.*|SET .*|SELECT pg_catalog\.set_config.*|\\(?:un)?restrict.*|COMMENT ON EXTENSION .*)$", re.MULTILINE
)
LEFT_OUT = ("--schema-only", "--no-owner", "--no-privileges", "--no-tablespaces", "--exclude-table=schema_migration")


def normalised(dump: str) -> str:
    """A dump without comments of its maker, settings of its session and rows of blank lines."""
    return HEADER + "\n" + re.sub(r"\n{3,}", "\n\n", NOISE.sub("", dump)).strip() + "\n"


def dumped(url: str) -> str:
    """The schema of a database as our file has it."""
    asked = subprocess.run(
        [str(database.BINARIES / "pg_dump"), *LEFT_OUT, url],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"]},
    )
    return normalised(asked.stdout)


def write() -> None:
    folder = Path(tempfile.mkdtemp(prefix="fst-"))
    try:
        url = database.empty(folder)
        asyncio.run(migrate(url, own_migrations()))
        SCHEMA.write_text(dumped(url), encoding="utf-8")
    finally:
        database.stop_server(folder)
        shutil.rmtree(folder)


if __name__ == "__main__":
    write()
