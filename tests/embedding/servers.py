"""Small servers on this machine that speak the embedding protocols of Ollama, OpenAI and Gemini."""

import hashlib
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

DIMENSIONS = 16

Spoil = Callable[[Sequence[str]], web.StreamResponse | None]
Row = Callable[[str], Any]
Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]


def row_of(text: str) -> list[float]:
    """A vector that depends on every letter of `text`."""
    digest = hashlib.sha256(text.encode()).digest()[:DIMENSIONS]
    return [byte / 255 + 0.01 for byte in digest]


def served_unfit(row: Row) -> Row:
    """`row`, for texts that say `bad`; a good row for all others."""
    return lambda text: row(text) if "bad" in text else row_of(text)


@dataclass(slots=True)
class Served:
    """What a server was asked, and how it answers. `spoil` may give another answer for some texts."""

    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    row: Row = row_of
    answering: Answering | None = None
    spoil: Spoil = lambda texts: None

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if self.answering is not None:
            return await self.answering(request)
        body = await request.json()
        self.asked.append(body)
        self.paths.append(request.path)
        self.headers.append(dict(request.headers))
        return self.spoil(_texts(body)) or web.json_response(self._answer(request.path, body))

    def _answer(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if path.endswith("/api/embed"):
            return {"model": body["model"], "embeddings": [self.row(text) for text in body["input"]]}
        if path.endswith("/v1/embeddings"):
            data = [
                {"object": "embedding", "index": index, "embedding": self.row(text)}
                for index, text in enumerate(body["input"])
            ]
            return {"object": "list", "model": body["model"], "data": data[::-1]}
        return {"embeddings": [{"values": self.row(_gemini_voice(asked))} for asked in body["requests"]]}


def _texts(body: dict[str, Any]) -> list[str]:
    if "requests" in body:
        return [asked["content"]["parts"][0]["text"] for asked in body["requests"]]
    return list(body["input"])


def _gemini_voice(asked: dict[str, Any]) -> str:
    """Gemini gives another vector for another task or title."""
    text: str = asked["content"]["parts"][0]["text"]
    return f"{asked.get('taskType')}|{asked.get('title')}|{text}"


@asynccontextmanager
async def serving() -> AsyncIterator[Served]:
    served = Served()
    app = web.Application(client_max_size=64 * 2**20)
    app.router.add_post("/{tail:.*}", served.answer)
    async with _listening(app) as served.url:
        yield served


@asynccontextmanager
async def _listening(app: web.Application) -> AsyncIterator[str]:
    """The app on a free port of this machine; what still runs at the end is cut off."""
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    yield f"http://{host}:{port}"
    await runner.cleanup()


def length(vector: Any) -> float:
    return math.sqrt(float((vector * vector).sum()))


@asynccontextmanager
async def serving_hub(repository: str, files: dict[str, bytes]) -> AsyncIterator[Served]:
    """A model hub with one repository, as its client asks: what it is, what it holds, and each file."""
    served, commit = Served(), "c0ffee" + "0" * 34

    async def about(request: web.Request) -> web.Response:
        served.paths.append(request.path)
        return web.json_response({"id": repository, "sha": commit, "siblings": []})

    async def tree(request: web.Request) -> web.Response:
        entries = [
            {"type": "file", "path": name, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
            for name, content in files.items()
        ]
        return web.json_response(entries)

    async def file(request: web.Request) -> web.Response:
        content = files[request.match_info["name"]]
        headers = {"ETag": f'"{hashlib.sha1(content).hexdigest()}"', "X-Repo-Commit": commit}
        return web.Response(body=content, headers=headers)

    app = web.Application()
    app.router.add_get(f"/api/models/{repository}/revision/main", about)
    app.router.add_get(f"/api/models/{repository}", about)
    app.router.add_get(f"/api/models/{repository}/tree/{commit}", tree)
    app.router.add_get(f"/{repository}/resolve/{commit}/{{name:.*}}", file)
    async with _listening(app) as served.url:
        yield served
