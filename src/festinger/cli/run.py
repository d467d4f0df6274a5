"""Runs the whole server, from the open port to the app behind it.

`run_server` is `festinger serve` without the signals, the greeting and the command line. A demo runs the same
server with its own clock and model. Like `serve`, it imports only the proxy: the other packages load later.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from festinger.cli.early_server import BackgroundWork, EarlyServer, ServerDeps
from festinger.proxy.app import Proxy
from festinger.proxy.auth import own_hostnames
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
    background: BackgroundWork
    insecure: bool = False
    """Whether a person accepted that anyone who reaches it may use it."""
    local: LocalServer | None = None
    """How commands on this home find it; `None` does not announce it."""
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server is asked to stop: endless streams end then."""


@asynccontextmanager
async def run_server(how: ServerOptions, sockets: Sequence[socket.socket]) -> AsyncIterator[EarlyServer]:
    """Serve on the sockets while the block runs; at its end finish running requests and close the app."""
    early_server, stop = EarlyServer(), asyncio.Event()
    async with open_upstream() as upstream, asyncio.TaskGroup() as group:
        door = _build_proxy(how, early_server, upstream)
        plan = ServerDeps(
            settings=how.settings,
            tools=how.tools,
            upstream=upstream,
            background=how.background,
            local=how.local,
            closing=how.closing,
            say=how.say,
        )
        async with open_server(door, sockets, shutdown_seconds=how.settings.now.server.shutdown_seconds):
            group.create_task(early_server.load_server(plan, stop=stop))
            yield early_server
        stop.set()


def _build_proxy(how: ServerOptions, early_server: EarlyServer, upstream: UpstreamClient) -> Proxy:
    return Proxy(
        settings=lambda: how.settings.now,
        own=early_server.pages,
        upstream=upstream,
        find_key=early_server.find_key,
        known_space=early_server.known_space,
        ready=early_server.ready,
        new_id=how.tools.new_id,
        stopwatch=how.tools.stopwatch,
        machine_names=own_hostnames(),
        exposed=is_exposed(how.settings.now.server.host),
        insecure=how.insecure,
        process=early_server.process,
        log_request=early_server.log,
    )
