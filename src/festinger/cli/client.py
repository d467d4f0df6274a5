"""Connects a command to a running server: the one that it names, or the one that runs on its home.

A running server answers at once and has the embedder loaded; opening the store in a command's own process
takes seconds.
"""

import getpass
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from festinger.cli.context import CommandContext
from festinger.errors import BadInput

if TYPE_CHECKING:
    from festinger.proxy.remote_client import RemoteServer
    from festinger.runtime.environment import LocalServer
    from festinger.settings.live import LiveSettings


@asynccontextmanager
async def connect_server(context: CommandContext, *, find: bool = False) -> "AsyncIterator[RemoteServer | None]":
    """The named server; with `find` else the one on this home, if ready. `None`: open the store."""
    local = find_local_server(context.settings()) if find and context.server is None else None
    if context.server is None and local is None:
        yield None
        return
    from festinger.proxy.remote_client import open_remote

    if local is None:
        async with open_remote(context.server or "", space=context.space, key=context.key) as server:
            yield server
        return
    async with open_remote(local.url, space=context.space, key=local.key, session=current_user()) as server:
        yield server if await server.is_ready() else None


def find_local_server(settings: "LiveSettings") -> "LocalServer | None":
    """The server that runs on the home and the store of these settings."""
    from festinger.runtime.environment import find_server, home_of, store_fingerprint

    return find_server(home_of(settings), store=store_fingerprint(settings))


def current_user() -> str:
    """The user at this terminal, for the records."""
    try:
        return f"cli:{getpass.getuser()}"
    except OSError as error:  # a user id without a name, as in some containers
        raise BadInput("This user has no name.", hint="Set `LOGNAME`.") from error
