"""What a model brings along is asked for once a digest, beside the requests."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.proxy.memory_scene import settled
from tests.upstream import Peer, Received, ScriptedUpstream, reply, scripted

from festinger.proxy.context.edit import AGAIN_SECONDS, Modelfile, ModelfileCache, find_model_digest, parse_modelfile
from festinger.proxy.routes import ApiProtocol
from festinger.proxy.transport.upstream import open_upstream
from festinger.runtime.lifecycle import BackgroundTasks
from festinger.settings.tree import ProxySettings


@dataclass
class Server:
    """A server that knows some models by digest."""

    digests: dict[str, str] = field(default_factory=lambda: {"mario:latest": "d1"})
    shows: dict[str, Any] = field(default_factory=lambda: {"system": "You are Mario."})
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: Received, peer: Peer) -> None:
        body: Any = self.shows
        if b"/api/tags" in request.line:
            body = {"models": [{"model": name, "digest": digest} for name, digest in self.digests.items()]}
        await peer.write(reply("200 OK", json.dumps(body).encode()))
        self.answered.set()


@dataclass
class Scene:
    server: Server
    upstream: ScriptedUpstream
    background: BackgroundTasks
    known: ModelfileCache
    settings: ProxySettings
    seconds: float = 0.0

    def find(self, model: str = "mario") -> Modelfile | None:
        return self.known.find(model, ApiProtocol.NATIVE, self.settings)

    async def until_asked(self, times: int) -> None:
        """Until so many questions were answered and what they say was taken."""
        async with asyncio.timeout(60):
            while len(self.upstream.received) < times or self.background._tasks:
                self.server.answered.clear()
                if len(self.upstream.received) < times:
                    await self.server.answered.wait()
                await asyncio.gather(*self.background._tasks)
                await settled()

    @property
    def asked(self) -> list[bytes]:
        return [request.line.split()[1] for request in self.upstream.received]


@asynccontextmanager
async def scene(**shows: Any) -> AsyncIterator[Scene]:
    server, background = Server(), BackgroundTasks()
    server.shows.update(shows)
    async with scripted(server.answer) as upstream, open_upstream() as way_out:
        settings = ProxySettings(upstream=upstream.url)
        at = Scene(
            server=server,
            upstream=upstream,
            background=background,
            known=ModelfileCache(way_out, background=background, stopwatch=lambda: at.seconds),
            settings=settings,
        )
        try:
            yield at
        finally:
            await background.stop()


@pytest.mark.requirement("P-33")
async def test_nobody_waits_for_what_is_not_known_and_it_is_asked_for_once():
    async with scene() as at:
        first = at.find()
        await at.until_asked(2)
        found = [at.find(), at.find(), at.find()]

    assert first is None
    assert found == [Modelfile(system="You are Mario.")] * 3
    assert at.asked == [b"/api/tags", b"/api/show"]
    assert json.loads(at.upstream.received[1].body) == {"model": "mario"}


@pytest.mark.requirement("P-33")
async def test_a_name_that_stands_for_another_digest_is_shown_again():
    async with scene() as at:
        at.find()
        await at.until_asked(2)
        at.seconds = AGAIN_SECONDS + 1
        same = at.find()
        await at.until_asked(3)
        at.server.digests["mario:latest"], at.server.shows["system"] = "d2", "You are Luigi."
        at.seconds = 2 * AGAIN_SECONDS + 2
        at.find()
        await at.until_asked(5)
        other = at.find()

    assert same == Modelfile(system="You are Mario.")
    assert other == Modelfile(system="You are Luigi.")
    assert at.asked == [b"/api/tags", b"/api/show", b"/api/tags", b"/api/tags", b"/api/show"]


async def test_a_model_that_the_server_does_not_list_stays_unknown():
    async with scene() as at:
        at.find("gpt")
        await at.until_asked(1)

        assert at.find("gpt") is None
    assert at.asked == [b"/api/tags"]


async def test_an_upstream_that_cannot_be_reached_leaves_the_model_unknown():
    async with scene() as at:
        gone = at.settings.model_copy(update={"upstream": "http://127.0.0.1:9"})
        found = at.known.find("mario", ApiProtocol.NATIVE, gone)
        await asyncio.gather(*at.background._tasks)

        assert (found, at.known.find("mario", ApiProtocol.NATIVE, gone)) == (None, None)


@pytest.mark.parametrize(
    ("shown", "wanted"),
    [
        ({}, Modelfile()),
        ({"system": "s", "messages": [{"role": "user"}]}, Modelfile(system="s", has_messages=True)),
        ({"parameters": 'num_ctx                        8192\nstop "x"'}, Modelfile(context=8192)),
        ({"parameters": "num_ctx many"}, Modelfile()),
        ({"system": 42}, None),
        ([], None),
        (None, None),
    ],
)
def test_what_is_shown_of_a_model_is_read_or_left(shown: Any, wanted: Modelfile | None):
    assert parse_modelfile(shown) == wanted


@pytest.mark.parametrize(
    ("tags", "wanted"),
    [
        ({"models": [{"name": "mario:latest", "digest": "d"}]}, "d"),
        ({"models": [{"name": "mario:7b", "digest": "d"}]}, ""),
        ({"models": [None, {"model": "mario", "digest": 1}]}, ""),
        ({"models": "x"}, ""),
        ([], ""),
        (None, ""),
    ],
)
def test_the_digest_of_a_name_is_found_or_not(tags: Any, wanted: str):
    assert find_model_digest(tags, "mario") == wanted
