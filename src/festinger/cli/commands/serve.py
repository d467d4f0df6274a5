"""`festinger serve`, the long-running server, and `festinger worker`, background work beside one.

In this order: settings, key, port, and from then on every request passes; the packages and the store load
behind it (`run_server`, `early_server`, `server`). What this module imports delays the first answer, so it
imports only the proxy.
"""

import asyncio
import os
import socket
import time
from collections.abc import Sequence
from threading import Thread
from typing import Annotated

import structlog
import typer
from uvicorn.loops.auto import auto_loop_factory

from festinger.cli.command import command, stop_event_on_signals
from festinger.cli.context import CommandContext
from festinger.cli.early_server import BackgroundWorkPlace, ServerOptions, run_server
from festinger.proxy.transport.server import close_sockets, is_exposed, open_sockets, require_key_if_exposed
from festinger.runtime.environment import LocalServer, SystemServices, local_base_url, master_key_of, store_fingerprint
from festinger.settings.live import LiveSettings
from festinger.store.repositories.auth import load_api_keys, new_api_key

log = structlog.get_logger(room="cli")

LOOK_SECONDS = 0.5
ORPHAN_SECONDS = 3.0
"""What a worker gets to end in order when its server is gone."""


def register(app: typer.Typer) -> None:
    command(app, loop=new_uvloop_or_default)(serve)
    command(app, loop=new_uvloop_or_default)(worker)


def new_uvloop_or_default() -> asyncio.AbstractEventLoop:
    """uvloop where available: a request then costs less than with asyncio's own loop."""
    return auto_loop_factory()()


async def serve(
    context: CommandContext,
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option("--port", help="Port to listen on.")] = None,
    upstream: Annotated[str | None, typer.Option("--upstream", help="Where requests are forwarded to.")] = None,
    no_worker: Annotated[
        bool, typer.Option("--no-worker", help="Do background work in this process, not in one of its own.")
    ] = False,
    insecure_bind: Annotated[
        bool, typer.Option("--insecure-bind", help="Listen beyond this machine without any key.")
    ] = False,
) -> None:
    """Run the proxy, the pages and a worker process, until stopped.

    Example: festinger serve --upstream http://127.0.0.1:11434
    """
    given = {"server.host": host, "server.port": port, "proxy.upstream": upstream}
    context = context.with_flags(given, door="serve")
    settings, tools = context.settings(), SystemServices.of_this_machine()
    master_key_of(settings, tools)
    await _require_key_if_exposed(context, settings, insecure=insecure_bind)
    sockets = open_sockets(settings.now.server.host, settings.now.server.port)
    try:
        local = LocalServer(
            url=local_base_url(*sockets[0].getsockname()[:2]),
            pid=os.getpid(),
            store=store_fingerprint(settings),
            key=new_api_key(tools.entropy),
        )
        _print_addresses(context, settings, sockets)
        with stop_event_on_signals() as asked:
            how = ServerOptions(
                settings=settings,
                tools=tools,
                say=context.say,
                background=BackgroundWorkPlace.HERE if no_worker else BackgroundWorkPlace.WORKER,
                insecure=insecure_bind,
                local=local,
                closing=asked,
            )
            async with run_server(how, sockets):
                await asked.wait()
    finally:
        close_sockets(sockets)


async def _require_key_if_exposed(context: CommandContext, settings: LiveSettings, *, insecure: bool) -> None:
    """Require a key before the port opens, when it listens beyond this machine."""
    host = settings.now.server.host
    if not is_exposed(host):
        return
    if insecure:
        log.warning("anybody who reaches this server may use it", host=host, because="--insecure-bind")
        return
    async with context.app() as app:
        any_key = any(key.revoked_at is None for key in await load_api_keys(app.store))
    require_key_if_exposed(host, any_key=any_key, insecure=False)


def _print_addresses(context: CommandContext, settings: LiveSettings, sockets: Sequence[socket.socket]) -> None:
    host, port = sockets[0].getsockname()[:2]
    base = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    context.say(f"Festinger listens on {base} and forwards to {settings.now.proxy.upstream}.")
    context.say(f"Point your client at {base} (OpenAI clients: {base}/v1). How it is: {base}/admin")
    context.say(
        "A local model that your client uses also reads and judges in the background, and an agent that you chatted with"
        " thinks with it a few times; `llm.write: ''` and `agent.resident: off` stop that."
    )


async def worker(
    context: CommandContext,
    server_pid: Annotated[
        int, typer.Option("--server-pid", hidden=True, help="Set by `festinger serve`; it ends with it.")
    ] = 0,
) -> None:
    """Do background work beside a running server, until stopped.

    `festinger serve` runs one by itself. Example: festinger worker --database postgresql://…
    """
    if server_pid:
        Thread(target=_exit_after_server, args=(server_pid,), daemon=True).start()
    from festinger.cli.worker import run_worker

    with stop_event_on_signals() as stop:
        await run_worker(context.with_flags({}, door="worker"), stop=stop, supervised=bool(server_pid))


def _exit_after_server(pid: int) -> None:
    """End this process soon after its server; the next worker takes up what it leaves."""
    while os.getppid() == pid:
        time.sleep(LOOK_SECONDS)
    time.sleep(ORPHAN_SECONDS)
    os._exit(1)
