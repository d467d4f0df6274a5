"""`festinger mcp`: the memory for an MCP client on stdin and stdout."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from festinger.cli.client import open_client
from festinger.cli.command import command
from festinger.cli.context import CommandContext
from festinger.errors import FestingerError, ServerAway
from festinger.integrations.hook import find_project_agent

if TYPE_CHECKING:
    from festinger.proxy.remote_client import AdminClient


def register(app: typer.Typer) -> None:
    command(app, "mcp", may_ask_server=True)(mcp)


async def mcp(
    context: CommandContext,
    here: Annotated[
        bool, typer.Option("--here", help="Work as the agent of this folder's git repository, as hooks do.")
    ] = False,
) -> None:
    """Serve an MCP client on stdin and stdout.

    It asks the server that runs on this home, and opens the store only if none runs.

    Example: festinger mcp
    """
    from festinger.mcp.server import serve_stdio

    if here:
        context = replace(context, agent=find_project_agent("."))
    bridge = AdminBridge(context)
    try:
        await serve_stdio(bridge.client)
    finally:
        await bridge.close()


class AdminBridge:
    """Opens the admin API when a tool first needs it, and keeps it open.

    A task of its own opens and closes it. If that fails, or the server goes away, the next call tries again.
    """

    def __init__(self, context: CommandContext) -> None:
        self._context = context
        self._keeping: asyncio.Task[None] | None = None

    async def _keep(self, opened: "asyncio.Future[AdminClient]") -> None:
        failure = FestingerError()
        try:
            async with open_client(self._context, find=True, embeds=True, model=True) as client:
                opened.set_result(client)
                await asyncio.Event().wait()
        except FestingerError as error:
            failure = error
        finally:
            if not opened.done():
                opened.set_exception(failure)

    @asynccontextmanager
    async def client(self) -> "AsyncIterator[AdminClient]":
        """The admin API, once it is open."""
        if self._keeping is None or self._keeping.done():
            # Not earlier: loading what it needs would keep the client waiting for its first answer.
            self._opened: asyncio.Future[AdminClient] = asyncio.get_running_loop().create_future()
            self._keeping = asyncio.create_task(self._keep(self._opened))
        try:
            # A call that is canceled must not cancel the opening for the others.
            yield await asyncio.shield(self._opened)
        except ServerAway:
            await self.close()
            raise

    async def close(self) -> None:
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.wait({self._keeping})
