"""A fact said once comes back on the next prompt; a contradiction shows as pending until it is decided."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import ollama
import openai
import pytest
from aiohttp import web
from tests.proxy.proxy_server import open_door
from tests.proxy.store_recorder import recording
from tests.runtime.server import SOON, opened

from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, Cause, Origin, SessionId, cause
from festinger.jobs.worker import WorkerPool
from festinger.proxy.capture.recorder import NullExchangeRecorder
from festinger.proxy.context.build import AppWorldReader, ContextBuilder, WorldReader
from festinger.proxy.pipeline import RequestPipeline
from festinger.runtime.app import App
from festinger.world.conflicts import load_conflicts
from festinger.world.decisions import ConflictDecision, ConflictJudge, ConflictVerdict, decide_conflict
from festinger.world.learn import iknowthat

REPLY = "Certainly."


@dataclass
class Model:
    """A model server that keeps what it was sent."""

    bodies: list[dict[str, Any]] = field(default_factory=list)

    @property
    def last_user(self) -> str:
        return str(self.bodies[-1]["messages"][-1]["content"])

    async def chat(self, request: web.Request) -> web.Response:
        self.bodies.append(json.loads(await request.read()))
        message = {"role": "assistant", "content": REPLY}
        return web.json_response({"model": "m", "message": message, "done": True, "done_reason": "stop"})

    async def completions(self, request: web.Request) -> web.Response:
        self.bodies.append(json.loads(await request.read()))
        choice = {"index": 0, "message": {"role": "assistant", "content": REPLY}, "finish_reason": "stop"}
        return web.json_response(
            {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    app: App
    model: Model
    upstream: str
    url: str

    async def say(self, *history: str) -> Any:
        """A chat whose user said these things, the model answering each the same."""
        messages = [{"role": "user", "content": history[0]}]
        for said in history[1:]:
            messages += [{"role": "assistant", "content": REPLY}, {"role": "user", "content": said}]
        async with ollama.AsyncClient(host=self.url) as client:
            return await client.chat(model="m", messages=messages)

    async def until_learnt(self, fact: str) -> None:
        """Let the work that a reply left behind be done, until the fact stands."""
        crew = WorkerPool(self.app.jobs, shutdown_seconds=5)
        async with asyncio.timeout(SOON):
            while not await self.knows(fact):
                await crew.drain()
                await asyncio.sleep(0.01)

    async def knows(self, line: str) -> bool:
        world = await self.app.world.need(MAIN_SPACE)
        concept = world.row(line)
        return concept is not None and bool(
            [edge for edge in world.urd_by_concept.get(concept.id, ()) if edge.parent_id != edge.id]
        )

    async def until_disputed(self) -> None:
        crew = WorkerPool(self.app.jobs, shutdown_seconds=5)
        async with asyncio.timeout(SOON):
            while not await load_conflicts(self.app.world.deps, MAIN_SPACE):
                await crew.drain()
                await asyncio.sleep(0.01)


def by_person(app: App) -> Cause:
    return cause(agent=DEFAULT_AGENT, session=SessionId("terminal"), origin=Origin.PERSON, at=app.tools.clock())


def _pipeline(app: App, world: WorldReader, recorder: NullExchangeRecorder | None = None) -> RequestPipeline:
    return RequestPipeline(
        clock=app.tools.clock,
        new_id=app.tools.new_id,
        settings=app.settings.now.proxy,
        context_builder=ContextBuilder(world, new_id=app.tools.new_id),
        recorder=recorder,
    )


@asynccontextmanager
async def scene(database_url: str, folder: Path) -> AsyncIterator[Scene]:
    model, pages = Model(), web.Application()
    pages.router.add_post("/api/chat", model.chat)
    pages.router.add_post("/v1/chat/completions", model.completions)
    runner = web.AppRunner(pages, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        async with opened(database_url, folder) as app, recording(app, folder) as recorder:
            await app.world.need(MAIN_SPACE)
            pipeline = _pipeline(app, AppWorldReader(lambda: app), recorder.recorder)
            upstream = f"http://127.0.0.1:{runner.addresses[0][1]}"
            async with open_door(upstream, process=pipeline.process) as door:
                yield Scene(app=app, model=model, upstream=upstream, url=door.url)
    finally:
        await runner.cleanup()


async def test_a_fact_said_once_comes_back_on_the_next_prompt(database_url: str, tmp_path: Path):
    async with scene(database_url, tmp_path) as at:
        said = "gnommoweb is a repo of Glitch University."
        await at.say(said)
        first = at.model.last_user
        await at.until_learnt("gnommoweb")
        answer = await at.say(said, "open gnommoweb")
        second = at.model.last_user

    assert first == said
    assert second.endswith("open gnommoweb")
    assert "gnommoweb: [glitch_university] repo" in second
    assert answer.message.content == REPLY


async def test_a_contradiction_is_marked_until_a_person_decides(database_url: str, tmp_path: Path):
    async with scene(database_url, tmp_path) as at:
        await iknowthat(at.app.world.deps, MAIN_SPACE, ["gnommoweb -isa repo"], because=by_person(at.app))
        await at.say("gnommoweb is a container deployed on Docker.")
        during = at.model.last_user
        await at.until_disputed()
        (item,) = await load_conflicts(at.app.world.deps, MAIN_SPACE)
        verdict = ConflictVerdict(decision=ConflictDecision.DISMISS, judge=ConflictJudge.PERSON, by="reviewer")
        await decide_conflict(at.app.world.deps, MAIN_SPACE, item.id, verdict)
        await at.say("Tell me about gnommoweb.")
        after = at.model.last_user

    assert "gnommoweb: [type?] repo — conflict pending" in during
    assert "gnommoweb: [type] repo" in after
    assert "pending" not in after


async def test_over_a_conversation_each_prompt_begins_with_the_one_before(database_url: str, tmp_path: Path):
    async with scene(database_url, tmp_path) as at:
        facts = ["gnommoweb -isa repo", "dobby -isa agent", "ramanujan -isa server"]
        await iknowthat(at.app.world.deps, MAIN_SPACE, facts, because=by_person(at.app))
        history = ["Ask dobby.", "And gnommoweb?", "Thanks.", "Then ramanujan, and dobby again."]
        for length in range(1, len(history) + 1):
            await at.say(*history[:length])
        sent = [body["messages"] for body in at.model.bodies]

    for before, after in pairwise(sent):
        assert after[: len(before)] == before
    assert [message["content"].count("<recollection>") for message in sent[-1] if message["role"] == "user"] == [
        1,
        1,
        0,
        1,
    ]
    assert "dobby" not in sent[-1][-1]["content"].split("</recollection>")[0]


@pytest.mark.parametrize("query", ["off", "write"])
async def test_a_client_that_asks_for_no_notes_gets_its_bytes_through(query: str, database_url: str, tmp_path: Path):
    async with scene(database_url, tmp_path) as at:
        await iknowthat(at.app.world.deps, MAIN_SPACE, ["gnommoweb -isa repo"], because=by_person(at.app))
        client = openai.AsyncOpenAI(base_url=f"{at.url}/v1", api_key="none", max_retries=0)
        asked = [{"role": "user", "content": "open gnommoweb"}]
        answer = await client.chat.completions.with_raw_response.create(
            model="m",
            messages=asked,  # type: ignore[arg-type]
            extra_headers={"X-Festinger-Memory": query},
        )
        await client.close()

    assert at.model.bodies[-1]["messages"] == asked
    assert answer.headers["x-festinger-memory"] == "off; reason=asked"


async def test_a_mind_that_breaks_leaves_the_request_as_it_came(database_url: str, tmp_path: Path):
    class Broken:
        async def recollect(self, scope: Any, texts: Any) -> Any:
            raise RuntimeError("broken")

    async with scene(database_url, tmp_path) as at:
        broken = _pipeline(at.app, Broken())
        async with open_door(at.upstream, process=broken.process) as door:
            async with ollama.AsyncClient(host=door.url) as client:
                answer = await client.chat(model="m", messages=[{"role": "user", "content": "open gnommoweb"}])

    assert answer.message.content == REPLY
    assert at.model.last_user == "open gnommoweb"
