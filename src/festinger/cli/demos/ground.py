"""What does a demo stand on?

The real server on a store of its own in a folder that is removed afterwards, in front of a model that reads from a
script. Time stands still, ids and chance are the same each time, background work is done when the demo says so, and
a request waits for memory as long as it takes: what is shown must not hang on the machine.
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

from festinger.bench.house import throw_away_home
from festinger.bench.load import Connection, connect
from festinger.bench.run import throw_away_folder
from festinger.cli.demos.model import HOST, ScriptedModel, answering
from festinger.cli.early_server import Porch
from festinger.cli.run import Running, running
from festinger.clock import system_stopwatch
from festinger.errors import Unavailable
from festinger.ids import MAIN_SPACE, id_maker
from festinger.jobs.worker import Crew
from festinger.proxy.transport.server import close_sockets, open_sockets
from festinger.runtime.app import App
from festinger.runtime.environment import Tools
from festinger.settings.deployment import Deployment
from festinger.settings.live import LiveSettings

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)
LOOK_AGAIN_S = 0.02
START_S = 120.0
"""Longest that the store may take to start."""
WAIT_MS = 10_000

Say = Callable[[str], None]
Prepare = Callable[[Path], None]
"""Puts what a demo needs into its folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a client of the server got."""

    status: int
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """What a model said in it."""
        return str(self.body["message"]["content"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    port: int
    model: ScriptedModel
    app: App
    porch: Porch

    async def ask(self, path: str, body: dict[str, Any] | None = None) -> Reply:
        """Send a request to the server as any client does: a POST if it has a body."""
        connection: Connection = await connect(self.port, system_stopwatch)
        try:
            answer = await connection.ask(_wire(self.port, path, body))
        finally:
            connection.close()
        return Reply(status=answer.status, body=json.loads(answer.body))

    async def say(self, text: str) -> Reply:
        """A new conversation that begins with this text of a person."""
        return await self.ask("/api/chat", chat([{"role": "user", "content": text}]))

    async def until(self, path: str, claim: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Do the work that waits until the answer of a page is as claimed; that answer."""
        crew = Crew(self.app.jobs, shutdown_seconds=1)
        async with asyncio.timeout(START_S):
            while not claim(seen := (await self.ask(path)).body):
                await crew.drain()
                await asyncio.sleep(LOOK_AGAIN_S)
        return seen


def chat(messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {"model": "scripted", "messages": messages, "stream": False}


@asynccontextmanager
async def on_throw_away_ground(*, say: Say, prepare: Prepare | None = None) -> AsyncIterator[Ground]:
    """A ground on an embedded store in a folder of its own; nothing of it is left."""
    with throw_away_folder() as folder:
        if prepare is not None:
            prepare(folder)
        async with throw_away_home(folder, stopwatch=system_stopwatch) as home:
            async with on_ground(folder, say=say, home=str(home)) as ground:
                yield ground


@asynccontextmanager
async def on_ground(folder: Path, *, say: Say, **given: Any) -> AsyncIterator[Ground]:
    """A ground that keeps its files in a folder; `given` are settings."""
    model, sockets = ScriptedModel(clock), open_sockets(HOST, 0)
    try:
        async with answering(model) as upstream:
            settings = settings_in(folder, {"proxy.upstream": upstream, **given})
            how = Running(settings=settings, tools=fixed_tools(), say=say, workers=False)
            async with running(how, sockets) as porch:
                port = sockets[0].getsockname()[1]
                yield Ground(port=port, model=model, app=await _opened(porch), porch=porch)
    finally:
        close_sockets(sockets)


def settings_in(folder: Path, given: dict[str, Any]) -> LiveSettings:
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
    return LiveSettings(
        Deployment(environment={}, folder=folder, config_folder=folder / "config", command_line=chosen)
    )


def clock() -> datetime:
    """It is always Monday noon."""
    return MONDAY


def fixed_tools() -> Tools:
    chance = random.Random(1)  # noqa: S311 - the same each time, and nothing here is secret
    return Tools(clock=clock, chance=chance, entropy=chance.randbytes, new_id=id_maker(clock, chance))


def _wire(port: int, path: str, body: dict[str, Any] | None) -> bytes:
    sent = b"" if body is None else json.dumps(body).encode()
    head = [
        f"{'GET' if body is None else 'POST'} {path} HTTP/1.1",
        f"Host: {HOST}:{port}",
        "Content-Type: application/json",
        f"Content-Length: {len(sent)}",
    ]
    return "\r\n".join([*head, "", ""]).encode() + sent


async def _opened(porch: Porch) -> App:
    """The app behind the porch, once its store is open and its world loaded."""
    house = await porch.house()
    try:
        async with asyncio.timeout(START_S):
            while house.keeper.app is None:  # noqa: ASYNC110 - the keeper tells nobody, it is asked
                await asyncio.sleep(LOOK_AGAIN_S)
    except TimeoutError as error:
        raise Unavailable(
            "The throw-away store did not start.", hint="Try again on a quieter machine."
        ) from error
    await house.keeper.app.world.need(MAIN_SPACE)
    return house.keeper.app
