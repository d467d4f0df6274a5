"""Connects a command to the admin API: of the server that it names or that runs on its home, else in this process.

A running server answers at once and has the embedder loaded; opening the store in a command's own process
takes seconds. Both answer with the same documents, so a command shows the same either way. The speaker
differs: with the store it is its owner, who sits at this terminal; at a server it is whoever the key says.
"""

import getpass
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from festinger.cli.context import CommandContext
from festinger.errors import BadInput

if TYPE_CHECKING:
    from festinger.proxy.remote_client import AdminClient
    from festinger.runtime.environment import LocalServer
    from festinger.settings.live import LiveSettings

API = "/admin/api"
MOST_LISTED = 1000

Document = dict[str, Any]

MODEL = {"origin": "model", "session": "mcp"}
"""How a client that speaks for a model is known."""


@asynccontextmanager
async def open_client(
    context: CommandContext, *, find: bool = False, embeds: bool = False, model: bool = False
) -> "AsyncIterator[AdminClient]":
    """A client for the server of `connect_server`, else for the store, with its embedder if the command `embeds`.

    `model`: it speaks for a model, which never has a person's say, and may ask whatever the API has.
    """
    speaker = MODEL if model else {}
    async with connect_server(context, find=find, **speaker) as server:
        if server is not None:
            yield server
            return
    from festinger.proxy.remote_client import open_in_process
    from festinger.runtime.app import StartOptions
    from festinger.web.app import build_local_app

    async with context.app(start=StartOptions(providers=embeds)) as app:
        own = build_local_app(app, owner=current_user(), uid=os.getuid(), whole=model)
        async with open_in_process(
            own, space=context.resolve_space_option(app), agent=context.agent, **speaker
        ) as client:
            yield client


@asynccontextmanager
async def connect_server(
    context: CommandContext, *, find: bool = False, **speaker: str
) -> "AsyncIterator[AdminClient | None]":
    """A client for the named server; with `find` else for the one on this home, if ready; else `None`."""
    local = find_local_server(context.settings()) if find and context.server is None else None
    if context.server is None and local is None:
        yield None
        return
    from festinger.proxy.remote_client import open_remote

    names = {"space": context.space, "agent": context.agent}
    if local is None:
        async with open_remote(context.server or "", key=context.key, **names, **speaker) as server:
            yield server
        return
    speaker = speaker or {"session": f"cli:{current_user()}"}
    async with open_remote(local.url, key=local.key, **names, **speaker) as server:
        yield server if await server.is_ready() else None


def find_local_server(settings: "LiveSettings") -> "LocalServer | None":
    """The server that runs on the home and the store of these settings."""
    from festinger.runtime.environment import find_server, home_of, store_fingerprint

    return find_server(home_of(settings), store=store_fingerprint(settings))


def current_user() -> str:
    """The user at this terminal, for the records."""
    try:
        return getpass.getuser()
    except OSError as error:  # a user id without a name, as in some containers
        raise BadInput("This user has no name.", hint="Set `LOGNAME`.") from error


def drop_empty(**fields: Any) -> Document:
    """The fields that were given."""
    return {name: value for name, value in fields.items() if value}


def assume_utc(value: Any) -> Any:
    """Take a time that was typed without a zone as UTC."""
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value


def build_api_path(*parts: str) -> str:
    """The path of the admin API with these parts, whatever characters they hold."""
    return "/".join((API, *(quote(each, safe="") for each in parts)))
