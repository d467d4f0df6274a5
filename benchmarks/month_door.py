"""Passes a month through the proxy in minutes.

Everything behind the proxy is as in a server, in this process, except for a clock that the month moves, a
model that says what the month wants, background jobs that run when a session is over, and requests that wait
for memory however slow the machine is. What the model was sent is kept, so that our notes can come back.
"""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from aiohttp import web

from benchmarks.load import HOST, connect, request
from benchmarks.month import FIRST_DAY
from benchmarks.own_server import settings_at
from festinger.client.memory import Memory
from festinger.clock import system_stopwatch
from festinger.errors import CannotStart
from festinger.ids import MAIN_SPACE, AgentId, SessionId, id_maker
from festinger.jobs.queue import defer_due_jobs
from festinger.jobs.worker import WorkerPool
from festinger.proxy.app import Proxy
from festinger.proxy.capture.queue import CaptureWriter
from festinger.proxy.capture.recorder import StoreRecorder
from festinger.proxy.capture.spool import Spool
from festinger.proxy.context.build import AppWorldReader, ContextBuilder
from festinger.proxy.pipeline import RequestPipeline
from festinger.proxy.transport.server import close_sockets, open_server, open_sockets
from festinger.proxy.transport.upstream import open_upstream
from festinger.runtime.app import App, StartOptions, open_app
from festinger.runtime.environment import SystemServices
from festinger.text.blocks import CLOSE, OPEN

PATH = "/v1/chat/completions"
WAITS: Mapping[str, object] = {
    "proxy.memory_deadline_ms": 10_000,
    "store.hot_timeout_ms": 10_000,
    "store.statement_timeout_ms": 60_000,
}
"""What is kept must not depend on the speed of the machine."""


@dataclass
class Hands:
    """A clock that moves only when told to."""

    now: datetime = FIRST_DAY

    def clock(self) -> datetime:
        return self.now


@dataclass
class MonthModelStub:
    """The model: says what it is told to say, and keeps the last notes that it was sent."""

    says: str = ""
    notes: str = ""

    async def answer(self, asked: web.Request) -> web.Response:
        text = json.loads(await asked.read())["messages"]
        found = [part for message in text for part in _blocks(str(message.get("content") or ""))]
        self.notes = found[-1] if found else self.notes
        choice = {"index": 0, "message": {"role": "assistant", "content": self.says}, "finish_reason": "stop"}
        return web.json_response(
            {"id": "c", "object": "chat.completion", "created": 1, "model": "stub", "choices": [choice]}
        )


def _blocks(text: str) -> list[str]:
    inner = [part.partition(CLOSE) for part in text.split(OPEN)[1:]]
    return [f"{OPEN}{words}{CLOSE}" for words, closed, _ in inner if closed]


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthProxy:
    app: App
    hands: Hands
    stub: MonthModelStub
    writer: CaptureWriter
    port: int

    def memory(self, agent: str, session: str) -> Memory:
        return Memory(space=MAIN_SPACE, agent=AgentId(agent), session=SessionId(session), _app=self.app)

    async def ask(self, messages: Sequence[Mapping[str, Any]], *, agent: str, session: str, answer: str) -> None:
        """Send a conversation for this answer of the model. `CannotStart` if the proxy does not answer."""
        self.stub.says = answer
        body = json.dumps({"model": "stub", "messages": messages}).encode()
        headers = [f"X-Festinger-Agent: {agent}", f"X-Festinger-Session: {session}"]
        # A new connection for each: one that is idle through a long night would be closed by then.
        line = await connect(self.port, system_stopwatch)
        try:
            got = await line.ask(request(self.port, PATH, body, headers=headers))
        finally:
            line.close()
        if got.status != web.HTTPOk.status_code:
            raise CannotStart(f"The door answered {got.status}: {got.body[:200]!r}")

    async def settle(self) -> None:
        """Run all background jobs due at this moment."""
        await self.writer.settled()
        await WorkerPool(self.app.jobs, shutdown_seconds=5).drain()

    async def pass_to(self, at: datetime) -> None:
        """Advance the clock, and run what is due then."""
        self.hands.now = at
        await defer_due_jobs(self.app.jobs)
        await self.settle()


@asynccontextmanager
async def month_door(home: Path, *, seed: int, **settings: object) -> AsyncIterator[MonthProxy]:
    """The proxy on this home; `settings` have their dots written as `__`."""
    hands, stub = Hands(), MonthModelStub()
    chance = random.Random(seed)  # noqa: S311 - ids of a store that is thrown away
    tools = SystemServices(
        clock=hands.clock, chance=chance, entropy=chance.randbytes, new_id=id_maker(hands.clock, chance)
    )
    async with _model(stub) as upstream:
        given = {"proxy.upstream": upstream, **WAITS}
        given |= {name.replace("__", "."): value for name, value in settings.items()}
        live = settings_at(home, given)
        start = StartOptions(providers=True)
        async with open_app(live, door="bench", progress=_quietly, start=start, tools=tools) as app:
            await app.world.need(MAIN_SPACE)
            # Periodic jobs are due from the first check on.
            await defer_due_jobs(app.jobs)
            async with _door(app, tools, spool=home.parent / "spool") as (writer, port):
                yield MonthProxy(app=app, hands=hands, stub=stub, writer=writer, port=port)


@asynccontextmanager
async def _model(stub: MonthModelStub) -> AsyncIterator[str]:
    pages = web.Application(client_max_size=2**26)
    pages.router.add_post(PATH, stub.answer)
    runner = web.AppRunner(pages, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, 0).start()
        yield f"http://{HOST}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def _door(app: App, tools: SystemServices, *, spool: Path) -> AsyncIterator[tuple[CaptureWriter, int]]:
    """The proxy of an open app, with its writer running."""
    proxy = app.settings.now.proxy
    writer = CaptureWriter(lambda: app, Spool(spool, name="bench"), settings=lambda: proxy, stopwatch=tools.stopwatch)
    recorder = StoreRecorder(lambda: app, writer, clock=tools.clock, settings=lambda: proxy)
    pipeline = RequestPipeline(
        clock=tools.clock,
        new_id=tools.new_id,
        settings=proxy,
        context_builder=ContextBuilder(AppWorldReader(lambda: app), new_id=tools.new_id),
        recorder=recorder,
    )
    async with open_upstream() as upstream, _writing(writer):
        door = Proxy(
            settings=lambda: app.settings.now,
            own=_no_page,
            upstream=upstream,
            find_key=app.keyring.find,
            known_space=app.directory.find,
            ready=lambda: True,
            new_id=tools.new_id,
            stopwatch=tools.stopwatch,
            machine_names=(),
            process=pipeline.process,
        )
        sockets = open_sockets(HOST, 0)
        try:
            async with open_server(door, sockets, shutdown_seconds=1):
                yield writer, sockets[0].getsockname()[1]
        finally:
            close_sockets(sockets)


@asynccontextmanager
async def _writing(writer: CaptureWriter) -> AsyncIterator[None]:
    """The running writer; at the end it writes what is left."""
    working = asyncio.create_task(writer.run())
    try:
        yield
    finally:
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
        await writer.finish()


async def _no_page(_scope: Any, _receive: Any, send: Any) -> None:
    """Nobody requests our pages here."""
    await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def _quietly(_message: str) -> None:
    """A measuring process prints nothing while all is well."""
