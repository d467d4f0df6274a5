"""The whole server, as `festinger serve` runs it, on a database of its own and before a model of the test's.

Only this differs from a person's server: time stands still until the test moves it, background work is done when the
test waits for it, requests wait for memory as long as it takes, and no embedder is loaded.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from tests.runtime.server import Hands, fixed_tools, quietly, settings_of
from tests.stories.model import Model, serving_model

from festinger.cli.early_server import BackgroundWorkPlace, EarlyServer, ServerOptions, run_server
from festinger.cli.server import LoadedServer
from festinger.ids import MAIN_SPACE, SpaceId
from festinger.jobs.worker import WorkerPool
from festinger.proxy.transport.server import close_sockets, open_sockets
from festinger.runtime.app import App
from festinger.world.graph import World

PATIENCE_S = 120
"""A story that waits this long for something has failed; on a busy machine everything takes its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Got:
    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def memory(self) -> str:
        return self.headers["x-festinger-memory"]

    @property
    def session(self) -> str:
        return self.headers["x-festinger-session"].partition(";")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    url: str
    upstream: str
    model: Model
    server: LoadedServer
    hands: Hands
    http: aiohttp.ClientSession = field(repr=False)

    @property
    def app(self) -> App:
        assert self.server.supervisor.app is not None
        return self.server.supervisor.app

    async def kept(self) -> None:
        """Wait until what was said is in the store."""
        async with asyncio.timeout(PATIENCE_S):
            await self.server.writer.settled()

    async def post(self, path: str, body: Any = None, **headers: str) -> Got:
        """Send a body as it is, or as JSON, and read the whole answer."""
        sent = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.http.post(self.url + path, data=sent, headers=named) as answer:
            return await _got(answer)

    async def get(self, path: str) -> Got:
        async with self.http.get(self.url + path) as answer:
            return await _got(answer)

    async def world(self, space: SpaceId = MAIN_SPACE) -> World:
        return await self.app.world.need(space)

    async def until(self, claim: Callable[[], Awaitable[object]]) -> None:
        """Have background work done until the claim holds."""
        crew = WorkerPool(self.app.jobs, shutdown_seconds=5)
        async with asyncio.timeout(PATIENCE_S):
            while not await claim():
                await crew.drain()
                await asyncio.sleep(0.01)

    async def until_known(self, *names: str) -> None:
        """Wait until each of these has a parent."""

        async def known() -> bool:
            world = await self.world()
            return all(parents(world, name) for name in names)

        await self.until(known)

    async def pending(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = (await self.get("/conflicts?status=pending")).body["items"]
        return listed

    async def night(self) -> dict[str, Any]:
        """Run the nightly job to its end; what it says of itself."""
        begun = await self.post("/resolve/run")
        run = f"/resolve/runs/{begun.body['run_id']}"

        async def over() -> bool:
            return bool((await self.get(run)).body["finished_at"])

        await self.until(over)
        told: dict[str, Any] = (await self.get(run)).body
        return told


def parents(world: World, name: str) -> dict[str, str]:
    """The parents of a concept by dimension."""
    row = world.row(name)
    edges = world.urd_by_concept.get(row.id, ()) if row else ()
    named = world.soas_by_id
    return {named[edge.dim_id]: named[edge.parent_id] for edge in edges if edge.parent_id != edge.id}


async def _got(answer: aiohttp.ClientResponse) -> Got:
    headers = {name.lower(): value for name, value in answer.headers.items()}
    return Got(status=answer.status, headers=headers, raw=await answer.read())


@asynccontextmanager
async def stage(database_url: str, folder: Path, *, hands: Hands | None = None, **flags: Any) -> AsyncIterator[Stage]:
    """The server and its model; `flags` are settings with their dots written as `__`."""
    hands, sockets = hands or Hands(), open_sockets("127.0.0.1", 0)
    url = f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
    try:
        async with serving_model() as (upstream, model), aiohttp.ClientSession() as http:
            chosen = {
                "embedding__model": "none:",
                "server__shutdown_seconds": 1,
                "proxy__upstream": upstream,
                # What a story tells must not hang on how quick the machine is.
                "proxy__memory_deadline_ms": 10_000,
                "store__hot_timeout_ms": 10_000,
                "store__statement_timeout_ms": 60_000,
                # A story chooses a model where it wants one; by default the client's own would be asked.
                "llm__write": "",
                "llm__judge": "",
            }
            settings = settings_of(database_url, folder, **{**chosen, **flags})
            how = ServerOptions(
                settings=settings, tools=fixed_tools(hands), say=quietly, background=BackgroundWorkPlace.NOWHERE
            )
            async with run_server(how, sockets) as early_server:
                server = await _open(early_server)
                yield Stage(url=url, upstream=upstream, model=model, server=server, hands=hands, http=http)
    finally:
        close_sockets(sockets)


async def _open(early_server: EarlyServer) -> LoadedServer:
    """The house behind the porch, once it is open and knows its world."""
    server = await early_server.server()
    async with asyncio.timeout(PATIENCE_S):
        while server.supervisor.app is None:  # noqa: ASYNC110 - the keeper tells nobody, it is asked
            await asyncio.sleep(0.01)
    await server.supervisor.app.world.need(MAIN_SPACE)
    return server
