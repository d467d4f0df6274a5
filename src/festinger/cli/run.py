"""How does the whole server run, from the open port to the house behind it?

`run_server` is what `festinger serve` does between its first and its last request, without the signals, the greeting
and the command line around it. A demo runs the same server with a clock and a model of its own. Like `serve`, it
imports only the door: the rooms come behind it.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from festinger.cli.early_server import EarlyServer, ServerDeps
from festinger.proxy.app import Proxy
from festinger.proxy.transport.server import is_exposed, open_server
from festinger.proxy.transport.upstream import UpstreamClient, open_upstream
from festinger.runtime.environment import LocalServer, SystemServices
from festinger.settings.live import LiveSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """What a server is started with."""

    settings: LiveSettings
    tools: SystemServices
    say: Callable[[str], None]
    workers: bool = True
    """Whether it does the background work itself."""
    insecure: bool = False
    """Whether a person accepted that anybody who reaches it may use it."""
    local: LocalServer | None = None
    """How commands on this home find it; none keeps it to itself."""
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server is asked to stop: what would go on for ever ends then."""


@asynccontextmanager
async def run_server(how: ServerOptions, sockets: Sequence[socket.socket]) -> AsyncIterator[EarlyServer]:
    """The server answers on the sockets while the block runs. At its end it finishes what runs, and closes the
    house behind it."""
    porch, stop = EarlyServer(), asyncio.Event()
    async with open_upstream() as upstream, asyncio.TaskGroup() as group:
        door = _build_proxy(how, porch, upstream)
        plan = ServerDeps(
            settings=how.settings,
            tools=how.tools,
            upstream=upstream,
            workers=how.workers,
            local=how.local,
            closing=how.closing,
            say=how.say,
        )
        async with open_server(door, sockets, shutdown_seconds=how.settings.now.server.shutdown_seconds):
            group.create_task(porch.open_house(plan, stop=stop))
            yield porch
        stop.set()


def _build_proxy(how: ServerOptions, porch: EarlyServer, upstream: UpstreamClient) -> Proxy:
    return Proxy(
        settings=lambda: how.settings.now,
        own=porch.pages,
        upstream=upstream,
        find_key=porch.find_key,
        known_space=porch.known_space,
        ready=porch.ready,
        new_id=how.tools.new_id,
        stopwatch=how.tools.stopwatch,
        machine_names=(socket.gethostname(), socket.getfqdn()),
        exposed=is_exposed(how.settings.now.server.host),
        insecure=how.insecure,
        attend=porch.attend,
        passed=porch.passed,
    )
