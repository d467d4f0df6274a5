"""Connects a command to a running server: the one that it names, or the one that runs on its home.

A running server answers at once and has the embedder loaded; opening the store in a command's own process takes seconds.
"""

import getpass
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from festinger.cli.context import Desk
from festinger.errors import BadInput

if TYPE_CHECKING:
    from festinger.proxy.remote_client import Remote
    from festinger.runtime.environment import LocalServer
    from festinger.settings.live import LiveSettings


@asynccontextmanager
async def connect(desk: Desk, *, find: bool = False) -> "AsyncIterator[Remote | None]":
    """The server that the command names; with `find` else the one on its home, if it is ready. `None`: open the store."""
    local = find_local(desk.settings()) if find and desk.server is None else None
    if desk.server is None and local is None:
        yield None
        return
    from festinger.proxy.remote_client import remote

    if local is None:
        async with remote(desk.server or "", space=desk.space, key=desk.key) as server:
            yield server
        return
    async with remote(local.url, space=desk.space, key=local.key, session=who()) as server:
        yield server if await server.is_ready() else None


def find_local(settings: "LiveSettings") -> "LocalServer | None":
    """The server that runs on the home and the store of these settings."""
    from festinger.runtime.environment import find_server, home_of, store_mark

    return find_server(home_of(settings), store=store_mark(settings))


def who() -> str:
    """Who sits at this terminal, for the records."""
    try:
        return f"cli:{getpass.getuser()}"
    except OSError as error:  # a user id without a name, as in some containers
        raise BadInput("This user has no name.", hint="Set `LOGNAME`.") from error
