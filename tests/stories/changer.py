"""A program that changes a setting over and over through the real wiring, to be killed.

    python -m tests.stories.changer HOME CONFIG FIRST LOG

Every change is a row, an event and a delivery to a subscriber, in one transaction. When the deed has returned it
is acknowledged in LOG, with fsync, and then as a line of output. What it left undone is delivered by whoever comes next.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.store.homes import Home, opened

from festinger.events.catalogue import Event
from festinger.observability.logs import use_host_logging
from festinger.runtime.app import App, StartOptions, open_app
from festinger.runtime.settings import change_setting
from festinger.settings.deployment import Deployment
from festinger.settings.live import LiveSettings
from festinger.store.pool import Transaction
from festinger.store.queries import Query
from festinger.text.secrets import remove_secrets

KEY = "jobs.max_waiting"
TABLE = Query(
    room="tests",
    name="make_told",
    purpose="what the subscriber was told",
    sql="create table if not exists told (event uuid, new text)",
)
TELL = Query(
    room="tests",
    name="tell",
    purpose="one row a delivery; a second delivery would be a second row",
    sql="insert into told (event, new) values (%(event)s, %(new)s)",
)


async def hear(transaction: Transaction, event: Event) -> None:
    await transaction.run(TELL, event=event.id, new=str(event.payload["new"]))


@asynccontextmanager
async def server(home: Home) -> AsyncIterator[App]:
    """The wired app on the embedded server of `home`, with a subscriber."""
    async with opened(home) as url:
        deployment = Deployment(
            environment={},
            folder=home.path,
            config_folder=home.config,
            command_line={
                "database_url": url,
                "home": str(home.path),
                "secrets.key_file": str(home.config / "key"),
                "server.shutdown_seconds": 5,
                "store.statement_timeout_ms": 2000,
            },
        )
        settings = LiveSettings(deployment)
        async with open_app(settings, door="changer", progress=lambda _: None, start=StartOptions()) as app:
            await app.store.run(TABLE)
            app.outbox.subscribe("setting_changed", "listener", hear)
            yield app


async def change(home: Home, *, first: int, log: int) -> None:
    async with server(home) as app:
        for number in range(first, first + 100_000):
            await change_setting(app, KEY, str(number), by="changer")
            os.write(log, f"{number}\n".encode())
            os.fsync(log)
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


def main(home: str, config: str, first: str, log: str) -> None:
    use_host_logging(redact=remove_secrets)
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    asyncio.run(change(Home(path=Path(home), config=Path(config)), first=int(first), log=handle))


if __name__ == "__main__":
    main(*sys.argv[1:])
