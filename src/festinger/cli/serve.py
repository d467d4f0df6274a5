"""`festinger serve` and `festinger worker`: the processes that stay."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated

import typer

from festinger.app.keeper import Keeper
from festinger.app.tools import Tools
from festinger.app.tuning import tell_of_file_edits
from festinger.app.wiring import App, Start, master_key_of, open_app
from festinger.cli.command import command
from festinger.cli.desk import Desk
from festinger.cli.signals import until_signalled
from festinger.proxy.bind import check_bind, close_sockets, is_exposed, open_sockets
from festinger.proxy.door import Proxy
from festinger.proxy.health import check_upstreams
from festinger.proxy.serve import serve_until_stopped
from festinger.proxy.upstream import Upstream, open_upstream
from festinger.seeing.checks import Check
from festinger.settings.live import LiveSettings
from festinger.settings.watch import watch
from festinger.store.keys import keys
from festinger.web.admin import admin


def register(app: typer.Typer) -> None:
    command(app)(serve)
    command(app)(worker)


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
    """Run the proxy, the pages under /admin and the workers, until stopped.

    Example: festinger serve --upstream http://127.0.0.1:11434
    """
    given = {"server.host": host, "server.port": port, "proxy.upstream": upstream}
    desk = desk.with_flags(given, door="serve")
    settings, tools = desk.settings(), Tools.of_this_machine()
    desk.configure_logs(settings)
    master_key_of(settings, tools)
    server = settings.now.server
    await _require_key(desk, settings, insecure=insecure_bind)
    sockets = open_sockets(server.host, server.port)
    try:
        async with _house(desk, settings, tools, workers=not no_worker, insecure=insecure_bind) as door:
            _greet(desk, settings, sockets)
            await serve_until_stopped(door, sockets, shutdown_seconds=server.shutdown_seconds)
    finally:
        close_sockets(sockets)


async def worker(desk: Desk) -> None:
    """Do background work beside a running server, until stopped.

    Example: festinger worker --database postgresql://…
    """
    desk = desk.with_flags({}, door="worker")
    settings = desk.settings()
    desk.configure_logs(settings)
    stop = asyncio.Event()
    async with desk.app(start=Start(providers=True, workers=True), settings=settings) as app:
        tell_of_file_edits(app)
        app.background.start(watch(settings, stop=stop))
        desk.say("Working; stop with Ctrl-C.")
        await until_signalled()
        stop.set()


async def _require_key(desk: Desk, settings: LiveSettings, *, insecure: bool) -> None:
    """Listening beyond this machine needs a key to be there before the port opens."""
    host = settings.now.server.host
    if not is_exposed(host):
        return
    any_key = False
    if not insecure:
        async with desk.app() as app:
            any_key = any(key.revoked_at is None for key in await keys(app.store))
    check_bind(host, any_key=any_key, insecure=insecure)
    if insecure:
        desk.say(f"Anybody who reaches {host} may use this server: `--insecure-bind` was given.")


@asynccontextmanager
async def _house(
    desk: Desk, settings: LiveSettings, tools: Tools, *, workers: bool, insecure: bool
) -> AsyncIterator[Proxy]:
    """The door, answering at once, while the store opens behind it."""
    stop = asyncio.Event()
    async with open_upstream() as upstream:
        start = Start(providers=True, workers=workers)

        @asynccontextmanager
        async def opened() -> AsyncIterator[App]:
            async with open_app(settings, door="serve", progress=desk.say, start=start, tools=tools) as app:
                tell_of_file_edits(app)
                yield app

        async def more_checks() -> Sequence[Check]:
            return await check_upstreams(upstream, settings.now.proxy)

        keeper = Keeper(settings, opened, more_checks=more_checks)
        tasks = [asyncio.create_task(keeper.keep()), asyncio.create_task(watch(settings, stop=stop))]
        try:
            yield _door(settings, tools, keeper=keeper, upstream=upstream, insecure=insecure)
        finally:
            keeper.stop()
            stop.set()
            await asyncio.gather(*tasks)


def _door(
    settings: LiveSettings, tools: Tools, *, keeper: Keeper, upstream: Upstream, insecure: bool
) -> Proxy:
    return Proxy(
        settings=lambda: settings.now,
        own=admin(keeper),
        upstream=upstream,
        find_key=keeper.find_key,
        known_space=keeper.known_space,
        ready=keeper.is_open,
        new_id=tools.new_id,
        stopwatch=tools.stopwatch,
        machine_names=(socket.gethostname(), socket.getfqdn()),
        exposed=is_exposed(settings.now.server.host),
        insecure=insecure,
    )


def _greet(desk: Desk, settings: LiveSettings, sockets: Sequence[socket.socket]) -> None:
    host, port = sockets[0].getsockname()[:2]
    base = f"http://{host}:{port}"
    desk.say(f"Festinger listens on {base} and forwards to {settings.now.proxy.upstream}.")
    desk.say(f"Point your client at {base} (OpenAI clients: {base}/v1). How it is: {base}/admin")
