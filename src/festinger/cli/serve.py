"""`festinger serve`: the process that stays.

In this order: settings, key, port, and from then on every request passes; the rooms and the store come behind it
(`porch`, `house`). What this module imports stands between the start and the first answer, so it imports only the door.
"""

import asyncio
import socket
from collections.abc import Sequence
from typing import Annotated

import structlog
import typer

from festinger.app.home import master_key_of
from festinger.app.tools import Tools
from festinger.cli.command import command
from festinger.cli.desk import Desk
from festinger.cli.porch import Plan, Porch
from festinger.cli.signals import asked_to_stop
from festinger.proxy.bind import check_bind, close_sockets, is_exposed, open_sockets
from festinger.proxy.door import Proxy
from festinger.proxy.serve import serving
from festinger.proxy.upstream import open_upstream
from festinger.settings.live import LiveSettings
from festinger.store.keys import keys

log = structlog.get_logger(room="cli")


def register(app: typer.Typer) -> None:
    command(app)(serve)


async def serve(
    desk: Desk,
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option("--port", help="Port to listen on.")] = None,
    upstream: Annotated[
        str | None, typer.Option("--upstream", help="Where requests are forwarded to.")
    ] = None,
    no_worker: Annotated[
        bool, typer.Option("--no-worker", help="Leave background work to `festinger worker`.")
    ] = False,
    insecure_bind: Annotated[
        bool, typer.Option("--insecure-bind", help="Listen beyond this machine without any key.")
    ] = False,
) -> None:
    """Run the proxy, the pages and the workers, until stopped.

    Example: festinger serve --upstream http://127.0.0.1:11434
    """
    given = {"server.host": host, "server.port": port, "proxy.upstream": upstream}
    desk = desk.with_flags(given, door="serve")
    settings, tools = desk.settings(), Tools.of_this_machine()
    master_key_of(settings, tools)
    await _require_key(desk, settings, insecure=insecure_bind)
    sockets = open_sockets(settings.now.server.host, settings.now.server.port)
    try:
        _greet(desk, settings, sockets)
        await _serve(desk, settings, tools, sockets=sockets, workers=not no_worker, insecure=insecure_bind)
    finally:
        close_sockets(sockets)


async def _serve(
    desk: Desk,
    settings: LiveSettings,
    tools: Tools,
    *,
    sockets: Sequence[socket.socket],
    workers: bool,
    insecure: bool,
) -> None:
    """Answer on the sockets until a signal comes; then finish what runs, and close the house behind it."""
    porch, stop = Porch(), asyncio.Event()
    with asked_to_stop() as asked:
        async with open_upstream() as upstream, asyncio.TaskGroup() as group:
            door = Proxy(
                settings=lambda: settings.now,
                own=porch.pages,
                upstream=upstream,
                find_key=porch.find_key,
                known_space=porch.known_space,
                ready=porch.ready,
                new_id=tools.new_id,
                stopwatch=tools.stopwatch,
                machine_names=(socket.gethostname(), socket.getfqdn()),
                exposed=is_exposed(settings.now.server.host),
                insecure=insecure,
                attend=porch.attend,
            )
            plan = Plan(
                settings=settings,
                tools=tools,
                upstream=upstream,
                workers=workers,
                closing=asked,
                say=desk.say,
            )
            async with serving(door, sockets, shutdown_seconds=settings.now.server.shutdown_seconds):
                group.create_task(porch.open_house(plan, stop=stop))
                await asked.wait()
            stop.set()


async def _require_key(desk: Desk, settings: LiveSettings, *, insecure: bool) -> None:
    """Listening beyond this machine needs a key to be there before the port opens."""
    host = settings.now.server.host
    if not is_exposed(host):
        return
    if insecure:
        log.warning("anybody who reaches this server may use it", host=host, because="--insecure-bind")
        return
    async with desk.app() as app:
        any_key = any(key.revoked_at is None for key in await keys(app.store))
    check_bind(host, any_key=any_key, insecure=False)


def _greet(desk: Desk, settings: LiveSettings, sockets: Sequence[socket.socket]) -> None:
    host, port = sockets[0].getsockname()[:2]
    base = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    desk.say(f"Festinger listens on {base} and forwards to {settings.now.proxy.upstream}.")
    desk.say(f"Point your client at {base} (OpenAI clients: {base}/v1). How it is: {base}/admin")
