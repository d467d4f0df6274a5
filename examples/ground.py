"""The environment of a demo: the real server on a store of its own, with a scripted model.

Its folder is removed afterwards. Time stands still, ids and randomness are the same each time, background
jobs run when the demo says so, and a request waits for memory as long as it takes: the output must not depend
on the machine.
"""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.load import Connection, connect
from benchmarks.own_server import throw_away_home
from benchmarks.run import throw_away_folder

from examples.model import HOST, ScriptedModel, serve_model
from festinger.cli.early_server import BackgroundWorkPlace, EarlyServer, ServerOptions, run_server
from festinger.clock import system_stopwatch
from festinger.errors import Unavailable
from festinger.ids import MAIN_SPACE, id_maker
from festinger.jobs.worker import WorkerPool
from festinger.proxy.transport.server import close_sockets, open_sockets
from festinger.runtime.app import App
from festinger.runtime.environment import SystemServices
from festinger.settings.deployment import Deployment
from festinger.settings.live import LiveSettings

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)
LOOK_AGAIN_S = 0.02
START_S = 120.0
"""The longest that the store may take to start."""
WAIT_MS = 10_000

Say = Callable[[str], None]
Prepare = Callable[[Path], None]
"""Puts what a demo needs into its folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResponse:
    """What a client of the server got."""

    status: int
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """What a model said in it."""
        return str(self.body["message"]["content"])


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoEnvironment:
    port: int
    model: ScriptedModel
    app: App
    early_server: EarlyServer

    async def ask(self, path: str, body: dict[str, Any] | None = None) -> DemoResponse:
        """Send a request to the server as any client does: a POST if it has a body."""
        connection: Connection = await connect(self.port, system_stopwatch)
        try:
            answer = await connection.ask(_wire(self.port, path, body))
        finally:
            connection.close()
        return DemoResponse(status=answer.status, body=json.loads(answer.body))

    async def say(self, text: str) -> DemoResponse:
        """Start a new conversation with this text of a person."""
        return await self.ask("/api/chat", build_chat_request([{"role": "user", "content": text}]))

    async def until(self, path: str, claim: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Run waiting jobs until the answer of a page meets the claim; returns that answer."""
        crew = WorkerPool(self.app.jobs, shutdown_seconds=1)
        async with asyncio.timeout(START_S):
            while not claim(seen := (await self.ask(path)).body):
                await crew.drain()
                await asyncio.sleep(LOOK_AGAIN_S)
        return seen


def build_chat_request(messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {"model": "scripted", "messages": messages, "stream": False}


@asynccontextmanager
async def open_temporary_environment(*, say: Say, prepare: Prepare | None = None) -> AsyncIterator[DemoEnvironment]:
    """An environment on an embedded store in a folder of its own; nothing of it is left."""
    with throw_away_folder() as folder:
        if prepare is not None:
            prepare(folder)
        async with throw_away_home(folder, stopwatch=system_stopwatch) as home:
            async with open_environment(folder, say=say, home=str(home)) as ground:
                yield ground


@asynccontextmanager
async def open_environment(folder: Path, *, say: Say, **given: Any) -> AsyncIterator[DemoEnvironment]:
    """An environment that keeps its files in a folder; `given` are settings."""
    model, sockets = ScriptedModel(fixed_clock), open_sockets(HOST, 0)
    try:
        async with serve_model(model) as upstream:
            settings = demo_settings(folder, {"proxy.upstream": upstream, **given})
            how = ServerOptions(
                settings=settings, tools=build_fixed_services(), say=say, background=BackgroundWorkPlace.NOWHERE
            )
            async with run_server(how, sockets) as early_server:
                port = sockets[0].getsockname()[1]
                yield DemoEnvironment(
                    port=port, model=model, app=await _opened(early_server), early_server=early_server
                )
    finally:
        close_sockets(sockets)


def demo_settings(folder: Path, given: dict[str, Any]) -> LiveSettings:
    """The settings of a demo: none of the person's, no network, and the script of the resolving model."""
    chosen = {
        "home": str(folder / "home"),
        "secrets.key_file": str(folder / "key"),
        "offline": True,
        "embedding.model": "none:",
        "store.stop_when_idle": False,
        "server.shutdown_seconds": 1,
        "store.hot_timeout_ms": WAIT_MS,
        "proxy.memory_deadline_ms": WAIT_MS,
        "llm.resolve": f"scripted:{folder / 'script'}",
        **given,
    }
    return LiveSettings(Deployment(environment={}, folder=folder, config_folder=folder / "config", command_line=chosen))


def fixed_clock() -> datetime:
    """It is always Monday noon."""
    return MONDAY


def build_fixed_services() -> SystemServices:
    chance = random.Random(1)  # noqa: S311 - the same each time, and nothing here is secret
    return SystemServices(
        clock=fixed_clock, chance=chance, entropy=chance.randbytes, new_id=id_maker(fixed_clock, chance)
    )


def _wire(port: int, path: str, body: dict[str, Any] | None) -> bytes:
    sent = b"" if body is None else json.dumps(body).encode()
    head = [
        f"{'GET' if body is None else 'POST'} {path} HTTP/1.1",
        f"Host: {HOST}:{port}",
        "Content-Type: application/json",
        f"Content-Length: {len(sent)}",
    ]
    return "\r\n".join([*head, "", ""]).encode() + sent


async def _opened(early_server: EarlyServer) -> App:
    """The app behind the early server, once its store is open and its world loaded."""
    server = await early_server.server()
    try:
        async with asyncio.timeout(START_S):
            while server.supervisor.app is None:  # noqa: ASYNC110 - the keeper tells nobody, it is asked
                await asyncio.sleep(LOOK_AGAIN_S)
    except TimeoutError as error:
        raise Unavailable("The throw-away store did not start.", hint="Try again on a quieter machine.") from error
    await server.supervisor.app.world.need(MAIN_SPACE)
    return server.supervisor.app
